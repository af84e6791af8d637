#!/usr/bin/python3
"""Runs the suites that need servers: integration, contract, chaos (all, or those named), in one process and one stack.

usage: tests/run.py [integration] [contract] [chaos] [path/to/test_file.py …] [-k PATTERN]
LOCKSTOCK_BIN and LOCKSTOCK_FAULTS_BIN name the binaries; LOCKSTOCK_TEST_SEED repeats a run; LOCKSTOCK_TEST_SLOW=4
stretches the tests' own deadlines for slow builds; LOCKSTOCK_TEST_KEEP=1 keeps logs and data.
"""

import faulthandler
import glob
import importlib.util
import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SUITES = ("integration", "contract", "chaos")
sys.path.insert(0, HERE)


class TimedResult(unittest.TextTestResult):
    """Says how long a slow test took."""

    SLOW_S = 3.0

    def startTest(self, test):
        self._begun = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        took = time.monotonic() - self._begun
        if took > self.SLOW_S:
            self.stream.writeln(f"    ({took:.1f} s)")
        super().stopTest(test)


def files(names):
    for name in names or SUITES:
        if name in SUITES:
            yield from sorted(glob.glob(os.path.join(HERE, name, "test_*.py")))
        else:
            yield os.path.abspath(name)


def module_of(path):
    name = os.path.relpath(path, HERE)[:-3].replace(os.sep, "_")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def main(arguments):
    loader = unittest.TestLoader()
    if "-k" in arguments:
        at = arguments.index("-k")
        loader.testNamePatterns = [f"*{arguments[at + 1]}*"]
        arguments = arguments[:at] + arguments[at + 2:]
    faulthandler.dump_traceback_later(1500, exit=True)
    suite = unittest.TestSuite(loader.loadTestsFromModule(module_of(path)) for path in files(arguments))
    runner = unittest.TextTestRunner(verbosity=2, resultclass=TimedResult)
    return 0 if runner.run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
