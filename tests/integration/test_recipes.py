"""docs/recipes.md: what stands there is run as it stands there, by bash and by dash, and does what the text says.

A recipe's commands are the lines that are indented by four; what stands in a fenced block is only shown, except SQL."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.locks import LockCase
from support.service import ROOT, binary, environment
from support.wait import SLOW

STUBS = {"report.sh": 'echo "a report $*"', "deploy.sh": "echo deployed",
         "fetch.sh": 'echo "+$1" >>fetched.txt; sleep 0.2; echo "-$1" >>fetched.txt'}
# Sections of the order path: run one after the other; what they answer is tested elsewhere.
ORDERS = ("A product", "Place an order", "Place it once, whatever the network does", "Pay", "Money that must go back",
          "Cancel", "Ship", "Sell from a service that keeps its own orders", "Set stock, if nobody was faster", "Adjust stock",
          "Why is the stock what it is?", "Audit", "Events of another service", "Receive a webhook")


def sections():
    """Title → text."""
    with open(os.path.join(ROOT, "docs", "recipes.md"), encoding="utf-8") as file:
        parts = re.split(r"^## (.+)\n", file.read(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def commands(text):
    """The indented lines outside fences."""
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return "\n".join(line[4:] if line.startswith("    ") else "" for line in outside.splitlines()) + "\n"


class Recipes(LockCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sections = sections()

    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="recipes-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.symlink(binary(), os.path.join(self.folder, "lockstock"))
        for name, text in STUBS.items():
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{text}\n")
            os.chmod(path, 0o755)

    def run_section(self, *titles, shell="bash", timeout_s=60):
        """Everything that the sections print; each command must succeed."""
        text = "".join(commands(self.sections[title]) for title in ("First", *titles))
        text = text.replace("http://127.0.0.1:8080", f"http://127.0.0.1:{self.service.port}")
        env = environment({"LOCKSTOCK_URL": f"http://127.0.0.1:{self.service.port}"})
        env["PATH"] = f"{self.folder}:{env['PATH']}"
        done = subprocess.run([shell, "-e", "-c", text], cwd=self.folder, env=env, capture_output=True, text=True,
                              timeout=timeout_s * SLOW, check=False)
        self.assertEqual(done.returncode, 0, f"{titles}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def lines_of(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read().split()

    def test_orders__when_run_one_after_the_other__then_each_goes_well(self):
        for shell in ("bash", "dash"):
            if shutil.which(shell):
                out = self.run_section(*ORDERS, shell=shell)
                self.assertIn("Idempotency-Replayed: true", out)
                self.assertIn("PRD-005", out)
                self.assertIn('"status":"CONFIRMED"', out)
                self.assertIn('"reservationStatus":"CANCEL_REQUESTED"', out)
                self.assertIn('"violations":[]', out)

    def test_lock_by_hand__then_taken_renewed_shown_and_released(self):
        out = self.run_section("A lock by hand")
        self.assertIn('"ttlMs":60000', out)
        self.assertIn('"owner":"me"', out)
        self.assertIn("204 No Content", out)
        self.assertFalse(self.http.get("/v1/locks/by-hand").json["held"])

    def test_cron_job__when_two_machines_start_it__then_one_runs_it(self):
        text = commands(self.sections["A cron job on many machines"]).strip()
        machine = "    {\n    " + text + "\n    } &\n"
        self.sections["two machines"] = machine + machine + "    wait\n"
        self.assertEqual(self.run_section("two machines").count("a report"), 1)

    def test_leader__when_two_want_to__then_one_after_the_other_and_watchers_are_told(self):
        out = self.run_section("Elect a leader, and watch who it is")
        leaders = re.findall(r"(anna|bert) leads: (\d+)$", out, re.M)
        self.assertEqual({name for name, _ in leaders}, {"anna", "bert"})
        self.assertLess(int(leaders[0][1]), int(leaders[1][1]))
        self.assertIn("event: state\n", out)
        for name, fence in leaders:
            self.assertRegex(out, rf'event: (granted|state)\ndata: .*"owner":"{name}","fence":{fence}')
        self.assertIn("event: released\n", out)
        self.assertRegex(out, r"(?m)^state: $")

    def test_gate__when_closed__then_nothing_is_deployed(self):
        out = self.run_section("A gate before deployments")
        self.assertEqual(out.count("deployed"), 1)
        self.assertIn("ops: moving the database", out)
        self.assertIn("204 No Content", out)

    def test_one_writer__when_it_comes_too_late__then_refused(self):
        out = self.run_section("One writer")
        fence = int(re.search(r'"highest":(\d+)', out)[1])
        self.assertEqual(self.lines_of("books.txt"), ["page", "of", str(fence)])
        late = self.http.post("/v1/fences/books", {"fence": fence - 1})
        self.assertEqual((late.status, late.code), (412, "LCK-006"))

    def test_one_writer__when_the_row_compares__then_a_late_statement_changes_nothing(self):
        update = re.search(r"^```sql\n(.+?)\n```$", self.sections["One writer"], re.M | re.S)[1]
        self.db.run("CREATE TABLE accounts (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL, fence BIGINT NOT NULL)")
        self.db.run("INSERT INTO accounts VALUES (7, 100, 4294967299)")
        self.db.run(update)
        self.assertEqual(self.db.rows("SELECT balance, fence FROM accounts")[0], {"balance": 95, "fence": 4294967300})
        self.db.run("UPDATE accounts SET fence = 4294967301")
        self.db.run(update)
        self.assertEqual(self.db.value("SELECT balance FROM accounts"), 95)

    def test_queue__then_a_job_is_claimed_and_done(self):
        self.assertIn('"lastResult":"sent"', self.run_section("A queue and its workers"))

    def test_once_for_its_date__when_two_machines_are_late__then_one_job(self):
        first = self.run_section("Exactly once for its date")
        self.assertRegex(first, r'"dedupeKey":"report:\d{4}-\d\d-\d\d"')
        self.run_section("Exactly once for its date")
        self.assertEqual(self.db.count("jobs", "queue = 'reports'"), 1)

    def test_several__when_two_wait_for_each_other__then_the_newer_is_told_and_the_other_goes_on(self):
        out = self.run_section("Several locks at once")
        cycle = re.search(r'"code":"LCK-007".*?"cycle":(\[.*?\])', out)[1]
        self.assertRegex(cycle, r'"owner":"b".*"owner":"a"')
        self.assertRegex(out, r'"name":"accounts/2","status":"held","token":"transfer-0001-4711"')
        self.assertEqual([self.http.get(f"/v1/locks/accounts%2F{n}").json["held"] for n in (1, 2)], [False, False])

    def test_n_at_once__when_six_want_to__then_never_more_than_two(self):
        self.run_section("N at once")
        now = most = 0
        lines = self.lines_of("fetched.txt")
        for line in lines:
            now += 1 if line[0] == "+" else -1
            most = max(most, now)
        self.assertEqual((len(lines), now), (12, 0))
        self.assertEqual(most, 2)


if __name__ == "__main__":
    main()
