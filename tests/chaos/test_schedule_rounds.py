"""Three instances, one schedule: each round is run once, whatever the timers and the wall clocks of the machines say.

What is counted is what the database did: a trigger writes down every change of the table shedlock. Rounds are multiples
of the period on the database's clock. The job is one of the service's own, and finds nothing to do here."""

import datetime
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support import schedules  # pylint: disable=wrong-import-position
from support.case import Case, main
from support.holders import FULL

JOB = "stockReservationSweepJob"
EVERY_MS = 400
PHASES_MS = (0, 130, 260)  # of the three timers; a round begins with the first and is over for the last
STILL_MS = EVERY_MS - max(PHASES_MS)
ROUNDS = 200 if FULL else 60
FEW = 8  # rounds until a missing mechanism has shown itself


class RoundsCase(Case):
    INSTANCES = 0

    def setUp(self):
        super().setUp()
        self.witness = schedules.Witness(self.db)
        self.addCleanup(self.witness.stop)

    @classmethod
    def trio(cls, faults, phases=PHASES_MS, ahead=None):
        """A database of its own with three instances on it, (database, instances); the one numbered `ahead` is an hour
        ahead."""
        before, cls.db = cls.db, cls.stack.mysql.new_database()
        cls.migrate()
        schedules.record(cls.db)
        instances = []
        for number, phase in enumerate(phases):
            env = {**schedules.only(JOB, f"PT{EVERY_MS / 1000}S"), "LOCKSTOCK_REDIS_URL": ""}
            if number == ahead:
                env.update(schedules.hour_ahead())
            instances.append(cls.instance("abc"[number], faults=f"job-phase={phase}{faults}", env=env))
            instances[-1].start("alive")
        cls.db, mine = before, cls.db
        return mine, instances

    def end(self, instances):
        """Their logs stay; nobody is in the way of the next test."""
        for one in instances:
            self.assertEqual(one.stop(), 0, one.tail())

    @staticmethod
    def clock(instance):
        """Its wall clock when it wrote its last line."""
        return datetime.datetime.fromisoformat(instance.log()[-1]["ts"].replace("Z", "+00:00"))

    def rounds_of(self, db, count):
        return schedules.until_rounds(db, JOB, EVERY_MS, count, 20 + 3 * count * EVERY_MS / 1000)

    def assert_once_each(self, rounds):
        """And none left out, but one in fifty in which the machine stood still for the time that is left of a round when
        the last timer has gone off."""
        twice = {r: g for r, g in rounds.items() if len(g) != 1}
        self.assertEqual(twice, {}, "rounds run more than once")
        missing = schedules.missing(rounds, EVERY_MS)
        still = [r for r in missing if self.witness.stood_still(r - STILL_MS, r + EVERY_MS, STILL_MS)]
        self.assertEqual(missing, still, "rounds nobody ran")
        self.assertLessEqual(len(missing), max(1, len(rounds) // 50), missing)


class Rounds(RoundsCase):
    """The minimum is switched off: nothing but lock and round decides."""

    def test_rounds__when_timers_and_clocks_differ__then_each_is_run_once(self):
        plain, ours = self.trio(",job-at-least=0")
        skewed, theirs = self.trio(",job-at-least=0", phases=(130, 260, 0), ahead=2)
        found = [self.rounds_of(db, ROUNDS) for db in (plain, skewed)]
        clocks = [self.clock(one) for one in theirs]
        self.end(ours + theirs)
        self.assertGreater(clocks[2] - clocks[0], datetime.timedelta(minutes=59), "the clock was not shifted")
        for rounds in found:
            self.assertGreaterEqual(len(rounds), ROUNDS)
            self.assert_once_each(rounds)
        self.assertIn("c", {g[0].instance for g in found[1].values()}, "the one an hour ahead never ran")

    def test_rounds__when_all_wake_at_once__then_each_is_run_once_and_the_others_skip(self):
        db, instances = self.trio(",job-at-least=0", phases=(0, 0, 0))
        rounds = self.rounds_of(db, FEW)
        runs, skips = (sum(s.metric(f"lockstock_job_{m}_total", job=JOB) for s in instances) for m in ("runs", "skips"))
        listed = [s.get(f"/v1/schedules/{JOB}").json["job"] for s in instances]
        self.end(instances)
        self.assert_once_each(rounds)
        granted = len(schedules.grants(db, JOB))
        self.assertTrue(len(rounds) <= runs <= granted, (len(rounds), runs, granted))
        self.assertTrue(abs(skips - 2 * runs) <= 9, (skips, runs))
        self.assertTrue(runs <= sum(job["runs"] for job in listed) <= granted, listed)


class Removed(RoundsCase):
    """Each mechanism taken out: the damage the tests above would see."""

    def extra(self, faults, count=FEW, **kw):
        """Runs beyond one each round."""
        db, instances = self.trio(",job-at-least=0," + faults, **kw)
        rounds = self.rounds_of(db, count)
        self.end(instances)
        return sum(len(g) - 1 for g in rounds.values())

    def test_round_check__when_taken_out__then_each_timer_runs_the_round(self):
        self.assertGreaterEqual(self.extra("no-round-check"), FEW)

    def test_lock__when_taken_out__then_those_that_wake_together_all_run(self):
        self.assertGreaterEqual(self.extra("no-schedule-lock", phases=(0, 0, 0)), 1)

    def test_database_time__when_taken_out__then_an_hour_ahead_runs_every_time(self):
        self.assertGreaterEqual(self.extra("wall-clock-rounds", 3, ahead=2), 3)


class MinimumHold(RoundsCase):
    """A job that is over at once, and timers that know nothing of rounds: lockAtLeastFor alone keeps them apart."""

    AT_LEAST_MS = 300

    def gaps(self, faults):
        """Milliseconds from each grant to the next."""
        db, instances = self.trio(f",no-round-check,job-at-least={self.AT_LEAST_MS}{faults}", phases=(0, 100, 200))
        self.rounds_of(db, FEW)
        self.end(instances)
        found = schedules.grants(db, JOB)
        return [after.at - before.at for before, after in zip(found, found[1:])]

    def test_minimum__when_the_job_is_too_quick__then_no_second_run_inside(self):
        gaps = self.gaps("")
        self.assertGreaterEqual(min(gaps), self.AT_LEAST_MS, gaps)

    def test_minimum__when_taken_out__then_it_runs_again_inside(self):
        gaps = self.gaps(",no-min-hold")
        self.assertLess(min(gaps), self.AT_LEAST_MS, gaps)


if __name__ == "__main__":
    main()
