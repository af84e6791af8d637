"""Consumers are killed while they consume: each event has its effect once, none is lost, stock is exact.

The removal: acknowledged before the effect, an event is lost with the process."""

import json
import os
import random
import sys
import uuid

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.wait import eventually

TOPIC = "chaos.orders"
ENV = {"LOCKSTOCK_INBOX_TOPICS": "redis-stream:" + TOPIC}
KILLS = 4


class InboxKills(Case):
    ENV = ENV
    INSTANCES = 2

    def add(self, event_type, order_id, event_id=None, **payload):
        event = {"eventId": event_id or str(uuid.uuid4()), "eventType": event_type,
                 "payload": {"orderId": order_id, **payload}}
        self.redis.call("XADD", TOPIC, "*", "event", json.dumps(event))
        return event

    def created(self, order_id, product, quantity):
        return self.add("order.created", order_id, items=[{"productId": product, "quantity": quantity}])

    def statuses(self, ids):
        """A stream gives two events of an order to two consumers: the release can come first and leaves a tombstone."""
        rows = self.db.rows("SELECT order_id, status FROM stock_reservations")
        found = {row["order_id"]: row["status"].replace("CANCEL_REQUESTED", "RELEASED") for row in rows}
        return [found.get(one) for one in ids]

    def test_kills__when_events_stream_in__then_each_once_and_none_lost(self):
        products = [self.product(stock=1000) for _ in range(3)]
        wanted, kept = {}, dict.fromkeys(products, 0)
        chance = random.Random()
        for n in range(300):
            order_id, product, quantity = f"c-{n}-{uuid.uuid4().hex[:8]}", chance.choice(products), chance.randint(1, 3)
            event = self.created(order_id, product, quantity)
            if n % 4 == 0:
                self.redis.call("XADD", TOPIC, "*", "event", json.dumps(event))
            wanted[order_id] = chance.choice(["RESERVED", "CONFIRMED", "RELEASED"])
            if wanted[order_id] == "CONFIRMED":
                self.add("payment.completed", order_id)
            if wanted[order_id] == "RELEASED":
                self.add("order.cancelled", order_id)
            else:
                kept[product] += quantity
            if n % (300 // KILLS) == 20:
                self.kill_one(chance)
        ids = list(wanted)
        self.http = self.client()
        eventually(lambda: self.statuses(ids) == list(wanted.values()), 90, "every event had its effect")
        self.assertEqual(self.http.get("/v1/dead-letters").json["items"], [])
        eventually(lambda: self.redis.call("XPENDING", TOPIC, "lockstock")[0] == 0, 60, "all acknowledged")
        for product in products:
            self.assertEqual(self.stock(product), 1000 - kept[product])
        self.assert_audit_clean()
        repeated = self.db.rows("SELECT aggregate_id, COUNT(*) n FROM outbox_events WHERE event_type='stock.reservation.result'"
                                " GROUP BY aggregate_id, aggregate_version HAVING n > 1")
        self.assertEqual(repeated, [], "told twice")

    def kill_one(self, chance):
        one = chance.choice(self.services)
        one.kill()
        one.start()


class HeldBeforeCommit(Case):
    """Killed between the read and the commit: the event comes again and has its effect."""
    ENV = ENV
    FAULTS = "hold-before-commit=1500"

    def test_kill__when_the_effect_is_on_its_way__then_the_event_comes_again(self):
        self.redis.call("DEL", TOPIC)
        product, order_id, one = self.product(stock=5), "h-" + uuid.uuid4().hex[:8], self.service
        one.stop()
        event = {"eventId": str(uuid.uuid4()), "eventType": "order.created",
                 "payload": {"orderId": order_id, "items": [{"productId": product, "quantity": 1}]}}
        self.redis.call("XADD", TOPIC, "*", "event", json.dumps(event))
        one.start()
        eventually(self.is_on_its_way, 20, "the transaction is held")
        one.kill()
        self.assertEqual(self.db.count("stock_reservations", "order_id=%s", order_id), 0)
        one.start()
        self.judge(order_id, product)

    def is_on_its_way(self):
        return self.db.count("information_schema.innodb_trx", "trx_rows_modified > 0") > 0

    def judge(self, order_id, product):
        eventually(lambda: self.db.value("SELECT status FROM stock_reservations WHERE order_id=%s", order_id) == "RESERVED",
                   30, "applied")
        self.assertEqual(self.stock(product), 4)


class AckFirst(HeldBeforeCommit):
    FAULTS = "hold-before-commit=1500,ack-first"

    def judge(self, order_id, product):
        """Removed: nothing is pending, and the event is lost."""
        self.assertEqual(self.redis.call("XPENDING", TOPIC, "lockstock")[0], 0)
        other = f"after-{order_id}"
        event = {"eventId": str(uuid.uuid4()), "eventType": "order.created",
                 "payload": {"orderId": other, "items": [{"productId": product, "quantity": 1}]}}
        self.redis.call("XADD", TOPIC, "*", "event", json.dumps(event))
        eventually(lambda: self.db.count("stock_reservations", "order_id=%s", other) == 1, 30, "a later one is applied")
        self.assertEqual(self.db.count("stock_reservations", "order_id=%s", order_id), 0)


if __name__ == "__main__":
    main()
