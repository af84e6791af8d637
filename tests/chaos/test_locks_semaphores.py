"""Permits under crashes: many take them through two instances that are killed, some die, some oversleep, Redis is cut off,
forgets and dies. By the holders' own clocks never more are out than there are; what Redis has forgotten counts until its
leases are over."""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import main  # pylint: disable=wrong-import-position
from support.holders import FULL, SEMAPHORES, beyond_limit, fence_faults
from support.locks import LockCase
from support.takers import Takers
from support.wait import RANDOM, eventually
from test_locks_redis import Trouble

LIMIT = 5
TTL_MS = 700
ROUNDS = 12 if FULL else 3


def draw():
    return {"limit": LIMIT, "permits": RANDOM.randrange(1, 4), "ttlMs": TTL_MS, "waitMs": 400}


class PermitCase(Trouble):

    def take(self, **more):
        takers = Takers([s.port for s in self.services], [self.name(), self.name()], lambda: {**draw(), **more},
                        under=SEMAPHORES)
        self.addCleanup(setattr, takers, "over", True)
        takers.until_granted(10)
        return takers

    def free(self, name):
        status = self.http.get(SEMAPHORES + name.replace("/", "%2F")).json
        return status["available"]

    def judge(self, takers, *losses):
        """losses: moments at which Redis forgot. Who was granted before counts beside who was granted after only once
        its lease could not have been renewed any more."""
        grants = takers.stop()
        self.assertEqual(takers.faults[:3], [])
        self.assertEqual(fence_faults(grants)[:3], [])
        edges = [0.0, *losses, float("inf")]
        for begin, end in zip(edges, edges[1:]):
            era = [g for g in grants if begin <= g.sent and g.received <= end]
            self.assertEqual(beyond_limit(era, LIMIT)[:3], [])
        settled = [g for g in grants if all(not m - TTL_MS / 1000 <= g.received <= m + TTL_MS / 1000 for m in losses)]
        self.assertEqual(beyond_limit(settled, LIMIT)[:3], [])
        self.assertGreater(len(grants), 100)


class Crashes(PermitCase):

    def test_permits__when_holders_and_instances_die__then_never_more_than_the_limit(self):
        self.serve()
        takers = self.take()
        takers.through_crashes(self.services, ROUNDS, grants=20)
        self.judge(takers)
        for name in takers.names:
            eventually(lambda: self.free(name) == LIMIT, 5, "all come back")  # pylint: disable=cell-var-from-loop

    def test_permits__when_the_network_is_cut__then_never_more_than_the_limit(self):
        self.serve()
        takers = self.take()
        for number in range(ROUNDS):
            cut = self.relays if number % 2 else self.relays[:1]
            for relay in cut:
                relay.cut()
            time.sleep(0.3)
            for relay in cut:
                relay.heal()
            self.until_redis()
            takers.until_granted(20)
        self.judge(takers)
        self.assertGreater(takers.refused["LCK-003"], 0)
        for name in takers.names:
            eventually(lambda: self.free(name) == LIMIT, 5, "all come back")  # pylint: disable=cell-var-from-loop


class Forgetting(PermitCase):

    def test_permits__when_redis_forgets_or_dies__then_beyond_the_limit_only_until_old_leases_are_over(self):
        self.serve()
        takers, losses = self.take(), []
        for number in range(ROUNDS):
            if number % 2:
                self.server.kill()
                losses.append(time.monotonic())
                eventually(lambda: all(s.get("/readyz").json["degraded"] for s in self.services), 5, "seen")
                self.server.start()
            else:
                self.server.call("FLUSHALL")
                losses.append(time.monotonic())
            self.until_redis()
            time.sleep(3 * TTL_MS / 1000)  # so that the losses can be told apart
            takers.until_granted(20)
        self.judge(takers, *losses)


class Unprotected(LockCase):
    """The proof that the tests above can fail: the same takers with permits that nobody counts."""

    INSTANCES = 0

    def test_permits__when_nobody_counts__then_the_judge_notices(self):
        one = self.instance("open", env={"LOCKSTOCK_REDIS_URL": ""}).start()
        takers = Takers([one.port], [self.name()], lambda: {**draw(), "onRedisDown": "open"}, under=SEMAPHORES)
        takers.until_granted(100)
        self.assertNotEqual(beyond_limit(takers.stop(), LIMIT), [])


if __name__ == "__main__":
    main()
