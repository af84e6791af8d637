"""Child processes that cannot outlive the tests: each dies with this process, whatever ends it."""

import atexit
import os
import shutil
import signal
import subprocess
import time

_living = set()
_SETPRIV = shutil.which("setpriv")


def _end_all():
    for child in list(_living):
        child.kill()


atexit.register(_end_all)


class Process:
    """One child with its output in a file. Start it from the main thread: the kernel ends it with the thread that did."""

    def __init__(self, argv, log_path, env=None):
        self.argv, self.log_path, self.env = argv, log_path, env
        self.popen = None

    def start(self):
        assert not self.alive(), f"{self.argv[0]} runs already"
        guard = [_SETPRIV, "--pdeathsig", "KILL", "--"] if _SETPRIV else []
        with open(self.log_path, "ab") as log:
            self.popen = subprocess.Popen(guard + self.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                          env=self.env, start_new_session=True)
        _living.add(self)
        return self

    @property
    def pid(self):
        return self.popen.pid

    def alive(self):
        return self.popen is not None and self.popen.poll() is None

    def freeze(self):
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self):
        if self.alive():
            os.kill(self.pid, signal.SIGCONT)

    def hang_up(self):
        os.kill(self.pid, signal.SIGHUP)

    def kill(self):
        """SIGKILL, and gone when this returns."""
        if self.alive():
            self.popen.kill()
        if self.popen is not None:
            self.popen.wait()
        _living.discard(self)

    def stop(self, timeout_s):
        """SIGTERM; the exit status. A child that does not end in time is killed and that is an AssertionError."""
        if not self.alive():
            _living.discard(self)
            return self.popen.returncode if self.popen else None
        self.thaw()
        begun = time.monotonic()
        self.popen.terminate()
        try:
            status = self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.argv[0]} did not end within {timeout_s} s of SIGTERM") from None
        _living.discard(self)
        self.stopped_in_s = time.monotonic() - begun
        return status
