"""Processes that lock with somebody else's library, told over pipes what to do (java/, node/ say how).

All moments are nanoseconds of CLOCK_MONOTONIC, one clock for every process of the machine.
"""

import os
import shutil
import subprocess
import sys
import threading
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.process import _living  # pylint: disable=wrong-import-position
from support.service import ROOT  # pylint: disable=wrong-import-position
from support.wait import SLOW  # pylint: disable=wrong-import-position

BUILT = os.environ.get("LOCKSTOCK_INTEROP", os.path.join(ROOT, "build", "interop"))
NO_LEASE = -1  # the library's watchdog renews


class PeerError(Exception):
    """What the library threw: "SimpleClassName: message"."""


class Told:
    """A command on its way and, later, its answer."""

    def __init__(self, what):
        self.what, self._arrived = what, threading.Event()
        self.outcome = self.text = self.begin = self.end = None

    def settle(self, outcome, text, begin, end):
        self.outcome, self.text, self.begin, self.end = outcome, text, begin, end
        self._arrived.set()

    def done(self):
        return self._arrived.is_set()

    def wait(self, timeout_s=30):
        """The answer as a text, "true" and "false" as booleans; PeerError when the library threw."""
        if not self._arrived.wait(timeout_s * SLOW):
            raise AssertionError(f"{self.what}: no answer within {timeout_s} s")
        if self.outcome != "ok":
            raise PeerError(self.text)
        return {"true": True, "false": False}.get(self.text, self.text)


class Peer:
    """One process of one library."""

    _shared = {}

    def __init__(self, name, arguments, log_path, java=()):
        """arguments: of the program; java: options of its virtual machine."""
        self.name, self.log_path = name, log_path
        self._told, self._ids, self._write = {}, 0, threading.Lock()
        with open(log_path, "ab") as log:
            self._child = subprocess.Popen(_command(name, java) + arguments, stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, stderr=log, text=True, encoding="ascii")
        _living.add(self)
        ready = self._child.stdout.readline().split()
        if ready[:1] != ["ready"]:
            raise AssertionError(f"the peer {name} did not start, see {log_path}: {self.tail()}")
        self.version = ready[1]
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @classmethod
    def shared(cls, stack, name, watchdog_ms):
        """One of each for the test process; it ends with it."""
        key = (name, watchdog_ms)
        if key not in cls._shared or not cls._shared[key].alive():
            arguments = [stack.redis.url, str(watchdog_ms)]
            cls._shared[key] = cls(name, arguments, stack.log_path(f"peer-{name}"))
        return cls._shared[key]

    def _read(self):
        for line in self._child.stdout:
            number, outcome, text, begin, end = line.split(" ")
            told = self._told.pop(int(number))
            told.settle(outcome, urllib.parse.unquote_plus(text), int(begin), int(end))
        for told in list(self._told.values()):
            told.settle("error", "the peer ended", 0, 0)

    def tell(self, actor, command, *arguments):
        """Sends a command to one of its threads; Told."""
        words = [urllib.parse.quote(str(a), safe="") for a in arguments]
        with self._write:
            self._ids += 1
            told = self._told[self._ids] = Told(f"{self.name} {actor}: {command} {arguments}")
            self._child.stdin.write(" ".join([str(self._ids), actor, command] + words) + "\n")
            self._child.stdin.flush()
        return told

    def ask(self, actor, command, *arguments, timeout_s=30):
        return self.tell(actor, command, *arguments).wait(timeout_s)

    def alive(self):
        return self._child.poll() is None

    def kill(self):
        """SIGKILL: whatever it holds stays, and nobody renews it."""
        self._child.kill()
        self._child.wait()
        self._reader.join()
        self._child.stdin.close()
        self._child.stdout.close()
        _living.discard(self)

    def tail(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()[-2000:]


class Remote:
    """One lock of a peer, seen from one of its threads."""

    def __init__(self, peer, actor, kind, name):
        self.peer, self.actor, self.kind, self.name = peer, actor, kind, name

    def tell(self, command, *arguments):
        return self.peer.tell(self.actor, command, self.kind, self.name, *arguments)

    def ask(self, command, *arguments, timeout_s=30):
        return self.tell(command, *arguments).wait(timeout_s)

    def lock(self, lease_ms=NO_LEASE):
        self.ask("lock", lease_ms)

    def try_lock(self, wait_ms=0, lease_ms=NO_LEASE):
        return self.ask("tryLock", wait_ms, lease_ms)

    def unlock(self):
        self.ask("unlock")


def built(name):
    """The peer's build, made by run.sh, is there."""
    return os.path.exists(os.path.join(BUILT, name, "made"))


def _command(name, java=()):
    folder = os.path.join(BUILT, name)
    if not built(name):
        raise RuntimeError(f"{folder} is not built: tests/interop/run.sh does it")
    if name == "node":
        return [shutil.which("node"), os.path.join(folder, "peer.js")]
    classes = os.path.join(folder, "classes") + ":" + os.path.join(folder, "lib", "*")
    return ["java", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *java, "-cp", classes,
            "lockstock.interop.Peer"]
