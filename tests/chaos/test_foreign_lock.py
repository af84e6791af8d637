"""A lock held elsewhere: who needs it waits, who boarded beside those that need it travels on."""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.load import Background, load
from support.resp import JavaLock
from support.wait import SLOW, eventually

HOLD_MS = 1500


class ForeignLock(Case):
    """Transactions stay open for HOLD_MS; a lock is waited for much shorter."""

    FAULTS = f"hold-before-commit={HOLD_MS}"
    ENV = {"LOCKSTOCK_LOCK_WAIT_MS": 300, "LOCKSTOCK_TRAIN_SLOTS": 1, "LOCKSTOCK_DB_WORKERS": 3}

    def hold(self, product_id):
        lock = JavaLock(self.redis, f"inventory-lock:{product_id}")
        self.addCleanup(lock.close)
        self.addCleanup(lock.release)
        self.assertTrue(lock.try_once())
        return lock

    def test_waiters__when_they_give_up_while_their_neighbours_travel__then_the_train_comes_home(self):
        """One train boards all; those on the held lock leave it and are gone before it is back."""
        first, free, held = self.product(), self.product(), [self.product() for _ in range(8)]
        for product_id in held:
            self.hold(product_id)
        ahead = Background(lambda: self.order((first, 1), http=self.client()))
        eventually(lambda: self.lock_keys().count(f"inventory-lock:{first}"), 3, "a train is on its way")
        buyers = [free] + held
        answers = Background(lambda: load(len(buyers), lambda n: self.order((buyers[n], 1), http=self.client())))
        self.assertEqual(ahead.result().status, 201)
        answers = answers.result()
        self.assertEqual(answers[0].status, 201)
        for reply in answers[1:]:
            self.assert_problem(reply, 409, "PRD-004")
        self.assertTrue(self.service.alive(), self.service.tail())
        self.assertEqual(self.order((free, 1)).status, 201)
        self.until_no_train_keys(held)

    def until_no_train_keys(self, held):
        keys = {f"inventory-lock:{p}" for p in held}
        eventually(lambda: set(self.lock_keys()) <= keys, 5, "the trains' own locks are let go")


class ForeignLockBeside(Case):
    def test_order__when_it_waits_for_a_lock_of_one_product__then_the_other_is_sold_meanwhile(self):
        held, free = self.product(), self.product()
        lock = JavaLock(self.redis, f"inventory-lock:{held}")
        self.addCleanup(lock.close)
        self.assertTrue(lock.try_once())
        both = Background(lambda: self.order((held, 1), (free, 1), http=self.client()))
        eventually(lambda: self.redis.call("PUBSUB", "CHANNELS", "redisson_lock__channel:*"), 3, "it waits")
        begun = time.monotonic()
        for _ in range(5):
            self.assertEqual(self.order((free, 1)).status, 201)
        self.assertLess(time.monotonic() - begun, 1 * SLOW, "only those wait that need the lock")
        self.assertFalse(both.done())
        lock.release()
        self.assertEqual(both.result().status, 201)
        self.assert_audit_clean()


if __name__ == "__main__":
    main()
