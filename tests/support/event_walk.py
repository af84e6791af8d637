"""The part of the contract walk that is about events of others and dead letters."""

import json
import uuid

from .resp import JavaLock

AT = "/v1/dead-letters"


class EventWalk:
    """For Walk: self.walk, self.pages, self.db, self.redis, self.product."""

    def event(self, order_id, event_type="payment.completed", **payload):
        return {"eventId": str(uuid.uuid4()), "eventType": event_type,
                "payload": {"orderId": order_id, "paymentKey": "k-event", "amount": 250, **payload}}

    def created(self, product_id):
        return self.event("ext-" + uuid.uuid4().hex, "order.created", items=[{"productId": product_id, "quantity": 1}])

    def letter(self, event):
        """A dead letter with this event; its path."""
        position = str(uuid.uuid4())
        self.db.run("INSERT INTO dead_letters (topic, consumer_group, position, error, payload, created_at)"
                    " VALUES ('t', 'lockstock', %s, 'ORD-001', %s, UTC_TIMESTAMP(3))", position, json.dumps(event))
        return f"{AT}/{self.db.value('SELECT id FROM dead_letters WHERE position=%s', position)}"

    def walk_events(self):
        good = self.created(1)
        self.assertFalse(self.walk(200, "POST", "/v1/events", good).json["duplicate"])
        self.assertTrue(self.walk(200, "POST", "/v1/events", good).json["duplicate"])
        self.assertFalse(self.walk(200, "POST", "/v1/events", {**good, "source": "lockstock"}).json["applied"])
        for code, event in self.lost_events():
            self.walk(404, "POST", "/v1/events", event, code)
            self.walk(404, "POST", self.letter(event) + "/replay", code=code)
        self.walk_letters(good)
        self.walk_busy_events()

    def lost_events(self):
        return (("PRD-001", self.created(987654321)), ("ORD-001", self.event(987654321)), ("RSV-001", self.event("ext-none")))

    def walk_letters(self, good):
        path = self.letter(good)
        self.pages(AT)
        self.walk(200, "GET", AT + "?status=OPEN")
        self.walk(400, "GET", AT + "?status=LOST", code="SYS-003")
        self.walk(200, "GET", path)
        self.assertEqual(self.walk(200, "POST", path + "/replay").json["status"], "REPLAYED")
        self.assertEqual(self.walk(200, "POST", path + "/discard").json["status"], "REPLAYED")
        self.assertEqual(self.walk(200, "POST", self.letter(good) + "/discard").json["status"], "DISCARDED")
        self.walk(404, "GET", AT + "/987654321", code="SYS-013")
        for act in ("/replay", "/discard"):
            self.walk(404, "POST", AT + "/987654321" + act, code="SYS-013")

    def walk_busy_events(self):
        product_id = self.product(stock=10)
        lock = JavaLock(self.redis, f"inventory-lock:{product_id}")
        self.addCleanup(lock.close)
        self.assertTrue(lock.take(1))
        self.walk(409, "POST", "/v1/events", self.created(product_id), "PRD-004")
        self.walk(409, "POST", self.letter(self.created(product_id)) + "/replay", code="PRD-004")
        lock.release()
