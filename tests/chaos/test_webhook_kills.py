"""Deliverers are killed at work: every event reaches its webhook, in order per order, and verifies."""

import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.receiver import Receiver, due_now, verify
from support.wait import eventually

ORDERS = 60
KILLS = 4
TYPES = ["order.created", "order.cancelled"]


class WebhookKills(Case):
    INSTANCES = 2
    ENV = {"LOCKSTOCK_SINKS": "webhook", "LOCKSTOCK_WEBHOOK_ALLOW_PRIVATE": "1", "LOCKSTOCK_WEBHOOK_TIMEOUT_MS": "1000"}

    def test_kills__when_events_are_delivered__then_all_arrive_in_order(self):
        chance = random.Random()
        receiver = Receiver(lambda delivery: 503 if chance.random() < 0.05 else 204)
        self.addCleanup(receiver.close)
        made = self.http.post("/v1/webhooks", {"url": receiver.url(), "eventTypes": TYPES}).json
        product, ids = self.product(stock=ORDERS), []
        for number in range(ORDERS):
            http = self.client(1)
            ids.append(self.ordered((product, 1), http=http)["id"])
            self.assertEqual(http.post(f"/v1/orders/{ids[-1]}/cancel", {"reason": "USER_REQUESTED"}).status, 200)
            http.close()
            if number % (ORDERS // KILLS) == 7:
                self.services[0].kill()
                self.services[0].start()
        eventually(lambda: self.all_there(receiver, ids), 60, "every event of every order")
        self.assertEqual(self.first_arrivals(receiver, ids), {i: TYPES for i in ids})
        for delivery in receiver.deliveries:
            verify(made["secret"], delivery.headers, delivery.body)
        eventually(self.all_delivered, 30, "all settled")

    def all_there(self, receiver, ids):
        due_now(self.db)
        return all(len(types) == len(TYPES) for types in self.first_arrivals(receiver, ids).values())

    def first_arrivals(self, receiver, ids):
        """order id → types in the order in which they were first accepted or refused."""
        seen, found = set(), {i: [] for i in ids}
        for delivery in list(receiver.deliveries):
            if delivery.id in seen:
                continue
            seen.add(delivery.id)
            found[int(delivery.json["aggregateId"])].append(delivery.json["eventType"])
        return found

    def all_delivered(self):
        due_now(self.db)
        return self.db.count("webhook_deliveries", "status = 'DELIVERED'") == 2 * ORDERS


if __name__ == "__main__":
    main()
