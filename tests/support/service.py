"""One instance of the service under test: LOCKSTOCK_BIN, or LOCKSTOCK_FAULTS_BIN when a mechanism is to be taken out."""

import json
import os
import re
import signal
import subprocess

from .client import Http
from .process import Process
from .wait import SLOW, eventually, free_port

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STOP_S = 15  # SIGTERM to exit: 10 s are promised, the rest is the machine's


def binary(faulty=False):
    """Path of the binary; the build's own when the environment names none."""
    plain = os.environ.get("LOCKSTOCK_BIN", os.path.join(ROOT, "build", "lockstock"))
    path = os.environ.get("LOCKSTOCK_FAULTS_BIN", plain + "-faults") if faulty else plain
    if not os.access(path, os.X_OK):
        raise RuntimeError(f"{path}: no such binary; set LOCKSTOCK_BIN and LOCKSTOCK_FAULTS_BIN")
    return path


def environment(settings):
    """Ours without any LOCKSTOCK_ name of the tests' (the service refuses names it does not know), then the settings."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSTOCK_")}
    env.update({k: str(v) for k, v in settings.items() if v is not None})
    return env


def run(command, settings, timeout_s=60, faulty=False):
    """A command of the binary to its end."""
    return subprocess.run([binary(faulty)] + command, env=environment(settings), capture_output=True, text=True,
                          timeout=timeout_s * SLOW, check=False)


class Metrics:
    """A page of Prometheus text: {name: {labels: value}}, labels as written."""

    _LINE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')

    def __init__(self, page):
        self.page, self.samples = page, {}
        for line in page.splitlines():
            if not line or line.startswith("#"):
                continue
            match = self._LINE.match(line)
            if not match:
                raise AssertionError(f"not Prometheus text: {line!r}")
            self.samples.setdefault(match[1], {})[match[2] or ""] = float(match[3])

    def value(self, name, **labels):
        """Sum over the samples that carry these labels; 0 when there is none."""
        wanted = [f'{k}="{v}"' for k, v in labels.items()]
        return sum(v for have, v in self.samples.get(name, {}).items() if all(w in have for w in wanted))


class Service:
    """serve, on a free loopback port, its log lines in a file."""

    def __init__(self, stack, database, name="a", faults=None, env=None, mysql_port=None):
        self.name, self.port, self.faulty = name, free_port(), faults is not None
        self.settings = {"LOCKSTOCK_LISTEN": f"127.0.0.1:{self.port}", "LOCKSTOCK_MYSQL_URL": database.url(mysql_port),
                         "LOCKSTOCK_REDIS_URL": stack.redis.url, "LOCKSTOCK_INSTANCE_ID": name}
        self.settings.update(env or {})
        if faults is not None:
            self.settings["LOCKSTOCK_FAULTS"] = faults
        self.log_path = stack.log_path(f"service-{name}")
        self._stack, self._process = stack, None

    def start(self, until="ready"):
        """until: "ready" (readyz 200), "alive" (healthz 200) or None."""
        self._process = Process([binary(self.faulty), "serve"], self.log_path, environment(self.settings)).start()
        if until:
            path = "/readyz" if until == "ready" else "/healthz"
            eventually(lambda: self._ended() or self._status(path) == 200, 20, f"{self.name} {until}")
        return self

    def _ended(self):
        if not self._process.alive():
            raise AssertionError(f"{self.name} ended with {self._process.popen.returncode}: {self.tail()}")

    def _status(self, path):
        try:
            return self.get(path).status
        except OSError:
            return None

    @property
    def pid(self):
        return self._process.pid

    def alive(self):
        return self._process is not None and self._process.alive()

    def exit_status(self, timeout_s):
        """Waits for it to end by itself."""
        return self._process.popen.wait(timeout_s * SLOW)

    def stop(self, timeout_s=STOP_S):
        return self._process.stop(timeout_s * SLOW)

    @property
    def stopped_in_s(self):
        return self._process.stopped_in_s

    def terminate(self):
        """SIGTERM without waiting."""
        os.kill(self.pid, signal.SIGTERM)

    def freeze(self):
        self._process.freeze()

    def thaw(self):
        self._process.thaw()

    def kill(self):
        if self._process:
            self._process.kill()

    def hang_up(self):
        self._process.hang_up()

    def http(self, **kw):
        return Http(self.port, **kw)

    def get(self, path, **kw):
        """On a connection of its own."""
        client = self.http(timeout_s=10)
        try:
            return client.get(path, **kw)
        finally:
            client.close()

    def metrics(self):
        return Metrics(self.get("/metrics").body.decode())

    def metric(self, name, **labels):
        return self.metrics().value(name, **labels)

    def text(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def log(self, event=None):
        """The JSON lines so far (of one event); a half-written last line is left out."""
        lines = []
        for line in self.text().split("\n")[:-1]:
            try:
                lines.append(json.loads(line))
            except ValueError:
                continue
        return [line for line in lines if event in (None, line.get("event"))]

    def noise(self):
        """Lines that are no JSON objects: there should be none."""
        found = []
        for line in self.text().split("\n")[:-1]:
            try:
                json.loads(line)["event"]
            except (ValueError, KeyError, TypeError):
                found.append(line)
        return found

    def tail(self, count=15):
        lines = [line for line in self.text().splitlines() if '"level":"info"' not in line and '"debug"' not in line]
        return "\n".join(lines[-count:])
