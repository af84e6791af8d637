"""The test stand: a private MariaDB with full durability on the real disk, a private Redis, and one measurement at a
time on a database of its own, so that no row pays for the growth another one caused."""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
BIN = os.environ.setdefault("LOCKSTOCK_BENCH_BIN", os.path.join(ROOT, "build"))
os.environ["LOCKSTOCK_BIN"] = os.path.join(BIN, "lockstock")

# pylint: disable=wrong-import-position
from support.locks import Parked  # noqa: E402
from support.process import Process  # noqa: E402
from support.service import Service, run  # noqa: E402
from support.stack import MySql, Stack  # noqa: E402
from support.wait import accepts, eventually, free_port  # noqa: E402

STOCK = 1_000_000_000
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
# Statements of one row each would take longer than some measurements.
PRODUCTS_PER_INSERT = 500


class BenchMySql(MySql):
    """As the tests', with the caches of a server that has the machine for itself. Durability is the default: full."""

    def _argv(self):
        own = ["--innodb-buffer-pool-size=1G", "--innodb-log-file-size=1G", "--innodb-io-capacity=200",
               "--innodb-flush-log-at-trx-commit=1", "--innodb-doublewrite=ON", "--max-connections=2000"]
        return [a for a in super()._argv() if not a.startswith(("--innodb-buffer", "--max-conn"))] + own


class Cpu:
    """CPU seconds of the processes by name, and of the whole machine, since this was made."""

    def __init__(self, pids):
        self._pids, self._start, self._begun = pids, self._read(pids), time.monotonic()

    @staticmethod
    def _of(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) * TICK_S

    @staticmethod
    def _machine():
        with open("/proc/stat", encoding="ascii") as stat:
            user, nice, system, _idle, _iowait, irq, soft, steal = map(int, stat.readline().split()[1:9])
        return (user + nice + system + irq + soft + steal) * TICK_S

    def _read(self, pids):
        return {"machine": self._machine(), **{name: self._of(pid) for name, pid in pids.items()}}

    def cores(self, driver_s):
        """Cores used on average, by name; driver_s = what a tool that has ended took. "foreign" is all that was used by
        others than these, with what the machine's host stole: a figure made beside much of it is a lower bound."""
        passed = time.monotonic() - self._begun
        used = {name: (value - self._start[name]) / passed for name, value in self._read(self._pids).items()}
        used["driver"] = driver_s / passed
        used["foreign"] = 2 * used["machine"] - sum(used.values())
        return used


def foreign_now(pids, seconds):
    """Cores that others use, looked at for so long."""
    cpu = Cpu(pids)
    time.sleep(seconds)
    return cpu.cores(0)["foreign"]


def children_s():
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def rss_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def prefer(pid):
    """Where sessions are scheduled as groups and we may: before those of others, so that a table can be made beside other
    work. The rest of the machine's work is counted as foreign all the same."""
    try:
        with open(f"/proc/{pid}/autogroup", "w", encoding="ascii") as group:
            group.write("-19")
    except OSError:
        pass


class Stand(Stack):
    """Both servers, in a folder beside the work, not in a memory file system."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        tempfile.tempdir = folder
        super().__init__()
        os.environ["TMPDIR"] = self.folder  # a server's own temporary tables: not among those of others
        self.mysql = BenchMySql(self.folder)
        self.mysql.initialise()
        self.mysql.start()
        self.redis.start()
        for pid in ("self", *self.pids().values()):
            prefer(pid)

    def pids(self):
        return {"mariadb": self.mysql.process.pid, "redis": self.redis.process.pid}

    def cpu(self, beside):
        """Begins to count for what is no tool of ours."""
        return Cpu({**self.pids(), **beside})

    def tool(self, name, *arguments, beside=None):
        """Runs one of our C tools to its end; its JSON line, and the "cores" used meanwhile, also by the processes
        beside it (name: pid)."""
        cpu, before = Cpu({**self.pids(), **(beside or {})}), children_s()
        done = subprocess.run([os.path.join(BIN, "bench_" + name), *map(str, arguments)], capture_output=True,
                              text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"bench_{name}: {done.stderr.strip()}")
        return {**json.loads(done.stdout), "cores": cpu.cores(children_s() - before)}

    def database(self, products):
        """A fresh, migrated database with products 1..N."""
        database = self.mysql.new_database()
        done = run(["migrate"], {"LOCKSTOCK_MYSQL_URL": database.url(), "LOCKSTOCK_REDIS_URL": self.redis.url})
        if done.returncode:
            raise RuntimeError(f"migrate: {done.stdout}{done.stderr}")
        for first in range(1, products + 1, PRODUCTS_PER_INSERT):
            ids = range(first, min(first + PRODUCTS_PER_INSERT, products + 1))
            self._fill(database, ids)
        return database

    @staticmethod
    def _fill(database, ids):
        def rows(form):
            return ",".join(form.format(id=i, stock=STOCK) for i in ids)
        database.run("INSERT INTO products (id, name, price) VALUES " + rows("({id},'product {id}',1000)"))
        database.run("INSERT INTO inventories (product_id, stock, version, ledger_stock, ledger_version) VALUES "
                     + rows("({id},{stock},1,{stock},1)"))
        database.run("INSERT INTO stock_movements (product_id, kind, delta, stock_after, version, at) VALUES "
                     + rows("({id},'INITIAL',{stock},{stock},1,UTC_TIMESTAMP(6))"))

    def drop(self, database):
        self.mysql.admin(f"DROP DATABASE {database.name}")
        self.redis.call("FLUSHALL")

    def end(self):
        self.mysql.kill()
        self.redis.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Checked:
    """What a run wrote must be what it answered, or its rate means nothing."""

    def __init__(self, database):
        self._database = database

    def stock_is(self, orders):
        """So many orders of one piece each, every one with its rows, and the stock less by as many."""
        found = {
            "orders": self._database.count("orders"),
            "order_items": self._database.count("order_items"),
            "movements": self._database.count("stock_movements", "kind = 'ORDER'"),
            "events": self._database.count("outbox_events", "event_type = 'order.created'"),
            "stock taken": int(self._database.value("SELECT SUM(%s - stock) FROM inventories", STOCK)),
        }
        wrong = {what: count for what, count in found.items() if count != orders}
        if wrong:
            raise AssertionError(f"{orders} orders were answered, but there are {wrong}")


def serve(stand, database, settings):
    """A running service; every anonymous loopback client may order."""
    service = Service(stand, database, "bench", env={"LOCKSTOCK_LOG_LEVEL": "warn", **settings}).start()
    prefer(service.pid)
    return service


__all__ = ["Checked", "Cpu", "Parked", "Process", "ROOT", "Stand", "accepts", "children_s", "eventually", "foreign_now",
           "free_port", "prefer", "rss_kib", "serve"]
