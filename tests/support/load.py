"""Load on the service: many buyers at one moment (threads), or a steady stream from a process of its own."""

import json
import os
import subprocess
import sys
import threading

from .process import _living
from .wait import RANDOM, SLOW, eventually

STACK_BYTES = 256 * 1024


def load(buyers, fn):
    """fn(0) … fn(buyers-1), all begun at one moment, a thread each; their answers in order. The first fault is raised."""
    answers, faults = [None] * buyers, []
    gate = threading.Barrier(buyers)

    def buy(number):
        try:
            gate.wait(60)
            answers[number] = fn(number)
        except BaseException as fault:  # pylint: disable=broad-except
            faults.append(fault)

    old = threading.stack_size(STACK_BYTES)
    threads = [threading.Thread(target=buy, args=(n,), daemon=True) for n in range(buyers)]
    for thread in threads:
        thread.start()
    threading.stack_size(old)
    for thread in threads:
        thread.join(120 * SLOW)
        if thread.is_alive():
            raise AssertionError("a buyer never came back")
    if faults:
        raise faults[0]
    return answers


class Background:
    """One call on a thread of its own."""

    def __init__(self, fn, *args):
        self._value = self._fault = None
        self._fn, self._args = fn, args
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            self._value = self._fn(*self._args)
        except BaseException as fault:  # pylint: disable=broad-except
            self._fault = fault

    def done(self):
        return not self._thread.is_alive()

    def result(self, timeout_s=30):
        self._thread.join(timeout_s * SLOW)
        if self._thread.is_alive():
            raise AssertionError(f"no answer within {timeout_s} s")
        if self._fault:
            raise self._fault
        return self._value


class Driver:
    """driver.py as a child: answered() while it runs, stop() or result() at its end."""

    def __init__(self, services, bodies, connections=32, seconds=60, keyed=False, reconnect=True):
        spec = {"targets": [["127.0.0.1", s.port] for s in services], "bodies": [json.dumps(b) for b in bodies],
                "connections": connections, "seconds": seconds, "keyed": keyed, "reconnect": reconnect,
                "seed": RANDOM.randrange(2**31)}
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "driver.py")
        self._child = subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True)
        _living.add(self)
        self._child.stdin.write(json.dumps(spec))
        self._child.stdin.close()
        self._lines, self._seconds = [{"answered": 0}], seconds
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._child.stdout:
            self._lines.append(json.loads(line))

    def kill(self):
        self._child.kill()
        self._child.wait()
        _living.discard(self)

    def answered(self):
        return self._lines[-1]["answered"]

    def until_answered(self, more, timeout_s=30):
        """Waits for so many more answers than now."""
        goal = self.answered() + more
        eventually(lambda: self.answered() >= goal, timeout_s, f"{more} more answers")

    def result(self):
        """What it counted; waits for its time to be over."""
        self._reader.join((self._seconds + 20) * SLOW)
        if self._reader.is_alive():
            self.kill()
            raise AssertionError("the load driver did not end")
        self._child.wait()
        self._child.stdout.close()
        _living.discard(self)
        return self._lines[-1]

    def stop(self):
        self._child.terminate()
        return self.result()
