"""The inbox on a real Kafka: consumers killed at work, partitions that change hands, a broker that goes and comes back."""

import json
import os
import sys
import uuid

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from broker import Broker  # pylint: disable=wrong-import-position
from support.case import Case, main  # pylint: disable=wrong-import-position
from support.kafka import Feed  # pylint: disable=wrong-import-position
from support.wait import eventually  # pylint: disable=wrong-import-position

ORDERS = 200
KILLS = 4


class KafkaInbox(Case):
    INSTANCES = 2

    @classmethod
    def migrate(cls):
        """The broker first: the instances are started next."""
        super().migrate()
        cls.broker = Broker(cls.stack.folder).start()
        cls.addClassCleanup(cls.broker.kill)
        cls.ENV = {"LOCKSTOCK_INBOX_TOPICS": "kafka:shop.events", "LOCKSTOCK_KAFKA_BROKERS": cls.broker.brokers}
        cls.feed = Feed(cls.broker.brokers)
        cls.addClassCleanup(cls.feed.end)

    def put(self, event_type, order_id, event_id=None, **payload):
        event = {"eventId": event_id or str(uuid.uuid4()), "eventType": event_type,
                 "payload": {"orderId": order_id, **payload}}
        self.feed.put("shop.events", order_id, json.dumps(event))
        return event

    def buy(self, order_id, product, then, twice):
        event = self.put("order.created", order_id, items=[{"productId": product, "quantity": 1}])
        if twice:
            self.feed.put("shop.events", order_id, json.dumps(event))
        if then == "CONFIRMED":
            self.put("payment.completed", order_id)
        if then == "RELEASED":
            self.put("order.cancelled", order_id)

    def statuses(self):
        return {r["order_id"]: r["status"] for r in self.db.rows("SELECT order_id, status FROM stock_reservations")}

    def test_consumers__when_killed_at_work__then_each_event_once_and_in_the_order_of_its_key(self):
        """In order: a release before its reserve would leave CANCEL_REQUESTED, a confirmation before it a retry."""
        product = self.product(stock=ORDERS)
        wanted = {f"k-{n}": ("RESERVED", "CONFIRMED", "RELEASED")[n % 3] for n in range(ORDERS)}
        for number, (order_id, state) in enumerate(wanted.items()):
            self.buy(order_id, product, state, number % 5 == 0)
            if number % (ORDERS // KILLS) == 20:
                victim = self.services[number // (ORDERS // KILLS) % 2]
                victim.kill()
                victim.start()
        eventually(lambda: self.statuses() == wanted, 90, "every event had its effect")
        self.http = self.client()
        self.assertEqual(self.stock(product), sum(state == "RELEASED" for state in wanted.values()))
        self.assertEqual(self.http.get("/v1/dead-letters").json["items"], [])
        self.assert_audit_clean()
        self.outage(product)

    def outage(self, product):
        self.broker.stop()
        eventually(lambda: any(one.log("inbox.read_failed") for one in self.services), 30, "noticed")
        self.broker.start()
        self.buy("after", product, "CONFIRMED", True)
        eventually(lambda: self.statuses().get("after") == "CONFIRMED", 60, "read after the outage")


if __name__ == "__main__":
    main()
