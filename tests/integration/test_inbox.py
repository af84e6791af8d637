"""Events of others: POST /v1/events, Redis Streams as a consumer group, and what becomes of those that cannot have their
effect."""

import concurrent.futures
import json
import os
import sys
import uuid

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.resp import JavaLock
from support.wait import eventually, holds_for

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TOPICS = ("shop.orders", "shop.payments")


class InboxCase(Case):
    def event(self, event_type, payload, event_id=None, **more):
        return {"eventId": event_id or str(uuid.uuid4()), "eventType": event_type, "payload": payload, **more}

    def created(self, order_id, *lines, **kw):
        items = [{"productId": p, "quantity": q, "unitPrice": 1, "colour": "red"} for p, q in lines]
        return self.event("order.created", {"orderId": order_id, "items": items, "userId": "u"}, **kw)

    def paid(self, order_id, amount=250, key=None, **kw):
        return self.event("payment.completed", {"orderId": order_id, "amount": amount, "paymentKey": key or f"k-{order_id}",
                                                "method": "card"}, **kw)

    def send(self, event, **kw):
        return self.http.post("/v1/events", event, **kw)

    def reservation(self, order_id):
        return self.db.value("SELECT status FROM stock_reservations WHERE order_id=%s", order_id)

    def order_id(self):
        return "ext-" + uuid.uuid4().hex[:12]


class Http(InboxCase):

    def test_created__when_new__then_reserved_and_a_repeat_is_a_duplicate(self):
        product, order_id = self.product(stock=10), self.order_id()
        event = self.created(order_id, (product, 3), timestamp="2026-11-30T12:00:00Z", extra={"a": 1})
        first, again = self.send(event), self.send(event)
        self.assertEqual((first.status, first.json), (200, {"eventId": event["eventId"], "duplicate": False}))
        self.assertEqual((again.status, again.json), (200, {"eventId": event["eventId"], "duplicate": True}))
        self.assertEqual((self.reservation(order_id), self.stock(product)), ("RESERVED", 7))
        self.assertEqual(self.db.count("processed_events", "event_id=%s", event["eventId"]), 1)
        self.assertEqual(self.http.get(f"/v1/reservations/{order_id}").json["status"], "RESERVED")

    def test_saga__when_paid_or_cancelled__then_confirmed_or_released(self):
        product, kept, lost = self.product(stock=10), self.order_id(), self.order_id()
        for order_id in (kept, lost):
            self.assertEqual(self.send(self.created(order_id, (product, 2))).status, 200)
        self.assertFalse(self.send(self.paid(kept)).json["duplicate"])
        self.assertFalse(self.send(self.event("payment.failed", {"orderId": lost})).json["duplicate"])
        self.assertFalse(self.send(self.event("order.cancelled", {"orderId": lost})).json["duplicate"])
        self.assertEqual((self.reservation(kept), self.reservation(lost), self.stock(product)),
                         ("CONFIRMED", "RELEASED", 8))
        self.assert_audit_clean()

    def test_payment__when_of_our_order__then_paid_once(self):
        order = self.ordered((self.product(price=250), 1))
        event = self.paid(order["id"])
        self.assertEqual(self.send(event).json, {"eventId": event["eventId"], "duplicate": False})
        self.assertEqual(self.http.get(f"/v1/orders/{order['id']}").json["status"], "PAYMENT_COMPLETED")
        failed = self.ordered((self.product(price=250), 1))
        self.send(self.event("payment.failed", {"orderId": failed["id"], "amount": 250, "paymentKey": "k-f"}))
        self.assertEqual(self.http.get(f"/v1/orders/{failed['id']}").json["status"], "CANCELLED")

    def test_refused__when_the_state_forbids_it__then_200_not_applied_and_known(self):
        product, order_id = self.product(stock=1), self.order_id()
        event = self.created(order_id, (product, 2))
        self.assertEqual(self.send(event).json, {"eventId": event["eventId"], "duplicate": False, "applied": False,
                                                 "reason": "PRD-002"})
        self.assertTrue(self.send(event).json["duplicate"])
        self.assertEqual((self.reservation(order_id), self.stock(product)), ("FAILED", 1))
        order = self.ordered((product, 1))
        wrong = self.send(self.paid(order["id"], amount=1))
        self.assertEqual((wrong.status, wrong.json["applied"], wrong.json["reason"]), (200, False, "PAY-001"))

    def test_unknown__when_what_it_speaks_of_is_not_there__then_an_error_and_a_retry_finds_it(self):
        self.assert_problem(self.send(self.paid(987654321)), 404, "ORD-001")
        early = self.paid(self.order_id())
        self.assert_problem(self.send(early), 404, "RSV-001")
        product = self.product(stock=5)
        self.send(self.created(early["payload"]["orderId"], (product, 1)))
        self.assertEqual(self.send(early).json, {"eventId": early["eventId"], "duplicate": False})
        self.assert_problem(self.send(self.created(self.order_id(), (999999, 1))), 404, "PRD-001")

    def test_own__when_it_comes_back__then_no_effect(self):
        product, order_id = self.product(stock=5), self.order_id()
        event = self.created(order_id, (product, 1), source="lockstock")
        for one in (event, self.event("stock.changed", {}, source="lockstock")):
            self.assertEqual(self.send(one).json, {"eventId": one["eventId"], "duplicate": False, "applied": False,
                                                   "reason": "own-event"})
        self.assertEqual((self.reservation(order_id), self.stock(product)), (None, 5))

    def test_odd__then_400_and_nothing_left(self):
        good = self.created("x", (self.product(), 1))
        odd = [{}, [], {"eventId": "e"}, {**good, "eventType": "order.shipped"}, {**good, "eventId": "a b"},
               {**good, "eventId": "x" * 65}, {**good, "eventId": 7}, {**good, "schemaVersion": 2}, {**good, "payload": []},
               {**good, "payload": {"orderId": 7, "items": [{"productId": 1, "quantity": 1}]}},
               {**good, "payload": {"orderId": "x", "items": []}}, {**good, "payload": {"orderId": "x"}},
               {**good, "payload": {"orderId": "x", "items": [{"productId": 1, "quantity": 0}]}},
               self.paid(-1), self.paid(1.5), self.paid(1, amount="7"), self.paid(None), self.paid("x" * 65)]
        with self.nothing_left():
            for event in odd:
                problem = self.assert_problem(self.send(event), 400, "SYS-003")
                self.assertTrue(problem["errors"][0]["detail"], event)
            for body in (b"not json", b"", b'{"eventId":"a","eventId":"b"}', b"\xff", b"[" * 20 + b"]" * 20):
                self.assert_problem(self.send(body), 400, "SYS-003")
        self.assertEqual(self.db.count("processed_events", "event_id IN ('e', 'x')"), 0)

    def test_many__when_the_same_comes_at_once__then_once(self):
        product, order_id = self.product(stock=100), self.order_id()
        event = self.created(order_id, (product, 5))

        def post(_):
            client = self.services[0].http()
            try:
                return client.post("/v1/events", event).json["duplicate"]
            finally:
                client.close()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            duplicates = list(pool.map(post, range(32)))
        self.assertEqual((duplicates.count(False), self.stock(product)), (1, 95))

    def test_trace__when_sent__then_carried_into_what_follows(self):
        product, order_id = self.product(stock=5), self.order_id()
        self.send(self.created(order_id, (product, 1)), headers=[("traceparent", TRACE)])
        rows = self.db.rows("SELECT trace_id FROM outbox_events WHERE event_type='stock.reservation.result'"
                            " AND payload LIKE %s", f"%{order_id}%")
        self.assertEqual([row["trace_id"] for row in rows], [TRACE])


class NoProcessedEvents(InboxCase):
    FAULTS = "no-processed-events"

    def test_removed__then_a_repeat_is_handled_again(self):
        event = self.created(self.order_id(), (self.product(stock=10), 3))
        self.assertEqual([self.send(event).json["duplicate"] for _ in range(2)], [False, False])


class StreamCase(InboxCase):
    ENV = {"LOCKSTOCK_INBOX_TOPICS": ",".join("redis-stream:" + topic for topic in TOPICS),
           "LOCKSTOCK_LOCK_WAIT_MS": "200"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(cls.redis.call, "DEL", *TOPICS)

    def add(self, event, topic=TOPICS[0], **fields):
        body = event if isinstance(event, (str, bytes)) else json.dumps(event)
        pairs = [x for pair in fields.items() for x in pair]
        return self.redis.call("XADD", topic, "*", "event", body, *pairs)

    def pending(self):
        return sum(self.redis.call("XPENDING", topic, "lockstock")[0] for topic in TOPICS)

    def letters(self, **query):
        return self.http.get("/v1/dead-letters?" + "&".join(f"{k}={v}" for k, v in query.items())).json["items"]

    def until(self, order_id, status, timeout_s=15):
        eventually(lambda: self.reservation(order_id) == status, timeout_s, f"{order_id} {status}")


class Stream(StreamCase):

    def test_events__when_added__then_applied_in_order_once_and_acknowledged(self):
        product = self.product(stock=500)
        ids = [self.order_id() for _ in range(60)]
        for n, order_id in enumerate(ids):
            event = self.created(order_id, (product, 1))
            self.add(event)
            if n % 3 == 0:
                self.add(event)
            if n % 2 == 0:
                self.add(self.event("order.cancelled", {"orderId": order_id}))
        for n, order_id in enumerate(ids):
            self.until(order_id, "RELEASED" if n % 2 == 0 else "RESERVED")
        eventually(lambda: self.pending() == 0, 10, "acknowledged")
        self.assertEqual((self.stock(product), self.letters()), (470, []))
        self.assert_audit_clean()

    def test_trace_and_own__when_added__then_carried_and_without_effect(self):
        product, order_id, own = self.product(stock=5), self.order_id(), self.order_id()
        self.add(self.created(own, (product, 1), source="lockstock"))
        self.add(self.created(order_id, (product, 1)), traceparent=TRACE)
        self.until(order_id, "RESERVED")
        self.assertIsNone(self.reservation(own))
        rows = self.db.rows("SELECT trace_id FROM outbox_events WHERE event_type='stock.reservation.result'"
                            " AND payload LIKE %s", f"%{order_id}%")
        self.assertEqual([row["trace_id"] for row in rows], [TRACE])

    def test_http_and_stream__when_the_same_event__then_once(self):
        product, order_id = self.product(stock=5), self.order_id()
        event = self.created(order_id, (product, 1))
        self.add(event)
        self.until(order_id, "RESERVED")
        self.assertTrue(self.send(event).json["duplicate"])

    def test_poison__when_unreadable__then_a_dead_letter_at_once_and_the_rest_goes_on(self):
        product, order_id = self.product(stock=5), self.order_id()
        at = self.add("not json é")
        self.add(self.event("order.shipped", {"orderId": "x"}, event_id="e-shipped"))
        self.redis.call("XADD", TOPICS[1], "*", "other", "field")
        self.add(self.created(order_id, (product, 1)))
        self.until(order_id, "RESERVED", 5)
        rows = eventually(lambda: (found := self.letters(status="OPEN")) and len(found) == 3 and found, 5, "three letters")
        first = next(row for row in rows if row["position"] == f"{TOPICS[0]}@{at}")
        self.assertEqual((first["topic"], first["group"], first["eventId"], first["payloadBytes"]),
                         (TOPICS[0], "lockstock", None, 11))
        self.assertIn("not json", first["payload"])
        self.assertTrue(any(row["eventId"] == "e-shipped" and "eventType" in row["error"] for row in rows), rows)
        eventually(lambda: self.pending() == 0, 5, "acknowledged")
        self.assertEqual(self.metric("lockstock_dead_letters_open"), 3)
        self.discard_and_replay(rows)

    def discard_and_replay(self, rows):
        for row in rows:
            self.assert_problem(self.http.post(f"/v1/dead-letters/{row['id']}/replay"), 400, "SYS-003")
            reply = self.http.post(f"/v1/dead-letters/{row['id']}/discard")
            self.assertEqual((reply.status, reply.json["status"]), (200, "DISCARDED"), reply)
        self.assertEqual(self.letters(status="OPEN"), [])
        audit = self.db.rows("SELECT action, outcome, credential FROM dead_letter_audit ORDER BY id")
        self.assertEqual([tuple(row.values()) for row in audit], [("DISCARD", "discarded", "anonymous")] * 3)

    def test_busy__when_a_lock_is_held_elsewhere__then_no_attempt_counts(self):
        product, order_id = self.product(stock=5), self.order_id()
        lock = JavaLock(self.redis, f"inventory-lock:{product}")
        self.addCleanup(lock.close)
        self.assertTrue(lock.take(1))
        before = self.metric("lockstock_inbox_events_total", outcome="busy")
        self.add(self.created(order_id, (product, 1)))
        eventually(lambda: self.metric("lockstock_inbox_events_total", outcome="busy") >= before + 5, 20, "tried often")
        lock.release()
        self.until(order_id, "RESERVED", 8)
        self.assertEqual([row for row in self.letters() if order_id in row["payload"]], [])

    def test_redis__when_away_for_a_while__then_everything_is_read_afterwards(self):
        product, order_id = self.product(stock=5), self.order_id()
        self.addCleanup(self.stack.heal)
        self.redis.freeze()
        holds_for(lambda: True, 3)
        self.redis.thaw()
        self.add(self.created(order_id, (product, 1)))
        self.until(order_id, "RESERVED", 30)


class Credential(StreamCase):
    ENV = {**StreamCase.ENV, "LOCKSTOCK_INBOX_CREDENTIAL": "shop"}

    def test_reservation__when_its_event_came_by_a_stream__then_of_the_credential_that_is_set(self):
        order_id = self.order_id()
        self.add(self.created(order_id, (self.product(stock=5), 1)))
        self.until(order_id, "RESERVED")
        self.assertEqual(self.db.value("SELECT credential FROM stock_reservations WHERE order_id=%s", order_id), b"shop")
        self.assertEqual(self.http.get(f"/v1/reservations/{order_id}").status, 404, "not the caller's")


class Retries(StreamCase):

    def test_unknown_order__then_tried_four_times_and_a_dead_letter_that_can_be_replayed(self):
        order_id, product = self.order_id(), self.product(stock=5)
        event = self.paid(order_id)
        before = self.metric("lockstock_inbox_events_total", outcome="not-now")
        self.add(event, topic=TOPICS[1], traceparent=TRACE)
        rows = eventually(lambda: self.letters(), 60, "given up")
        self.assertEqual(self.metric("lockstock_inbox_events_total", outcome="not-now") - before, 4)
        (row,) = rows
        self.assertEqual((row["eventId"], row["error"], row["status"], row["topic"]),
                         (event["eventId"], "RSV-001", "OPEN", TOPICS[1]))
        self.assertEqual(json.loads(row["payload"]), event)
        path = f"/v1/dead-letters/{row['id']}"
        self.assertEqual(self.http.get(path).json, row)
        self.assert_problem(self.http.post(path + "/replay"), 404, "RSV-001")
        self.assertEqual(self.http.get(path).json["status"], "OPEN")
        self.send(self.created(order_id, (product, 1)))
        done = self.http.post(path + "/replay")
        self.assertEqual((done.status, done.json["status"]), (200, "REPLAYED"), done)
        self.assertEqual(self.reservation(order_id), "CONFIRMED")
        self.assertEqual(self.http.post(path + "/replay").json["status"], "REPLAYED")
        outcomes = [r["outcome"] for r in self.db.rows("SELECT outcome FROM dead_letter_audit ORDER BY id")]
        self.assertEqual(outcomes, ["RSV-001", "applied", "duplicate"])
        self.assertTrue(self.send(event).json["duplicate"])

    def test_unknown__then_404(self):
        for method, path in (("GET", ""), ("POST", "/replay"), ("POST", "/discard")):
            self.assert_problem(self.http.request(method, "/v1/dead-letters/999999" + path), 404, "SYS-013")
        self.assert_problem(self.http.get("/v1/dead-letters?status=LOST"), 400, "SYS-003")
        self.assert_problem(self.http.post("/v1/dead-letters/1/discard", {"x": 1}), 400, "SYS-003")


class Settings(InboxCase):
    INSTANCES = 0

    def test_settings__when_odd__then_a_sentence_and_status_2(self):
        from support import service  # pylint: disable=import-outside-toplevel
        for name, value in (("LOCKSTOCK_INBOX_TOPICS", "orders"), ("LOCKSTOCK_INBOX_TOPICS", "kafka:"),
                            ("LOCKSTOCK_INBOX_GROUP", "a b"), ("LOCKSTOCK_SINKS", "pigeon")):
            done = service.run(["serve"], {"LOCKSTOCK_MYSQL_URL": self.db.url(), name: value})
            self.assertEqual(done.returncode, 2, (name, value))
            self.assertIn(name, done.stderr)


if __name__ == "__main__":
    main()
