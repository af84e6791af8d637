"""Names kept in the database while it is killed and restarted, while the instances are killed, and while Redis forgets or
is away: one holder at a time by the holders' own clocks, fences that only grow, and everybody goes on."""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.holders import FULL, fence_faults, overlaps
from support.locks import LockCase
from support.takers import Takers
from support.wait import RANDOM, eventually

TTL_MS = 900
ROUNDS = 12 if FULL else 3
TERMS = {"store": "database", "ttlMs": TTL_MS, "waitMs": 500}


class StoreCase(LockCase):
    INSTANCES = 0

    def serve(self, faults=None):
        self.services[:] = []
        self.addCleanup(self.stack.heal)
        self.db = self.__class__.db = self.stack.mysql.new_database()
        self.migrate()
        for name in "ab":
            self.addCleanup(self.instance(name, faults=faults).start().kill)
        self.until_redis()
        self.http = self.client()

    def take(self):
        names = [self.name() for _ in range(3)]
        takers = Takers([s.port for s in self.services], names, lambda: TERMS, clients=12)
        self.addCleanup(setattr, takers, "over", True)
        takers.until_granted(5)
        return takers

    def judge(self, takers):
        grants = takers.stop()
        self.assertEqual(takers.faults[:3], [])
        self.assertEqual(overlaps(grants)[:3], [])
        self.assertEqual(fence_faults(grants)[:3], [])
        for name in takers.names:
            fences = [g.fence for g in sorted(grants, key=lambda g: g.received) if g.name == name and g.until > g.received]
            self.assertEqual(fences, sorted(set(fences)), "strictly up in the order in which they were held")
            eventually(lambda: not self.http.get(self.path(name)).json["held"], 5, "free in the end")  # pylint: disable=cell-var-from-loop
        self.assertEqual(self.db.value("SELECT COUNT(*) FROM lock_leases WHERE holder IS NOT NULL AND lease_until > "
                                       "UTC_TIMESTAMP(6)"), 0)


class Crashes(StoreCase):

    def test_store__when_the_database_is_killed_and_comes_back__then_one_holder_and_fences_grow(self):
        self.serve()
        takers = self.take()
        for _ in range(ROUNDS):
            self.stack.mysql.kill()
            time.sleep(RANDOM.random() * 0.5)
            self.stack.mysql.start()
            takers.until_granted(10, timeout_s=30)
        self.judge(takers)
        self.assertGreater(takers.refused["LCK-003"], 0)

    def test_store__when_holders_and_instances_die__then_one_holder_and_fences_grow(self):
        self.serve()
        takers = self.take()
        takers.through_crashes(self.services, ROUNDS, grants=10)
        self.http = self.client()
        self.judge(takers)

    def test_store__when_redis_forgets_and_is_away__then_nobody_notices(self):
        self.serve()
        takers = self.take()
        for number in range(ROUNDS):
            if number % 2:
                self.redis.kill()
                eventually(lambda: all(s.get("/readyz").json["degraded"] for s in self.services), 5, "seen")
                takers.until_granted(10)
                self.redis.start()
            else:
                self.redis.call("FLUSHALL")
            takers.until_granted(10)
        self.judge(takers)
        self.assertEqual(takers.refused["LCK-003"], 0)


class NotCompared(StoreCase):
    """The proof that the tests above can fail."""

    def test_store__when_rows_are_taken_without_comparing__then_the_judge_notices(self):
        self.serve("no-lease-check")
        takers = self.take()
        takers.until_granted(30)
        self.assertNotEqual(overlaps(takers.stop()), [])


if __name__ == "__main__":
    main()
