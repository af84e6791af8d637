"""make run, as a newcomer meets it: from the built tree to a serving demo, the tour as printed, and a clean end."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)
from tests.support.stack import program
from tests.support.wait import accepts, eventually, free_port

START_S = 240  # a build may be part of it


class Run:
    """deploy/run.sh with servers of its own under a temporary folder."""

    def __init__(self, home, port):
        self.port = port
        self.log_path = os.path.join(home, "run.log")
        env = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTOCK_")}
        env |= {"DEV_HOME": home, "LOCKSTOCK_LISTEN": f"127.0.0.1:{port}"}
        with open(self.log_path, "w") as log:
            self.popen = subprocess.Popen([os.path.join(ROOT, "deploy", "run.sh")], stdin=subprocess.DEVNULL, stdout=log,
                                          stderr=subprocess.STDOUT, env=env, start_new_session=True)

    def log(self):
        with open(self.log_path) as file:
            return file.read()

    def wait_serving(self):
        eventually(lambda: "Ctrl-C stops it" in self.log() or self.popen.poll() is not None, START_S, "make run serves")
        if self.popen.poll() is not None:
            raise AssertionError(self.log())

    def stop(self, signum):
        self.popen.send_signal(signum)
        return self.popen.wait(timeout=60)

    def kill(self):
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGTERM)
            self.popen.wait(timeout=90)


def tour_of(log):
    """The lines between the announcement and the last word: what a reader would paste."""
    return re.search(r"Try:\n\n(.*?)\n\nrun: Ctrl-C", log, re.S).group(1)


def curl(*arguments):
    return subprocess.run(["curl", "-sS", *arguments], capture_output=True, text=True, timeout=30, check=True).stdout


@unittest.skipUnless(program("mariadbd"), "make run starts a MariaDB")
class MakeRun(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="lockstock-run.")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)

    def start(self):
        run = Run(self.home, free_port())
        self.addCleanup(run.kill)
        run.wait_serving()
        return run

    def server_ports(self):
        ports = []
        for name in ("mariadb", "redis"):
            with open(os.path.join(self.home, name, "port")) as file:
                ports.append(int(file.read()))
        return ports

    def test_run__then_tour_works_and_term_stops_all__then_data_is_kept(self):
        run = self.start()
        at = f"http://127.0.0.1:{run.port}"
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", tour_of(run.log())], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn('"code":', done.stdout + done.stderr)
        for word in ('"status":"PAYMENT_REQUESTED"', '"status":"PAYMENT_COMPLETED"', '"status":"CANCELLED"', '"violations":[]'):
            self.assertIn(word, done.stdout)
        curl(f"{at}/v1/webhooks", "-d", '{"url":"https://hooks.example/in"}')
        with open(os.path.join(self.home, "lockstock.log"), encoding="utf-8") as log:
            self.assertNotIn("webhook.no_sink", log.read())
        stock = curl(f"{at}/v1/inventory/1")
        self.assertIn('"stock":998', stock)
        ports = self.server_ports()
        self.assertTrue(all(accepts(port) for port in ports))

        self.assertEqual(run.stop(signal.SIGTERM), 0)
        self.assertFalse([port for port in ports + [run.port] if accepts(port)])
        self.assertLess(run.log().index("service stopped"), run.log().index("mariadb stopped"))

        again = self.start()
        self.assertEqual(curl(f"http://127.0.0.1:{again.port}/v1/inventory/1"), stock)
        self.assertEqual(again.stop(signal.SIGINT), 0)
        self.assertFalse([port for port in self.server_ports() if accepts(port)])

    def test_servers_that_were_up__stay_up(self):
        env = os.environ | {"DEV_HOME": self.home}
        for name in ("LOCKSTOCK_MYSQL_URL", "LOCKSTOCK_REDIS_URL"):
            env.pop(name, None)
        dev = os.path.join(ROOT, "deploy", "dev.sh")
        subprocess.run([dev, "up"], env=env, check=True, stdout=subprocess.DEVNULL)
        self.addCleanup(subprocess.run, [dev, "down"], env=env, check=True, stdout=subprocess.DEVNULL)
        run = self.start()
        self.assertEqual(run.stop(signal.SIGTERM), 0)
        self.assertTrue(all(accepts(port) for port in self.server_ports()))

    def test_taken_port__said_before_anything_is_started(self):
        first = self.start()
        other = tempfile.mkdtemp(prefix="lockstock-run.")
        self.addCleanup(shutil.rmtree, other, ignore_errors=True)
        second = Run(other, first.port)
        self.assertEqual(second.popen.wait(timeout=30), 1)
        self.assertIn(f"127.0.0.1:{first.port} is taken", second.log())
        self.assertEqual(sorted(os.listdir(other)), ["run.log"])


if __name__ == "__main__":
    unittest.main()
