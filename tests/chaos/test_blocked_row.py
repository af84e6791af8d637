"""A foreign session sits on one stock row: its buyers hear so in time, and nobody else notices."""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.load import Background, Driver, load
from support.wait import SLOW, eventually

OTHERS = 999
HELD_S = 10
DEADLINE_S = 5


class BlockedRow(Case):
    INSTANCES = 2

    def stock_many(self, count):
        """That many products, by ten buyers of shelf space."""
        ids = [next(self.products) for _ in range(count)]
        clients = [self.client(n) for n in range(10)]

        def fill(worker):
            for product_id in ids[worker::10]:
                reply = clients[worker].put(f"/v1/products/{product_id}", {"name": "Lamp", "price": 1, "stock": 10**6})
                assert reply.status == 201, reply

        load(10, fill)
        return ids

    def buy(self, product_id, number):
        begun = time.monotonic()
        reply = self.order((product_id, 1), key=f"blocked-{number}", http=self.client(number))
        return reply, time.monotonic() - begun

    def test_row__when_held_for_ten_seconds__then_only_its_buyers_get_503_in_time(self):
        blocked, others = self.product(stock=100), self.stock_many(OTHERS)
        bodies = [{"userId": "u-1", "items": [{"productId": p, "quantity": 1}]} for p in others]
        run = Driver(self.services, bodies, connections=32, seconds=120)
        run.until_answered(1000)
        usual = self.rate(run, 3)
        session = self.db.session()
        self.addCleanup(session.close)
        with session.cursor() as cursor:
            cursor.execute("SELECT * FROM inventories WHERE product_id=%s FOR UPDATE", (blocked,))
        held = time.monotonic()
        buyers = Background(lambda: load(12, lambda n: self.buy(blocked, n)))
        meanwhile = self.rate(run, 5)
        answers = buyers.result()
        for reply, took in answers:
            self.assert_problem(reply, 503, "SYS-011")
            self.assertIn("retry-after", reply.headers)
            self.assertLess(took, (DEADLINE_S + 1.5) * SLOW, "later than its deadline")
        eventually(lambda: time.monotonic() - held >= HELD_S, HELD_S + 1)
        session.rollback()
        result = run.stop()
        self.assertEqual((self.stock(blocked), self.sold(blocked), len(self.movements(blocked))), (100, 0, 1))
        self.assertEqual(set(result["status"]), {"201"}, result["codes"])
        self.assertGreater(meanwhile, usual * 0.5, "the others went on at their usual pace")
        self.assertLess(result["max"], DEADLINE_S * 1000 * SLOW)
        again = [self.order((blocked, 1), key=f"blocked-{n}") for n in range(12)]
        self.assertEqual([a.status for a in again], [201] * 12)
        self.assertEqual(self.stock(blocked), 88)
        self.assert_audit_clean()

    def rate(self, run, seconds):
        """Answers per second over this long."""
        begun, before = time.monotonic(), run.answered()
        eventually(lambda: time.monotonic() - begun >= seconds, seconds + 1)
        return (run.answered() - before) / (time.monotonic() - begun)

    def test_row__when_freed_before_the_deadline__then_its_buyers_are_served(self):
        blocked = self.product(stock=100)
        session = self.db.session()
        self.addCleanup(session.close)
        with session.cursor() as cursor:
            cursor.execute("SELECT * FROM inventories WHERE product_id=%s FOR UPDATE", (blocked,))
        retries = self.metric("lockstock_transaction_retries_total", cause="lock-wait")
        buyers = Background(lambda: load(6, lambda n: self.order((blocked, 1), http=self.client(n))))
        eventually(lambda: self.metric("lockstock_transaction_retries_total", cause="lock-wait") > retries, 4,
                   "the wait was given up once")
        self.assertFalse(buyers.done())
        session.rollback()
        self.assertEqual([a.status for a in buyers.result()], [201] * 6)
        self.assert_audit_clean()

    def test_row__when_an_order_wants_it_and_another__then_all_or_nothing(self):
        blocked, free = self.product(stock=10), self.product(stock=10)
        session = self.db.session()
        self.addCleanup(session.close)
        with session.cursor() as cursor:
            cursor.execute("SELECT * FROM inventories WHERE product_id=%s FOR UPDATE", (blocked,))
        both = Background(lambda: self.order((free, 1), (blocked, 1), http=self.client(0)))
        eventually(lambda: self.metric("lockstock_transaction_retries_total", cause="lock-wait") > 0, 4, "it waits")
        self.assertEqual(self.order((free, 1)).status, 201, "waiting reserves nothing")
        self.assert_problem(both.result(), 503, "SYS-011")
        session.rollback()
        self.assertEqual((self.stock(free), self.stock(blocked)), (9, 10))

    def test_row__when_a_foreign_session_closes_a_cycle__then_the_train_runs_again(self):
        """1213: the heavier transaction is spared, so the foreign one writes something first."""
        low, high = self.product(stock=10), self.product(stock=10)
        before = self.metric("lockstock_deadlocks_total")
        session = self.db.session()
        self.addCleanup(session.close)
        with session.cursor() as cursor:
            cursor.execute("UPDATE products SET name='heavy' WHERE id NOT IN (%s, %s)", (low, high))
            cursor.execute("INSERT INTO outbox_events (event_id, aggregate_type, aggregate_id, event_type, payload,"
                           " created_at) VALUES " + ",".join(f"('foreign-{n}', 'X', '0', 'x', '{{}}', NOW(6))"
                                                             for n in range(50)))
            cursor.execute("SELECT * FROM inventories WHERE product_id=%s FOR UPDATE", (high,))
            buying = Background(lambda: self.order((low, 1), (high, 1), http=self.client()))
            eventually(self.row_waits, 3, "ours holds the low row and waits for the high one")
            cursor.execute("SELECT * FROM inventories WHERE product_id=%s FOR UPDATE", (low,))
        session.rollback()
        self.assertEqual(buying.result().status, 201)
        self.assertGreater(self.metric("lockstock_deadlocks_total"), before)
        self.assertEqual((self.stock(low), self.stock(high)), (9, 9))


class BlockedBesideHot(Case):
    def test_row__when_freed_and_its_buyers_want_a_hot_product_too__then_they_are_served(self):
        blocked, hot = self.product(stock=100), self.product(stock=10**6)
        run = Driver(self.services, [{"userId": "u-1", "items": [{"productId": hot, "quantity": 1}]}],
                     connections=32, seconds=60 * SLOW)
        run.until_answered(100)
        session = self.db.session()
        self.addCleanup(session.close)
        with session.cursor() as cursor:
            cursor.execute("SELECT * FROM inventories WHERE product_id=%s FOR UPDATE", (blocked,))
        waits = self.metric("lockstock_transaction_retries_total", cause="lock-wait")
        buying = Background(lambda: self.order((blocked, 1), (hot, 1), http=self.client()))
        eventually(lambda: self.metric("lockstock_transaction_retries_total", cause="lock-wait") > waits, 4, "it waits")
        session.rollback()
        freed = time.monotonic()
        self.assertEqual(buying.result().status, 201)
        self.assertLess(time.monotonic() - freed, 1.5 * SLOW)
        self.assertEqual(set(run.stop()["status"]), {"201"})


class OpenKey(Case):
    ENV = {"LOCKSTOCK_TRAIN_SLOTS": 1, "LOCKSTOCK_DB_WORKERS": 3}

    def test_key__when_a_foreign_session_holds_it_open__then_its_command_fails_alone(self):
        """A unique key met while writing cannot be skipped like a row: its command is sought out among its neighbours."""
        order, ahead_of = self.ordered((self.product(stock=10, price=7), 1)), self.product()
        others = [self.product(stock=10) for _ in range(40)]
        session, gate = self.db.session(), self.db.session()
        self.addCleanup(session.close)
        self.addCleanup(gate.close)
        with session.cursor() as cursor:
            cursor.execute("INSERT INTO payments (order_id, payment_key, amount, status, created_at)"
                           " VALUES (0, 'open', 7, 'APPROVED', NOW(6))")
        with gate.cursor() as cursor:
            cursor.execute("SELECT * FROM inventories WHERE product_id=%s FOR UPDATE", (ahead_of,))
        ahead = Background(lambda: self.order((ahead_of, 1), http=self.client()))
        eventually(self.row_waits, 3, "the slot is taken")
        pay = {"result": "COMPLETED", "paymentKey": "open", "amount": 7}
        paying = Background(lambda: self.client().post(f"/v1/orders/{order['id']}/payment", pay))
        buying = Background(lambda: load(40, lambda n: self.order((others[n], 1), http=self.client())))
        eventually(lambda: self.metric("lockstock_queue_depth") >= 41, 3, "all wait for one train")
        gate.rollback()
        self.assertEqual(ahead.result().status, 201)
        self.assertEqual({a.status for a in buying.result()}, {201})
        self.assert_problem(paying.result(), 503, "SYS-011")
        session.rollback()
        self.assertEqual(self.http.post(f"/v1/orders/{order['id']}/payment", pay).status, 200)
        self.assert_audit_clean()


if __name__ == "__main__":
    main()
