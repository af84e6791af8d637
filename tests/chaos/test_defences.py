"""Each defence alone holds, and each test here fails when its mechanism is taken out (lockstock-faults)."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.load import Background, Driver, load
from support.wait import RANDOM, SLOW, eventually

STOCK, BUYERS = 60, 120
ALL_OUT = "no-redis-lock,no-row-lock,no-version-check"


class Pair(Case):
    """Two instances with the same mechanisms taken out sell one product."""

    INSTANCES = 0

    def pair(self, faults):
        """Two fresh instances; what they count starts at 0."""
        pair = [self.instance(name, faults=faults) for name in "ab"]
        for one in pair:
            one.start()
            self.addCleanup(one.stop)
        self.services[:] = pair
        self.http = self.client()
        return pair

    def sell(self, faults, rounds=1):
        """Units sold beyond the stock, over all rounds; answers of the last round."""
        self.pair(faults)
        beyond, answers = 0, []
        for _ in range(rounds):
            product_id = self.product(stock=STOCK)
            quantities = [RANDOM.choice((1, 1, 2)) for _ in range(BUYERS)]
            answers = load(BUYERS, lambda n: self.order((product_id, quantities[n]), http=self.client(n)))
            self.assertTrue({a.status for a in answers} <= {201, 409}, {a.status for a in answers})
            sold = sum(q for q, a in zip(quantities, answers) if a.status == 201)
            self.assertEqual(sold, self.sold(product_id), "the answers and the database agree")
            beyond += max(0, sold - STOCK)
        return beyond, answers

    def conflicts(self):
        return self.metric("lockstock_version_conflicts_total")


class Defences(Pair):
    def test_defence__when_no_redis_lock__then_not_oversold(self):
        beyond, answers = self.sell("no-redis-lock")
        self.assertEqual(beyond, 0)
        self.assertEqual({a.code for a in answers if a.status == 409}, {"PRD-002"})
        self.assert_audit_clean()

    def test_defence__when_no_row_lock__then_not_oversold(self):
        beyond, answers = self.sell("no-row-lock")
        self.assertEqual((beyond, self.conflicts()), (0, 0))
        self.assertEqual({a.code for a in answers if a.status == 409}, {"PRD-002"})
        self.assert_audit_clean()

    def test_defence__when_only_the_version_check__then_not_oversold_and_conflicts_counted(self):
        beyond, answers = self.sell("no-redis-lock,no-row-lock,hold-before-commit=10", rounds=2)
        self.assertEqual(beyond, 0)
        self.assertGreaterEqual(self.conflicts(), 1)
        self.assertTrue({a.code for a in answers if a.status == 409} <= {"PRD-002", "PRD-004"})
        self.assert_audit_clean()



class NoDefence(Pair):
    """The proof that the tests above can fail, in a database of its own."""

    def test_defence__when_none__then_it_oversells(self):
        beyond, _ = self.sell(ALL_OUT + ",hold-before-commit=20", rounds=3)
        self.assertGreater(beyond, 0)
        self.assertNotEqual(self.audit()["violations"], [])


class Order(Case):
    """Commit before unlock, for each train, from the trains' own clocks."""

    INSTANCES = 0

    def trains(self, faults):
        service = self.instance(f"order-{len(self.services)}", faults=faults, env={"LOCKSTOCK_LOG_LEVEL": "debug"})
        service.start()
        self.http = service.http()
        self.addCleanup(self.http.close)
        product_id = self.product(stock=10**6)
        bodies = [{"userId": "u-1", "items": [{"productId": product_id, "quantity": 1}]}]
        result = Driver([service], bodies, connections=8, seconds=1.5 * SLOW).result()
        self.assertEqual(set(result["status"]), {"201"}, result["codes"])
        eventually(lambda: len(service.log("train.done")) >= service.metric("lockstock_trains_total"), 5,
                   "a line for each train")
        counted = service.metric("lockstock_unlock_before_commit_total")
        self.assertEqual(service.stop(), 0)
        trains = [t for t in service.log("train.done") if t.get("lockedUs")]
        self.assertGreater(len(trains), 20)
        return trains, counted

    def test_order__when_all_is_in_place__then_each_train_commits_before_it_unlocks(self):
        trains, counted = self.trains("")
        for train in trains:
            self.assertLess(train["lockedUs"], train["committedUs"], train)
            self.assertLess(train["committedUs"], train["unlockedUs"], train)
        self.assertEqual(counted, 0)

    def test_order__when_swapped__then_the_proof_notices(self):
        trains, counted = self.trains("unlock-before-commit")
        self.assertGreater(sum(t["unlockedUs"] < t["committedUs"] for t in trains), 0)
        self.assertGreater(counted, 0)


class Lease(Case):
    """The lease really ends under an open transaction, and another instance is at the door."""

    INSTANCES = 0

    def test_lease__when_it_ends_under_an_open_transaction__then_not_oversold_and_the_loss_counted(self):
        slow = self.instance("slow", faults="no-renewal,hold-before-commit=3000").start()
        self.http = slow.http()
        self.addCleanup(self.http.close)
        product_id = self.product(stock=10)
        other = self.instance("other").start()
        before = slow.metric("lockstock_trains_total")
        first = Background(lambda: self.order((product_id, 6), http=self.client(0)))
        key = f"inventory-lock:{product_id}"
        owner = eventually(lambda: self.redis.call("HKEYS", key), 5, "the slow instance holds the lock")
        second = Background(lambda: load(10, lambda n: self.order((product_id, 1), http=self.client(1))))
        eventually(lambda: self.redis.call("HKEYS", key) != owner, 5, "the lease ends")
        self.assertFalse(first.done(), "the transaction outlived the lease")
        answers = second.result()
        self.assertEqual(first.result().status, 201)
        self.assertTrue({(a.status, a.code) for a in answers} <= {(201, None), (409, "PRD-002"), (409, "PRD-004"),
                                                                  (503, "SYS-011")}, answers)
        bought = sum(a.status == 201 for a in answers)
        self.assertLessEqual(bought, 4)
        self.assertEqual((self.stock(product_id), self.sold(product_id)), (4 - bought, 6 + bought))
        self.assertGreater(slow.metric("lockstock_stock_lock_lost_total"), 0)
        self.assertGreater(slow.metric("lockstock_trains_total"), before)
        self.assert_audit_clean()

    def test_lease__when_renewed__then_it_outlives_a_long_transaction(self):
        slow = self.instance("renewing", faults="hold-before-commit=3000").start()
        self.http = slow.http()
        self.addCleanup(self.http.close)
        product_id = self.product(stock=10)
        first = Background(lambda: self.order((product_id, 6), http=self.http))
        eventually(lambda: self.lock_keys(), 5, "the lock is held")
        while not first.done():
            held = self.lock_keys()
            self.assertTrue(held or first.done() or eventually(first.done, 2), "the lease ended too early")
        self.assertEqual(first.result().status, 201)
        self.assertEqual(slow.metric("lockstock_stock_lock_lost_total"), 0)


if __name__ == "__main__":
    main()
