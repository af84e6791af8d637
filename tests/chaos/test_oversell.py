"""500 buyers, mixed quantities, stock 50, two instances; Redis well, killed, frozen, or never there: never oversold."""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.load import load
from support.wait import RANDOM, SLOW

BUYERS, STOCK = 500, 50
ACT_AFTER = 15       # answers, then Redis is hurt: most buyers are still to come
P99_MS_MAX = 3000    # the deadline is 5000: waiting for it would show


class Rush(Case):
    INSTANCES = 2

    def rush(self, product_id, act=None):
        """All buyers at one moment; act() once some were answered. [(quantity, reply, milliseconds)] by buyer."""
        quantities = [RANDOM.choice((1, 1, 2, 3)) for _ in range(BUYERS)]
        answered, guard, acted = [0], threading.Lock(), threading.Event()

        def buy(number):
            http = self.client(number)
            begun = time.monotonic()
            reply = self.order((product_id, quantities[number]), user=f"u-{number}", http=http)
            took = (time.monotonic() - begun) * 1000
            with guard:
                answered[0] += 1
                mine = act and answered[0] == ACT_AFTER
            if mine:
                act()
                acted.set()
            return quantities[number], reply, took

        answers = load(BUYERS, buy)
        self.assertEqual(acted.is_set(), act is not None)
        return answers

    def judge(self, product_id, answers):
        bought = [(q, r) for q, r, _ in answers if r.status == 201]
        refused = [(q, r) for q, r, _ in answers if r.status != 201]
        self.assertEqual({(r.status, r.code) for _, r in refused}, {(409, "PRD-002")},
                         [r for _, r in refused if r.code != "PRD-002"][:3])
        self.assertEqual(self.stock(product_id), STOCK - sum(q for q, _ in bought))
        self.assertGreaterEqual(self.stock(product_id), 0)
        if any(q == 1 for q, _ in refused):
            self.assertEqual(self.stock(product_id), 0, "one was refused while there was stock")
        for quantity, reply in refused:
            self.assertLess(reply.json["available"], quantity)
        mine = self.db.rows("SELECT order_id, SUM(quantity) q FROM order_items WHERE product_id=%s GROUP BY order_id",
                            product_id)
        self.assertEqual(sorted((r["order_id"], int(r["q"])) for r in mine),
                         sorted((r.json["id"], q) for q, r in bought), "every 201 is in the database exactly once")
        for _, reply in bought:
            self.assertEqual(self.http.get(reply.headers["location"]).json, reply.json)
        self.assert_orders_whole()
        self.assert_audit_clean()
        took = sorted(ms for _, _, ms in answers)
        self.assertLess(took[int(len(took) * 0.99)], P99_MS_MAX * SLOW, "p99 climbed towards the timeouts")


class Oversell(Rush):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.stack.heal)
        self.until_ready()

    def test_rush__when_redis_is_well__then_sold_out_and_never_more(self):
        product_id = self.product(stock=STOCK)
        self.judge(product_id, self.rush(product_id))
        self.assertEqual(self.metric("lockstock_version_conflicts_total"), 0)
        self.until_no_lock_keys()

    def test_rush__when_redis_is_killed_in_mid_run__then_the_same(self):
        product_id = self.product(stock=STOCK)
        before = self.metric("lockstock_redis_breaker_trips_total")
        self.judge(product_id, self.rush(product_id, self.redis.kill))
        self.until_ready("redis")
        self.assertGreater(self.metric("lockstock_redis_breaker_trips_total"), before)
        self.redis.start()
        self.until_ready()
        self.assertEqual(self.lock_keys(), [])

    def test_rush__when_redis_freezes_in_mid_run__then_the_same_and_no_key_is_left_after(self):
        product_id = self.product(stock=STOCK)
        self.judge(product_id, self.rush(product_id, self.redis.freeze))
        self.until_ready("redis")
        self.redis.thaw()
        self.until_ready()
        self.until_no_lock_keys()

    def test_rush__when_the_seeds_sale__then_fifty_buyers_get_half_of_a_hundred(self):
        """The seed's facade test, on the order path: every buyer served, no version conflict."""
        product_id = self.product(stock=100)
        before = self.metric("lockstock_version_conflicts_total")
        answers = load(50, lambda n: self.order((product_id, 1), http=self.client(n)))
        self.assertEqual([a.status for a in answers], [201] * 50)
        self.assertEqual((self.stock(product_id), self.sold(product_id)), (50, 50))
        self.assertEqual(self.metric("lockstock_version_conflicts_total"), before)
        self.assert_audit_clean()


class WithoutRedis(Rush):
    """Redis was never there."""

    ENV = {"LOCKSTOCK_REDIS_URL": "redis://127.0.0.1:1"}

    def test_rush__when_there_is_no_redis__then_sold_out_and_never_more(self):
        product_id = self.product(stock=STOCK)
        self.judge(product_id, self.rush(product_id))
        self.assertGreater(self.metric("lockstock_fail_open_total"), 0)


if __name__ == "__main__":
    main()
