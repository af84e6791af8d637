"""A private MariaDB (full durability) and a private Redis (no persistence) on loopback ports.

One of each per test process, begun at the first use; every test class gets a database of its own. Chaos may kill,
freeze and restart them: heal() brings both back before the next class. Where MariaDB is not installed, or
LOCKSTOCK_TEST_MYSQLD names its mysqld, the database is MySQL. Valkey does for Redis.
"""

import atexit
import itertools
import os
import shutil
import subprocess
import tempfile

import pymysql
import pymysql.cursors

from .process import Process
from .resp import Resp
from .wait import SLOW, accepts, eventually, free_port

USER = "lockstock"
PASSWORD = "sEcret-of-the-Base"


def program(*names):
    """Where the first of these that is installed is; None when none is."""
    path = os.environ.get("PATH", "") + ":/usr/sbin"
    return next(filter(None, (shutil.which(name, path=path) for name in names)), None)


class Database:
    """One schema: the service's URL for it, and SQL as root."""

    def __init__(self, mysql, name):
        self.mysql, self.name = mysql, name

    def url(self, port=None):
        return f"mysql://{USER}:{self.mysql.password}@127.0.0.1:{port or self.mysql.port}/{self.name}"

    def session(self, autocommit=False):
        """A connection of root's in this schema; the caller closes it."""
        return pymysql.connect(host="127.0.0.1", port=self.mysql.port, user="root", database=self.name,
                               autocommit=autocommit, charset="utf8mb4", init_command="SET time_zone='+00:00'",
                               cursorclass=pymysql.cursors.DictCursor, connect_timeout=10)

    def rows(self, sql, *args):
        session = self.session(autocommit=True)
        try:
            with session.cursor() as cursor:
                cursor.execute(sql, args or None)
                return list(cursor.fetchall())
        finally:
            session.close()

    def run(self, sql, *args):
        """Affected rows of one statement, committed."""
        session = self.session(autocommit=True)
        try:
            with session.cursor() as cursor:
                return cursor.execute(sql, args or None)
        finally:
            session.close()

    def value(self, sql, *args):
        row = self.rows(sql, *args)
        return next(iter(row[0].values())) if row else None

    def count(self, table, where="1=1", *args):
        return self.value(f"SELECT COUNT(*) FROM {table} WHERE {where}", *args)


class MySql:
    """The database server. Without TLS, unless asked for: the tests' proxy reads what passes."""

    def __init__(self, folder, tls=None):
        """tls: (certificate, key), PEM files."""
        self.folder = os.path.join(folder, "mysql")
        self.port, self.tls = free_port(), tls
        self.password = PASSWORD
        mariadb = program("mariadbd")
        self.oracle = os.environ.get("LOCKSTOCK_TEST_MYSQLD") or (None if mariadb else program("mysqld"))
        self.path = self.oracle or mariadb
        # Names of temporary tables hold the process's number, which containers that share /tmp may share as well.
        self.env = {**os.environ, "TMPDIR": folder}
        self.process = Process(self._argv(), os.path.join(folder, "mysql.log"), self.env)
        self._names = (f"lockstock_{n}" for n in itertools.count(1))

    def _argv(self):
        argv = [self.path, "--no-defaults", f"--datadir={self.folder}", f"--port={self.port}", "--bind-address=127.0.0.1",
                f"--socket={self.folder}.sock", f"--pid-file={self.folder}.pid", "--max-connections=400",
                "--innodb-buffer-pool-size=128M", "--innodb-flush-log-at-trx-commit=1", "--performance-schema=OFF"]
        if self.oracle:
            argv += ["--mysqlx=OFF", "--secure-file-priv=NULL"]  # its binlog stays on: that is how MySQL runs
        else:
            argv.append("--skip-name-resolve")  # MySQL then no longer takes loopback for root's localhost
        if self.tls:
            argv += [f"--ssl-cert={self.tls[0]}", f"--ssl-key={self.tls[1]}"]
        else:
            argv.append("--tls-version=" if self.oracle else "--skip-ssl")
        return argv + (["--user=root"] if os.geteuid() == 0 else [])

    def initialise(self):
        if self.oracle:
            command = [self.oracle, "--no-defaults", "--initialize-insecure", f"--datadir={self.folder}"]
        else:
            command = ["mariadb-install-db", "--no-defaults", f"--datadir={self.folder}", "--skip-test-db",
                       "--auth-root-authentication-method=normal", "--innodb-log-file-size=64M"]
        if os.geteuid() == 0:
            command.append("--user=root")
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=self.env)
        if done.returncode:
            raise RuntimeError(f"{command[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}")

    def start(self):
        self.process.start()
        eventually(self._answers, 60, "the database server answers")
        return self

    def _answers(self):
        if not self.process.alive():
            raise RuntimeError(f"the database server ended, see {self.process.log_path}")
        try:
            self.admin("SELECT 1")
            return True
        except pymysql.MySQLError:
            return False

    def admin(self, *statements):
        session = pymysql.connect(host="127.0.0.1", port=self.port, user="root", connect_timeout=10)
        try:
            with session.cursor() as cursor:
                for sql in statements:
                    cursor.execute(sql)
        finally:
            session.close()

    def new_database(self):
        name = next(self._names)
        self.admin(f"CREATE DATABASE {name} CHARACTER SET utf8mb4",
                   f"CREATE USER IF NOT EXISTS '{USER}'@'127.0.0.1' IDENTIFIED BY '{self.password}'",
                   f"GRANT ALL ON `{name}`.* TO '{USER}'@'127.0.0.1'")
        return Database(self, name)

    def stop(self):
        self.process.stop(60 * SLOW)

    def kill(self):
        self.process.kill()

    def restart(self):
        self.stop()
        self.start()


class Redis:
    """The lock server; what it held is gone after every stop."""

    def __init__(self, folder, *more, name="redis"):
        """more: words for its command line."""
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        argv = [program("redis-server", "valkey-server"), "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                "--appendonly", "no", "--dir", folder, *more]
        self.process = Process(argv, os.path.join(folder, f"{name}.log"))

    def start(self):
        self.process.start()
        eventually(lambda: accepts(self.port), 10, "Redis listens")
        return self

    def client(self):
        return Resp(self.port)

    def call(self, *command):
        """One command on a connection of its own."""
        client = self.client()
        try:
            return client.call(*command)
        finally:
            client.close()

    def stop(self):
        self.process.stop(10 * SLOW)

    def kill(self):
        self.process.kill()

    def freeze(self):
        self.process.freeze()

    def thaw(self):
        self.process.thaw()


class Stack:
    """Both servers and their folder."""

    _shared = None

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="lockstock-test-")
        self.mysql = MySql(self.folder)
        self.redis = Redis(self.folder)
        self._logs = itertools.count(1)

    @classmethod
    def shared(cls):
        """The stack of this test process, both servers up and Redis empty."""
        if cls._shared is None:
            cls._shared = cls()
            atexit.register(cls._shared.end)
            cls._shared.mysql.initialise()
        cls._shared.heal()
        return cls._shared

    def heal(self):
        for server in (self.mysql, self.redis):
            server.process.thaw()
            if not server.process.alive():
                server.start()
        self.redis.call("FLUSHALL")

    def log_path(self, name):
        return os.path.join(self.folder, f"{next(self._logs):03}-{name}.log")

    def end(self):
        self.mysql.kill()
        self.redis.kill()
        if not os.environ.get("LOCKSTOCK_TEST_KEEP"):
            shutil.rmtree(self.folder, ignore_errors=True)
