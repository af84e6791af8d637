"""COMMIT and the cut, for queues: a claim whose commit was not answered is nobody's, an add is there once or its fate is
called unknown, and an end that was done is no loss when it is told again."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support import proxy as cut  # pylint: disable=wrong-import-position
from support.case import Case, main
from support.jobs import Worker, path_of
from support.proxy import Proxy

MODES = (cut.BEFORE, cut.DURING, cut.LATE, cut.AFTER)


class Cut(Case):
    INSTANCES = 0
    FILLED = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.proxy = Proxy(cls.stack.mysql.port)
        cls.addClassCleanup(cls.proxy.close)
        quiet = {"LOCKSTOCK_JOBS": 0, "LOCKSTOCK_SINKS": ""}  # nothing else shall commit
        cls.service = cls.instance("cut", mysql_port=cls.proxy.port, env=quiet).start()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.proxy.arm, None, 0)
        Cut.FILLED += 1
        self.queue = f"q-{Cut.FILLED}"

    def add(self, **body):
        return self.http.post(path_of(self.queue, "jobs"), body)

    def count(self):
        return self.db.count("jobs", "queue=%s", self.queue)

    def test_add__when_it_has_a_key__then_there_once_and_told(self):
        for number, mode in enumerate(MODES):
            with self.subTest(mode=mode):
                self.proxy.arm(mode)
                reply = self.add(dedupeKey=f"k-{number}")
                self.assertIn(reply.status, (200, 201), reply)
                self.assertEqual(self.add(dedupeKey=f"k-{number}").json["id"], reply.json["id"])
                self.assertEqual(self.count(), number + 1)

    def test_add__when_it_has_none__then_never_twice_and_unknown_is_called_so(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                before = self.count()
                self.proxy.arm(mode)
                reply = self.add()
                if reply.status == 201:
                    self.assertEqual(self.count(), before + 1)
                else:
                    self.assert_problem(reply, 503, "SYS-012")
                    self.assertLessEqual(self.count(), before + 1)

    def test_claim__when_its_commit_is_cut__then_no_job_is_given_twice(self):
        worker = Worker(self.http, self.queue)
        for _ in range(8):
            self.assertEqual(self.add().status, 201)
        for mode in MODES:
            self.proxy.arm(mode)
            worker.claim(1)
        self.proxy.arm(None, 0)
        given = [job["id"] for job in worker.had]
        self.assertEqual(len(given), len(set(given)))
        for job in worker.had:
            self.assertTrue(worker.complete(job))
        self.db.run("UPDATE jobs SET lease_until=UTC_TIMESTAMP(6) - INTERVAL 1 SECOND, due_at=lease_until"
                    " WHERE queue=%s AND status='CLAIMED'", self.queue)
        worker.run()
        self.assertEqual(sorted(worker.done), [row["id"] for row in self.db.rows(
            "SELECT id FROM jobs WHERE queue=%s AND status='DONE' ORDER BY id", self.queue)])
        self.assertEqual(len(worker.done), 8)

    def test_complete__when_its_answer_is_lost__then_the_repeat_is_no_loss(self):
        """The client's own repeat: the connection to the service ends before the reply."""
        worker = Worker(self.http, self.queue)
        self.assertEqual(self.add().status, 201)
        job = worker.claim(1)[0]
        self.assertTrue(worker.complete(job))
        lost = self.service.metric("lockstock_claims_lost_total", of="jobs")
        self.assertTrue(worker.complete(job))
        self.assertEqual(self.service.metric("lockstock_claims_lost_total", of="jobs"), lost, "a repeat is no loss")
        self.assertEqual(self.db.value("SELECT fence FROM jobs WHERE id=%s", job["id"]), 1)


if __name__ == "__main__":
    main()
