"""A frozen Redis keeps what was sent to it: after the thaw no key may be held by a token that nobody uses."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.load import Driver, load
from support.wait import SLOW, eventually

# So long that a key left behind does not hide by ending in time.
ENV = {"LOCKSTOCK_LOCK_LEASE_MS": 60000}
BUYERS = 40


class Frozen(Case):
    INSTANCES = 0

    def setUp(self):
        self.addCleanup(self.stack.heal)

    def serve(self, faults=None, count=1):
        self.services[:] = []
        for name in "ab"[:count]:
            one = self.instance(name, faults=faults, env=ENV).start()
            self.addCleanup(one.stop)
        self.http = self.client()
        self.until_ready()
        return self.services[0]

    def freeze_with_acquires_on_their_way(self):
        """Redis is frozen first, so that every acquire sent until the breaker opens waits in its socket."""
        ids = [self.product(stock=10) for _ in range(BUYERS)]
        self.redis.freeze()
        answers = load(BUYERS, lambda n: self.order((ids[n], 1), http=self.client(n)))
        self.assertEqual({a.status for a in answers}, {201})
        self.until_ready("redis")
        self.redis.thaw()
        eventually(lambda: self.redis.call("PING") == "PONG", 5, "thawed")
        self.until_ready()
        return ids

    def test_freeze__when_acquires_were_on_their_way__then_no_key_is_left_after_the_thaw(self):
        self.serve()
        ids = self.freeze_with_acquires_on_their_way()
        self.until_no_lock_keys(3)
        answers = load(BUYERS, lambda n: self.order((ids[n], 1), http=self.client(n)))
        self.assertEqual({a.status for a in answers}, {201}, "the keys are free to be had")
        self.until_no_lock_keys(3)
        self.assert_audit_clean()

    def test_freeze__when_acquires_have_no_last_moment__then_keys_are_left(self):
        """The proof that the test above can fail."""
        self.serve(faults="no-not-after")
        self.freeze_with_acquires_on_their_way()
        eventually(self.lock_keys, 3, "a key that nobody uses")

    def test_freeze__when_short_and_under_load__then_no_key_is_left(self):
        """Freezes around the breaker's 100 ms: some acquires are answered late, some never."""
        self.serve(count=2)
        ids = [self.product(stock=10**6) for _ in range(6)]
        bodies = [{"userId": "u-1", "items": [{"productId": p, "quantity": 1}]} for p in ids]
        run = Driver(self.services, bodies, connections=32, seconds=60 * SLOW)
        run.until_answered(200)
        for _ in range(8):
            self.redis.freeze()
            run.until_answered(60, timeout_s=10)
            self.redis.thaw()
            run.until_answered(60, timeout_s=10)
        result = run.stop()
        self.assertEqual(set(result["status"]), {"201"}, result["codes"])
        self.until_ready()
        self.until_no_lock_keys(3)
        self.assert_orders_whole()
        self.assert_audit_clean()

    def test_refusal__when_redis_writes_nothing_for_anyone__then_few_trains_ask_it(self):
        """No memory, too few replicas: every script fails, and what failed must not pile up."""
        service = self.serve()
        product_id = self.product(stock=10**6)
        self.addCleanup(self.redis.call, "CONFIG", "SET", "min-replicas-to-write", 0)
        run = Driver(self.services, [{"userId": "u-1", "items": [{"productId": product_id, "quantity": 1}]}],
                     connections=16, seconds=60 * SLOW)
        run.until_answered(100)
        self.redis.call("CONFIG", "SET", "min-replicas-to-write", 1)
        eventually(lambda: self.metric("lockstock_fail_open_total") > 50, 10, "trains go on without the lock")
        self.redis.call("CONFIG", "SET", "min-replicas-to-write", 0)
        self.until_ready()
        run.until_answered(100)
        result = run.stop()
        self.assertEqual(set(result["status"]), {"201"}, result["codes"])
        refused = len(service.log("lock.acquire_failed"))
        self.assertLess(refused, self.metric("lockstock_fail_open_total") / 2)
        self.until_no_lock_keys(3)
        self.assert_audit_clean()

    def test_kill__when_under_load_again_and_again__then_orders_go_on(self):
        self.serve(count=2)
        product_id = self.product(stock=10**6)
        run = Driver(self.services, [{"userId": "u-1", "items": [{"productId": product_id, "quantity": 1}]}],
                     connections=32, seconds=60 * SLOW)
        for _ in range(3):
            run.until_answered(100)
            self.redis.kill()
            run.until_answered(100, timeout_s=10)
            self.redis.start()
        self.until_ready()
        run.until_answered(100)
        result = run.stop()
        self.assertEqual(set(result["status"]), {"201"}, result["codes"])
        self.assertLess(result["p99"], 2000 * SLOW)
        self.until_no_lock_keys(3)
        self.assert_audit_clean()


if __name__ == "__main__":
    main()
