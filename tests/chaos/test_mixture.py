"""Everything at once from one seed: orders, cancels, payments, reservations, times that end, adjustments, sets, twins and a
foreign writer on two instances while Redis comes and goes; then the books must balance."""

import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.load import load
from support.schedules import period
from support.wait import RANDOM, SLOW

ACTORS, PRODUCTS, STOCK = 24, 5, 60
SECONDS = 6
# What an action may be answered while nothing is broken but Redis.
FINE = {(200, None), (201, None), (409, "PRD-002"), (409, "PRD-004"), (409, "ORD-002"), (409, "ORD-003"),
        (412, "PRD-005"), (409, "IDM-003"), (409, "RSV-002"), (404, "RSV-001")}
TIMES = {"LOCKSTOCK_RESERVATION_TTL": "PT1.5S", "LOCKSTOCK_RESERVATION_GRACE": "PT0S", "LOCKSTOCK_PAYMENT_TIMEOUT": "PT1S",
         **{name: text for job in ("orderTimeoutCancelJob", "orderReservationExpiryJob", "stockReservationSweepJob")
            for name, text in period(job, "PT0.3S").items()}}


class Actor:
    """One client with a memory of its orders and its own chance."""

    def __init__(self, case, number):
        self.case, self.random = case, random.Random(RANDOM.randrange(2**31) + number)
        self.http, self.orders, self.number = case.client(number), [], number
        self.acknowledged, self.odd, self.sequence = {}, [], 0

    def act(self):
        action = self.random.choice((self.buy, self.buy, self.buy, self.twin, self.cancel, self.pay, self.adjust,
                                     self.set, self.ask_for_payment, self.reserve, self.settle))
        reply = action()
        if reply is not None and (reply.status, reply.code) not in FINE:
            self.odd.append((action.__name__, reply))

    def lines(self):
        return [(p, self.random.randint(1, 3)) for p in self.random.sample(self.case.ids, self.random.randint(1, 3))]

    def buy(self, key=None):
        reply = self.case.order(*self.lines(), user=f"actor-{self.number}", key=key, http=self.http)
        self.keep(reply)
        return reply

    def keep(self, reply):
        if reply.status == 201:
            self.acknowledged[reply.json["id"]] = reply.json
            self.orders.append(reply.json)

    def twin(self):
        """The same command twice under one key, the second through the other instance."""
        self.sequence += 1
        key, lines = f"twin-{self.number}-{self.sequence}", self.lines()
        first = self.case.order(*lines, key=key, http=self.http)
        self.keep(first)
        other = self.case.client(self.number + 1)
        again = self.case.order(*lines, key=key, http=other)
        other.close()
        if first.code not in ("PRD-004", "IDM-003") and (first.status, first.body) != (again.status, again.body):
            self.odd.append(("twin", (first, again)))
        return first

    def post(self, action, body=None):
        if not self.orders:
            return None
        order = self.random.choice(self.orders[-5:])
        return self.http.post(f"/v1/orders/{order['id']}/{action}", body(order) if body else None)

    def cancel(self):
        return self.post("cancel")

    def pay(self):
        result = self.random.choice(("COMPLETED", "FAILED"))
        key = self.random.choice("ab")
        return self.post("payment", lambda order: {"result": result, "amount": order["totalAmount"],
                                                   "paymentKey": f"{order['id']}-{key}"})

    def ask_for_payment(self):
        return self.post("payment-request")

    def reserve(self):
        self.sequence += 1
        items = [{"productId": p, "quantity": q} for p, q in self.lines()]
        return self.http.post("/v1/reservations", {"orderId": self.reserved(0), "items": items,
                                                   "ttlMs": self.random.choice((1000, 60000))})

    def reserved(self, back):
        return f"{self.number}-{self.sequence - back}"

    def settle(self):
        """One of the last, or the next one, which is then released before it was reserved."""
        back, action = self.random.choice((0, 1, 2, -1)), self.random.choice(("confirm", "release"))
        return self.http.post(f"/v1/reservations/{self.reserved(back)}/{action}")

    def adjust(self):
        delta = self.random.choice((-2, 1, 2, 3, 5))
        return self.http.post(f"/v1/inventory/{self.random.choice(self.case.ids)}/adjustments",
                              {"delta": delta, "reason": "mixture"})

    def set(self):
        path = f"/v1/inventory/{self.random.choice(self.case.ids)}"
        seen = self.http.get(path)
        return self.http.put(path, {"stock": self.random.randint(0, 20)}, headers={"If-Match": seen.headers["etag"]})


class Mixture(Case):
    INSTANCES = 2
    ENV = TIMES

    def test_books__when_everything_happens_at_once__then_they_balance(self):
        self.addCleanup(self.stack.heal)
        self.ids = [self.product(stock=STOCK) for _ in range(PRODUCTS)]
        over = threading.Event()
        actors = [Actor(self, n) for n in range(ACTORS)]

        def play(number):
            while not over.is_set():
                actors[number].act()

        helpers = [threading.Thread(target=self.foreign_writer, args=(over,)),
                   threading.Thread(target=lambda: load(ACTORS, play))]
        for helper in helpers:
            helper.start()
        self.weather()
        over.set()
        for helper in helpers:
            helper.join(30 * SLOW)
            self.assertFalse(helper.is_alive())
        self.until_ready()
        self.assertEqual([o for a in actors for o in a.odd], [])
        self.judge(actors)

    def weather(self):
        """On the main thread, because a server dies with the thread that started it."""
        end = time.monotonic() + SECONDS * SLOW
        while time.monotonic() < end:
            RANDOM.choice((self.kill_redis, self.freeze_redis))()

    def passes(self, seconds):
        threading.Event().wait(seconds)

    def kill_redis(self):
        self.passes(RANDOM.uniform(0.2, 0.8))
        self.redis.kill()
        self.passes(RANDOM.uniform(0, 0.4))
        self.redis.start()

    def freeze_redis(self):
        self.passes(RANDOM.uniform(0.2, 0.8))
        self.redis.freeze()
        self.passes(RANDOM.uniform(0, 0.4))
        self.redis.thaw()

    def foreign_writer(self, over):
        """Honours the version and knows nothing else of ours."""
        chance = random.Random(RANDOM.randrange(2**31))
        while not over.wait(0.02):
            product_id, delta = chance.choice(self.ids), chance.choice((-1, 1, 2))
            row = self.db.rows("SELECT stock, version FROM inventories WHERE product_id=%s", product_id)[0]
            if row["stock"] + delta >= 0:
                self.db.run("UPDATE inventories SET stock=stock+%s, version=version+1 WHERE product_id=%s"
                            " AND version=%s", delta, product_id, row["version"])

    def judge(self, actors):
        for product_id in self.ids:  # the next movement records what the foreign writer did last
            self.assertEqual(self.http.post(f"/v1/inventory/{product_id}/adjustments",
                                            {"delta": 1, "reason": "end"}).status, 200)
        self.assert_audit_clean()
        acknowledged = {i: o for a in actors for i, o in a.acknowledged.items()}
        self.assertGreater(len(acknowledged), 100)
        self.assert_orders_exactly(sorted(acknowledged))
        back = "SELECT i.order_id, i.line_no, o.status, COUNT(m.id) n FROM order_items i JOIN orders o ON o.id=i.order_id" \
               " LEFT JOIN stock_movements m ON m.kind='RESTORE' AND m.order_ref=CONCAT('o:', i.order_id)" \
               " AND m.product_id=i.product_id GROUP BY i.order_id, i.line_no, o.status"
        for row in self.db.rows(back):
            self.assertEqual(row["n"], 1 if row["status"] == "CANCELLED" else 0, row)
        self.judge_reservations()
        kinds = {r["kind"] for r in self.db.rows("SELECT DISTINCT kind FROM stock_movements")}
        self.assertEqual(kinds, {"INITIAL", "ORDER", "RESTORE", "ADJUST", "SET", "FOREIGN"})
        self.assert_versions_told_in_order()

    def judge_reservations(self):
        """Taken once where something was reserved, given back once where it was released, and each step told once."""
        rows = self.db.rows("SELECT r.order_id, r.status, r.version, JSON_LENGTH(COALESCE(r.items, '[]')) items,"
                            " (SELECT COUNT(*) FROM outbox_events e WHERE e.aggregate_id=r.order_id) told,"
                            " (SELECT COUNT(*) FROM stock_movements m WHERE m.order_ref=CONCAT('r:anonymous:', r.order_id)"
                            " AND kind='ORDER') taken, (SELECT COUNT(*) FROM stock_movements m"
                            " WHERE m.order_ref=CONCAT('r:anonymous:', r.order_id) AND kind='RESTORE') given FROM"
                            " stock_reservations r")
        for row in rows:
            was_held = row["status"] in ("RESERVED", "CONFIRMED", "RELEASED")
            self.assertEqual((row["taken"], row["given"], row["told"]),
                             (row["items"] if was_held else 0, row["items"] if row["status"] == "RELEASED" else 0,
                              row["version"]), row)
        self.assertTrue({"CONFIRMED", "RELEASED", "CANCEL_REQUESTED"} <= {row["status"] for row in rows})

    def assert_versions_told_in_order(self):
        """Per product, stock.changed rows in id order carry growing versions, and the last is the row itself."""
        for product_id in self.ids:
            told = self.events(product_id, "stock.changed")
            versions = [e["aggregate_version"] for e in told]
            self.assertEqual(versions, sorted(set(versions)))
            row = self.inventory(product_id)
            self.assertEqual((told[-1]["payload"]["stock"], versions[-1]), (row["stock"], row["version"]))


if __name__ == "__main__":
    main()
