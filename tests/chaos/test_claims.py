"""Workers that run side by side, freeze past their lease, or lose their instance: each job is ended once, by the claim
that has it; and what becomes of that when a mechanism is taken out."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.jobs import Worker, side_by_side
from support.load import Background
from support.wait import RANDOM, eventually

JOBS = 1000
LEASE_MS = 1500


class Queue(Case):
    INSTANCES = 2
    FILLED = 0

    def setUp(self):
        super().setUp()
        self.addCleanup(self.stack.heal)
        Queue.FILLED += 1
        self.queue = f"q-{Queue.FILLED}"

    def fill(self, count, max_attempts=10):
        """Rows as the service writes them, all due, the lowest id first."""
        rows = ", ".join(f"('{self.queue}', '{{\"n\":{n}}}', {max_attempts}, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))"
                         for n in range(count))
        self.db.run("INSERT INTO jobs (queue, payload, max_attempts, created_at, due_at) VALUES " + rows)

    def worker(self, number, **kw):
        return Worker(self.client(number, **kw), self.queue, f"w-{number}")

    def rows(self):
        return self.db.rows("SELECT * FROM jobs WHERE queue=%s ORDER BY id", self.queue)

    def end_leases(self, jobs):
        for job in jobs:
            self.db.run("UPDATE jobs SET lease_until=UTC_TIMESTAMP(6) - INTERVAL 1 SECOND, due_at=lease_until"
                        " WHERE id=%s AND status='CLAIMED'", job["id"])


class Claims(Queue):
    def test_workers__when_two_claim_1000_jobs_side_by_side__then_disjoint_and_both_busy(self):
        self.fill(JOBS)
        one, two = self.worker(0), self.worker(1)
        side_by_side(one.run, two.run)
        had = [[job["id"] for job in w.had] for w in (one, two)]
        self.assertEqual(set(had[0]) & set(had[1]), set())
        self.assertEqual(sorted(had[0] + had[1]), [row["id"] for row in self.rows()])
        self.assertEqual((one.lost, two.lost), ([], []))
        for row in self.rows():
            self.assertEqual((row["status"], row["attempts"], row["fence"]), ("DONE", 1, 1))
        self.assertGreater(min(map(len, had)), JOBS // 10, "one of them found nothing to do")

    def test_claim__when_another_is_in_the_middle_of_its_own__then_no_waiting_for_it(self):
        """A foreign transaction holds the first ten rows as a claim does before its COMMIT."""
        self.fill(20)
        with self.db.session() as session:
            with session.cursor() as cursor:
                cursor.execute("SELECT id FROM jobs FORCE INDEX (idx_jobs_due) WHERE queue=%s AND due_at <="
                               " UTC_TIMESTAMP(6) ORDER BY due_at, id LIMIT 10 FOR UPDATE SKIP LOCKED", (self.queue,))
                held = {row["id"] if isinstance(row, dict) else row[0] for row in cursor.fetchall()}
            got = {job["id"] for job in self.worker(0).claim(10)}
            session.rollback()
        self.assertEqual((len(held), len(got), held & got), (10, 10, set()))

    def test_instance__when_frozen_past_the_lease__then_it_settles_nothing_and_the_job_is_done_once(self):
        self.fill(1)
        frozen, second = self.worker(0), self.worker(1)
        job = frozen.claim(1, LEASE_MS)[0]
        lost = self.services[1].metric("lockstock_claims_lost_total", of="jobs")
        self.services[0].freeze()
        self.addCleanup(self.services[0].thaw)
        late = Background(frozen.end, job)
        again = eventually(lambda: second.claim(1), 20, "the lease is over")[0]
        self.assertEqual((again["id"], again["fence"], again["attempts"]), (job["id"], 2, 2))
        self.assertTrue(second.complete(again))
        self.services[0].thaw()
        reply = late.result(20)
        self.assertEqual((reply.status, reply.code, reply.json["jobStatus"]), (410, "JOB-001", "DONE"))
        self.assertEqual(self.services[0].metric("lockstock_claims_lost_total", of="jobs"), 1)
        self.assertEqual(self.services[1].metric("lockstock_claims_lost_total", of="jobs"), lost)
        row = self.rows()[0]
        self.assertEqual((row["status"], row["fence"], row["owner"], row["last_result"]), ("DONE", 2, "w-1", "w-1"))

    def test_workers__when_some_sleep_past_their_lease__then_each_job_is_ended_once(self):
        """A sleeper lets the lease of what it has run out and ends it afterwards all the same."""
        self.fill(200, max_attempts=1000)
        workers = [self.worker(n % 2) for n in range(4)]

        def work(worker):
            while jobs := worker.claim(RANDOM.randint(1, 5), 60000):
                if RANDOM.random() < 0.2:
                    self.end_leases(jobs)
                for job in jobs:
                    worker.complete(job)

        side_by_side(*[lambda w=w: work(w) for w in workers])
        done = [job for w in workers for job in w.done]
        self.assertEqual(sorted(done), [row["id"] for row in self.rows()], "each was ended by one claim")
        self.assertGreater(sum(len(w.lost) for w in workers), 0, "nobody slept")
        self.assertEqual({row["status"] for row in self.rows()}, {"DONE"})

    def test_kill_9__when_claims_are_open__then_they_stand_and_end_with_their_lease(self):
        self.fill(30)
        dying = self.instance("dying").start()
        self.addCleanup(dying.kill)
        client = dying.http()
        self.addCleanup(client.close)
        worker, other = Worker(client, self.queue, "w"), self.worker(0)
        kept, left = worker.claim(10, 600000), worker.claim(10, LEASE_MS)
        dying.kill()
        worker.http = other.http
        for job in kept:
            self.assertTrue(worker.complete(job), "a claim belongs to its worker, whichever instance it came from")
        rest = other.claim(30)
        self.assertEqual(len(rest), 10)
        again = eventually(lambda: other.claim(30), 20, "the leases are over")
        while len(again) < 10:
            again += eventually(lambda: other.claim(30), 20, "the leases are over")
        self.assertEqual(sorted(job["id"] for job in again), sorted(job["id"] for job in left))
        for job in left:
            self.assertFalse(worker.complete(job))
        for job in rest + again:
            self.assertTrue(other.complete(job))
        self.assertEqual({row["status"] for row in self.rows()}, {"DONE"})

    def test_mysql__when_it_restarts__then_claims_stand(self):
        self.fill(2)
        worker = self.worker(0)
        job = worker.claim(1, 600000)[0]
        self.stack.mysql.restart()
        self.until_served()
        self.assertTrue(worker.complete(job))
        self.assertTrue(worker.complete(worker.claim(1)[0]))


class Removed(Queue):
    """What each mechanism is there for."""

    INSTANCES = 0

    def begin(self, faults):
        self.services[:] = []
        for name in "ab":
            one = self.instance(f"{faults}-{name}", faults=faults).start()
            self.addCleanup(one.kill)

    def test_no_claim_update__then_two_workers_get_the_same_job(self):
        """The seed's fault: SELECT … FOR UPDATE SKIP LOCKED alone."""
        self.begin("no-claim-update")
        self.fill(1)
        self.assertEqual([w.claim(1)[0]["id"] for w in (self.worker(0), self.worker(1))], [self.rows()[0]["id"]] * 2)
        self.assertEqual((self.rows()[0]["status"], self.rows()[0]["attempts"]), ("READY", 0))

    def settled_by_another(self, change):
        """A settle whose claim was changed so; True when it was taken."""
        self.fill(1)
        worker = self.worker(0)
        job = worker.claim(1)[0]
        fence, secret = job["claimToken"].split(".")
        job["claimToken"] = change(int(fence), secret)
        return worker.complete(job)

    def test_no_claim_token__then_anybody_ends_the_claim(self):
        other = lambda fence, secret: f"{fence}.{'0' * 64}"
        self.begin("no-claim-token")
        self.assertTrue(self.settled_by_another(other))
        self.begin("")
        self.assertFalse(self.settled_by_another(other))

    def test_no_claim_fence__then_an_older_grant_ends_a_later_one(self):
        other = lambda fence, secret: f"{fence + 1}.{secret}"
        self.begin("no-claim-fence")
        self.assertTrue(self.settled_by_another(other))
        self.begin("")
        self.assertFalse(self.settled_by_another(other))

    def test_no_claim_lease__then_a_sleeper_ends_what_is_no_longer_its(self):
        self.begin("no-claim-lease")
        for faulty in (True, False):
            self.fill(1)
            worker = self.worker(0)
            job = worker.claim(1)[0]
            self.end_leases([job])
            self.assertEqual(worker.complete(job), faulty)
            self.db.run("DELETE FROM jobs")
            self.begin("")


if __name__ == "__main__":
    main()
