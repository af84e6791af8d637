"""What becomes of a job's lock when its holder is killed, told to end, slow, or cut off from the database."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support import schedules  # pylint: disable=wrong-import-position
from support.case import Case, main
from support.relay import Relay
from support.wait import eventually

JOB = "stockReservationSweepJob"
EVERY_MS = 200
AT_MOST_MS = 1500
LATE_MS = 1500  # from the end of a lock to the next grant: a timer and a statement


class Holders(Case):
    INSTANCES = 0
    ENV = {**schedules.only(JOB, f"PT{EVERY_MS / 1000}S"), "LOCKSTOCK_REDIS_URL": ""}

    def setUp(self):
        super().setUp()
        type(self).db = self.stack.mysql.new_database()
        self.migrate()
        schedules.record(self.db)

    def start(self, *faults):
        """One instance for each, named a, b, …"""
        started = []
        for name, fault in zip("abcdef", faults):
            one = self.instance(name, faults=fault, env=self.ENV).start("alive")
            self.addCleanup(one.kill)
            started.append(one)
        return dict(zip("abcdef", started))

    def grants(self):
        return schedules.grants(self.db, JOB)

    def next_grant(self, after):
        """The first one later than this many."""
        return eventually(lambda: self.grants()[after:], 30, f"grant number {after + 1}")[0]

    # -- killed

    def killed(self, faults):
        """The grant of a holder that was killed, and the next one; both instances work for long."""
        living = self.start(*[f"job-work=60000,job-at-most={AT_MOST_MS}{faults}"] * 2)
        first = self.next_grant(0)
        living[first.instance].kill()
        return first, self.next_grant(1)

    def test_kill_9__when_it_holds__then_taken_over_after_lockatmostfor_and_not_before(self):
        first, second = self.killed("")
        self.assertNotEqual(first.instance, second.instance)
        self.assertTrue(second.took_over)
        self.assertGreaterEqual(second.old_until - first.at, AT_MOST_MS)
        self.assertGreaterEqual(second.at, second.old_until)
        self.assertLess(second.at - second.old_until, LATE_MS)

    def test_kill_9__when_the_end_of_the_lock_is_not_looked_at__then_taken_over_before(self):
        _, second = self.killed(",no-schedule-lock")
        self.assertTrue(second.took_over)
        self.assertLess(second.at, second.old_until)

    # -- told to end

    def test_sigterm__when_it_holds__then_it_stops_releases_and_the_other_goes_on_at_once(self):
        living = self.start(*["job-work=60000,job-at-most=600000"] * 2)
        first = self.next_grant(0)
        holder = living[first.instance]
        self.assertEqual(holder.stop(), 0, holder.tail())
        second = self.next_grant(1)
        self.assertNotEqual(first.instance, second.instance)
        self.assertFalse(second.took_over, "it was not released")
        self.assertLess(second.at - first.at, 60000)

    def test_sigterm__when_before_the_minimum__then_released_for_then(self):
        living = self.start("job-work=60000,job-at-least=160")
        first = self.next_grant(0)
        self.assertEqual(living["a"].stop(), 0)
        last = schedules.changes(self.db, JOB)[-1]
        self.assertTrue(last.is_release)
        self.assertGreaterEqual(last.until - first.at, 160)

    # -- slow

    def slow(self, faults):
        """How often a lock was lost by who had it, over ten grants: each run asks at its begin and 0.7 s later only, and
        is over at 1.4 s, with lockAtMostFor of 1 s."""
        self.start(*[f"job-work=1400,job-batch=700,job-at-most=1000,job-at-least=0{faults}"] * 2)
        self.next_grant(5)
        return self.metric("lockstock_job_lock_lost_total", job=JOB), [g for g in self.grants() if g.took_over]

    def test_renewal__when_a_batch_goes_beyond_lockatmostfor__then_the_lock_stays(self):
        lost, taken = self.slow("")
        self.assertEqual((lost, taken), (0, []))

    def test_renewal__when_taken_out__then_the_other_begins_while_it_works(self):
        lost, taken = self.slow(",no-job-renewal")
        self.assertGreater(lost, 0)
        self.assertNotEqual(taken, [])

    def test_work__when_it_would_go_on__then_it_ends_below_lockatmostfor(self):
        self.start(f"job-work=60000,job-at-most={AT_MOST_MS}")
        self.next_grant(2)
        changes = schedules.changes(self.db, JOB)
        ends = {c.grant_id: c.until for c in changes if c.is_release}
        spans = [ends[c.grant_id] - c.at for c in changes if c.is_grant and c.grant_id in ends]
        self.assertTrue(spans and all(AT_MOST_MS / 2 < span < AT_MOST_MS for span in spans), spans)

    # -- robbed and cut off

    def test_row__when_taken_by_another_while_it_works__then_it_stops_and_tells(self):
        living = self.start("job-work=60000,job-at-most=3000")
        self.next_grant(0)
        self.db.run("UPDATE shedlock SET locked_by='somebody' WHERE name=%s", JOB)
        eventually(lambda: living["a"].metric("lockstock_job_lock_lost_total", job=JOB) == 1, 10, "noticed")
        self.assertEqual([line["job"] for line in living["a"].log("job.lock_lost")], [JOB])
        row = self.db.rows("SELECT locked_by FROM shedlock WHERE name=%s", JOB)[0]
        self.assertEqual(row["locked_by"], "somebody")

    def test_row__when_deleted__then_the_job_runs_again(self):
        self.start("job-at-least=0")
        self.next_grant(0)
        before = len(self.grants())
        self.db.run("DELETE FROM shedlock WHERE name=%s", JOB)
        self.next_grant(before)

    def test_answer__when_lost_at_the_grant__then_the_job_works_under_it_and_releases(self):
        relay = Relay(self.stack.mysql.port)
        self.addCleanup(relay.close)
        self.db.run("INSERT INTO shedlock VALUES (%s, '2000-01-01', '2000-01-01', 'nobody')", JOB)
        session = self.db.session()
        self.addCleanup(session.close)
        with session.cursor() as cursor:
            cursor.execute("SELECT * FROM shedlock WHERE name=%s FOR UPDATE", (JOB,))
        one = self.instance("a", env={**self.ENV, **schedules.period(JOB, "PT1H")}, mysql_port=relay.port).start()
        self.addCleanup(one.kill)
        eventually(lambda: self.row_waits() > 0, 10, "the job asks for its lock")
        relay.cut()
        session.rollback()
        granted = self.next_grant(1)
        relay.retarget(self.stack.mysql.port)
        relay.heal()
        eventually(lambda: schedules.changes(self.db, JOB)[-1].is_release, 10, "released")
        self.assertEqual(schedules.changes(self.db, JOB)[-1].grant_id, granted.grant_id)
        self.assertEqual(one.metric("lockstock_job_runs_total", job=JOB), 1)

    def test_jobs__when_one_hangs__then_the_others_go_on(self):
        other = "orderTimeoutCancelJob"
        env = {**self.ENV, **schedules.period(other, f"PT{EVERY_MS / 1000}S")}
        one = self.instance("a", env=env).start()
        self.addCleanup(one.kill)
        runs = lambda job: one.metric("lockstock_job_runs_total", job=job)
        eventually(lambda: runs(JOB) > 0 and runs(other) > 0, 10, "both run")
        session = self.db.session()
        self.addCleanup(session.close)
        with session.cursor() as cursor:
            cursor.execute("LOCK TABLES stock_reservations WRITE")
        hung = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%%stock_reservations%%'" \
               " AND STATE LIKE '%%metadata lock%%'"
        eventually(lambda: self.db.value(hung) > 0, 10, "it hangs")
        before = runs(other)
        eventually(lambda: runs(other) >= before + 5, 4, "the other goes on meanwhile")
        self.assertGreater(self.db.value(hung), 0, "it no longer hung")

    def test_mysql__when_restarted_while_it_works__then_its_lock_is_released_by_itself(self):
        living = self.start("job-work=60000,job-at-most=600000,job-at-least=0")
        self.next_grant(0)
        self.addCleanup(self.stack.heal)
        self.stack.mysql.restart()
        eventually(lambda: living["a"].get("/readyz").json["degraded"] == [], 20, "connected")
        self.assertEqual(living["a"].stop(), 0, living["a"].tail())
        self.assertTrue(schedules.changes(self.db, JOB)[-1].is_release)


if __name__ == "__main__":
    main()
