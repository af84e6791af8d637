"""Every queue, wait and body has its bound, and reaching one is answered quickly."""

import os
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.load import Background, load
from support.resp import JavaLock
from support.wait import SLOW, eventually


class Held(Case):
    """A foreign lock on a product keeps its buyers waiting for as long as a test likes."""

    def hold(self, product_id):
        lock = JavaLock(self.redis, f"inventory-lock:{product_id}")
        self.addCleanup(lock.close)
        self.assertTrue(lock.take(1))
        return lock

    def timed(self, product_id, **kw):
        begun = time.monotonic()
        reply = self.order((product_id, 1), **kw)
        return reply, time.monotonic() - begun


class Queue(Held):
    ENV = {"LOCKSTOCK_QUEUE_MAX": 5}

    def test_queue__when_full__then_503_at_once_and_those_within_are_served(self):
        product_id = self.product(stock=100)
        lock = self.hold(product_id)
        within = Background(lambda: load(5, lambda n: self.order((product_id, 1), http=self.client())))
        eventually(lambda: self.metric("lockstock_queue_depth") == 5, 2, "five wait")
        for _ in range(10):
            reply, took = self.timed(product_id)
            self.assert_problem(reply, 503, "SYS-011")
            self.assertGreaterEqual(int(reply.headers["retry-after"]), 1)
            self.assertLess(took, 0.25 * SLOW, "a refusal is quick")
        self.assertEqual(self.metric("lockstock_refused_total", reason="queue-full"), 10)
        lock.release()
        self.assertEqual([r.status for r in within.result()], [201] * 5)
        self.assertEqual(self.stock(product_id), 95)
        eventually(lambda: self.metric("lockstock_queue_depth") == 0, 2, "nobody waits")


class Deadline(Held):
    ENV = {"LOCKSTOCK_REQUEST_DEADLINE_MS": 600, "LOCKSTOCK_LOCK_WAIT_MS": 3000}

    def test_deadline__when_over__then_sys_011_and_nothing_left(self):
        product_id = self.product()
        lock = self.hold(product_id)
        with self.nothing_left():
            reply, took = self.timed(product_id)
            self.assert_problem(reply, 503, "SYS-011")
        self.assertTrue(0.55 <= took < 1.5 * SLOW, took)
        lock.release()
        self.assertEqual(self.order((product_id, 1)).status, 201)


class LockWait(Held):
    ENV = {"LOCKSTOCK_LOCK_WAIT_MS": 0}

    def test_wait__when_zero__then_prd_004_at_once(self):
        product_id = self.product()
        self.hold(product_id)
        reply, took = self.timed(product_id)
        self.assert_problem(reply, 409, "PRD-004", productId=product_id)
        self.assertLess(took, 1.0 * SLOW)


class Parked(Held):
    def test_client__when_it_hangs_up_while_waiting__then_noticed_and_nothing_is_bought(self):
        product_id = self.product(stock=10)
        lock = self.hold(product_id)
        gone = self.metric("lockstock_http_client_gone_total")
        impatient = socket.create_connection(("127.0.0.1", self.service.port), 5)
        body = b'{"userId":"u-1","items":[{"productId":%d,"quantity":1}]}' % product_id
        impatient.sendall(b"POST /v1/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                          b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        eventually(lambda: self.metric("lockstock_queue_depth") == 1, 2, "it waits")
        impatient.close()
        eventually(lambda: self.metric("lockstock_http_client_gone_total") == gone + 1, 2, "noticed")
        eventually(lambda: self.metric("lockstock_queue_depth") == 0, 2, "dropped")
        lock.release()
        self.assertEqual(self.order((product_id, 1)).status, 201)
        self.assertEqual((self.stock(product_id), self.sold(product_id)), (9, 1))

    def test_connections__when_many_are_idle__then_others_are_served(self):
        idle = [socket.create_connection(("127.0.0.1", self.service.port), 5) for _ in range(200)]
        try:
            self.assertEqual(self.http.get("/v1/orders").status, 200)
            eventually(lambda: self.metric("lockstock_http_connections") >= 200, 2, "they are counted")
        finally:
            for one in idle:
                one.close()


class Connections(Case):
    ENV = {"LOCKSTOCK_CONNECTIONS_MAX": 16}

    def test_connections__when_at_the_limit__then_more_wait_or_are_refused_and_it_recovers(self):
        held = [socket.create_connection(("127.0.0.1", self.service.port), 5) for _ in range(40)]
        for one in held:
            one.close()
        eventually(lambda: self.client().get("/healthz").status == 200, 5, "served again")


class Single(Case):
    """TRAIN_MAX=1 turns combining off, for comparison; the promises are the same."""

    INSTANCES = 2
    ENV = {"LOCKSTOCK_TRAIN_MAX": 1}

    def test_train_max__when_one__then_each_order_rides_alone(self):
        product_id = self.product(stock=60)
        before = self.metric("lockstock_trains_total", outcome="committed")
        answers = load(40, lambda n: self.order((product_id, 2), http=self.client(n)))
        self.assertEqual(sorted(a.status for a in answers), [201] * 30 + [409] * 10)
        self.assertGreaterEqual(self.metric("lockstock_trains_total", outcome="committed") - before, 30)
        self.assertEqual(self.metric("lockstock_version_conflicts_total"), 0)
        self.assert_audit_clean()


class Combined(Case):
    def test_train__when_buyers_queue__then_they_ride_together(self):
        product_id = self.product(stock=1000)
        before = [self.metric(f"lockstock_train{s}_total") for s in ("s", "_commands")]
        load(200, lambda n: self.order((product_id, 1), http=self.client()))
        trains, commands = (self.metric(f"lockstock_train{s}_total") - b for s, b in zip(("s", "_commands"), before))
        self.assertEqual(commands, 200)
        self.assertLess(trains, 150, "no train carried two")
        rows = self.db.rows("SELECT version, COUNT(*) n FROM stock_movements WHERE product_id=%s AND kind='ORDER'"
                            " GROUP BY version", product_id)
        self.assertEqual(sum(r["n"] for r in rows), 200)
        self.assertEqual(len(rows), trains, "the version moves once per product and train")


class Loops(Case):
    """Several loops in one process, each an instance of its own."""

    ENV = {"LOCKSTOCK_LOOPS": 2}

    def test_loops__when_two__then_the_promises_hold_and_the_stop_is_clean(self):
        product_id = self.product(stock=50)
        answers = load(100, lambda n: self.order((product_id, 1), http=self.client()))
        self.assertEqual(sorted(a.status for a in answers), [201] * 50 + [409] * 50)
        self.assertEqual(self.metric("lockstock_version_conflicts_total"), 0)
        self.assert_audit_clean()


if __name__ == "__main__":
    main()
