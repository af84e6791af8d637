"""`lockstock run` as a child of the tests, and commands whose life and death leave marks."""

import os
import struct
import subprocess
import sys
import time

from .process import Process
from .service import binary, environment
from .wait import eventually

# Writes the clock into a file every 2 ms; TERM is ignored when asked; further arguments: seconds to live.
HEART = r"""
import os, signal, struct, sys, time
if sys.argv[2] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
end = time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    os.pwrite(out, struct.pack("d", time.monotonic()), 0)
    time.sleep(0.002)
"""
# Writes the names of the signals it gets, one a line, and says when it listens.
EARS = r"""
import signal, sys, time
out = open(sys.argv[1], "a", buffering=1)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
               signal.SIGWINCH, signal.SIGCONT):
    signal.signal(number, lambda n, _: print(signal.Signals(n).name, file=out))
print("ready", file=out)
while True:
    time.sleep(0.01)
"""


class Heart:
    """A command that beats into a file."""

    def __init__(self, folder, name, stubborn=False, life_s=60):
        self.path = os.path.join(folder, f"heart-{name}")
        self.command = [sys.executable, "-c", HEART, self.path, "stubborn" if stubborn else "soft", str(life_s)]

    def last_beat(self):
        """On the clock of time.monotonic(); 0 = not yet."""
        try:
            with open(self.path, "rb") as file:
                return struct.unpack("d", file.read(8))[0]
        except (OSError, struct.error):
            return 0.0

    def until_beating(self, timeout_s=10):
        eventually(lambda: time.monotonic() - self.last_beat() < 0.05, timeout_s, "the command runs")

    def until_dead(self, timeout_s=20, quiet_s=0.3):
        """The moment of its last beat."""
        eventually(lambda: self.last_beat() and time.monotonic() - self.last_beat() > quiet_s, timeout_s,
                   "the command is dead")
        return self.last_beat()


def settings(port, env=None):
    return environment({"LOCKSTOCK_URL": f"http://127.0.0.1:{port}", **(env or {})})


def argv(name, command, faulty=False, **options):
    words = []
    for option, value in options.items():
        words += ["--" + option.replace("_", "-"), str(value)]
    return [binary(faulty), "run", name, *words, "--", *command]


class Runner:
    """One `lockstock run` with its output in a file."""

    def __init__(self, stack, port, name, command, faulty=False, env=None, wrap=(), **options):
        self.log_path = stack.log_path("run")
        self.process = Process([*wrap, *argv(name, command, faulty, **options)], self.log_path, settings(port, env))

    def start(self):
        self.process.start()
        return self

    def status(self, timeout_s=30):
        """Its exit status, once it has ended by itself."""
        return self.process.popen.wait(timeout_s)

    def alive(self):
        return self.process.alive()

    def signal(self, number):
        os.kill(self.process.pid, number)

    def text(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()


def run(port, name, command, timeout_s=60, env=None, **options):
    """To its end."""
    return subprocess.run(argv(name, command, **options), env=settings(port, env), capture_output=True, text=True,
                          timeout=timeout_s, check=False)
