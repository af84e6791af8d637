"""The inbox as a Kafka consumer group, against librdkafka's mock cluster."""

import json
import os
import sys
import uuid

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.kafka import Feed, Mock
from support.wait import eventually, free_port, holds_for

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class KafkaInbox(Case):
    ENV = {"LOCKSTOCK_INBOX_TOPICS": "kafka:shop.orders,kafka:shop.payments"}
    INSTANCES = 2

    @classmethod
    def setUpClass(cls):
        cls.mock = Mock()
        cls.addClassCleanup(cls.mock.end)
        cls.feed = Feed(cls.mock.brokers)
        cls.addClassCleanup(cls.feed.end)
        cls.ENV = dict(cls.ENV, LOCKSTOCK_KAFKA_BROKERS=cls.mock.brokers)
        super().setUpClass()

    def put(self, event_type, order_id, topic="shop.orders", traceparent="", event_id=None, **payload):
        event = {"eventId": event_id or str(uuid.uuid4()), "eventType": event_type,
                 "payload": {"orderId": order_id, **payload}}
        self.feed.put(topic, str(order_id), json.dumps(event), traceparent)
        return event

    def created(self, order_id, product, **kw):
        return self.put("order.created", order_id, items=[{"productId": product, "quantity": 1}], **kw)

    def status(self, order_id):
        return self.db.value("SELECT status FROM stock_reservations WHERE order_id=%s", order_id)

    def until(self, order_id, status, timeout_s=30):
        eventually(lambda: self.status(order_id) == status, timeout_s, f"{order_id} {status}")

    def test_events__when_produced__then_applied_once_in_order_with_their_trace(self):
        product = self.product(stock=1000)
        ids = ["k-" + uuid.uuid4().hex[:10] for _ in range(30)]
        for n, order_id in enumerate(ids):
            event = self.created(order_id, product, traceparent=TRACE)
            if n % 3 == 0:
                self.feed.put("shop.orders", order_id, json.dumps(event))
            if n % 2 == 0:
                self.put("order.cancelled", order_id)
        for n, order_id in enumerate(ids):
            self.until(order_id, "RELEASED" if n % 2 == 0 else "RESERVED")
        eventually(lambda: self.metric("lockstock_inbox_events_total", outcome="duplicate") >= 10, 20, "duplicates seen")
        self.assertEqual(self.stock(product), 985)
        self.assertEqual(self.db.count("outbox_events", "event_type='stock.reservation.result' AND trace_id=%s", TRACE), 30)
        self.assert_audit_clean()

    def test_poison__when_unreadable__then_a_dead_letter_and_the_rest_goes_on(self):
        product, order_id = self.product(stock=5), "k-" + uuid.uuid4().hex[:10]
        self.feed.put("shop.orders", "x", "not json")
        self.created(order_id, product)
        self.until(order_id, "RESERVED")
        rows = eventually(lambda: self.http.get("/v1/dead-letters").json["items"], 10, "a letter")
        self.assertEqual([(r["topic"], r["payload"], r["status"]) for r in rows], [("shop.orders", "not json", "OPEN")])
        self.assertRegex(rows[0]["position"], r"^shop\.orders/\d+@\d+$")

    def test_restart__when_everything_was_committed__then_nothing_is_read_again(self):
        product, order_id = self.product(stock=5), "k-" + uuid.uuid4().hex[:10]
        self.created(order_id, product)
        self.until(order_id, "RESERVED")
        for one in self.services:
            self.assertEqual(one.stop(), 0)
        for one in self.services:
            one.start()
        self.http = self.client()
        again = "k-" + uuid.uuid4().hex[:10]
        self.created(again, product)
        self.until(again, "RESERVED", 60)
        self.assertEqual(self.metric("lockstock_inbox_events_total", outcome="duplicate"), 0)


class Away(Case):
    INSTANCES = 0

    def test_brokers__when_away__then_told_once_and_the_stop_is_not_held_up(self):
        one = self.instance("k", env={"LOCKSTOCK_INBOX_TOPICS": "kafka:shop.orders",
                                      "LOCKSTOCK_KAFKA_BROKERS": f"127.0.0.1:{free_port()}"}).start()
        eventually(lambda: one.log("inbox.read_failed"), 30, "told")
        holds_for(lambda: len(one.log("inbox.read_failed")) == 1, 3, "once")
        self.assertEqual((one.log("inbox.read_failed")[0]["source"], one.stop()), ("kafka", 0))


if __name__ == "__main__":
    main()
