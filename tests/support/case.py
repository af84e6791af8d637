"""The test case the suites share: servers, a fresh migrated database, the instances, and how the promises are asked."""

import contextlib
import itertools
import json
import sys
import time
import unittest

from . import service as service_module
from .client import Http
from .service import Service
from .stack import Stack
from .wait import eventually

TABLES = ("orders", "order_items", "payments", "order_compensations", "stock_movements", "outbox_events",
          "idempotency_keys", "stock_reservations", "processed_events")

LONG_S = 3.0


class Case(unittest.TestCase):
    """INSTANCES of the service on one database; FAULTS (a text, "" = none) takes the binary whose mechanisms can be
    taken out; ENV is added to their settings."""

    INSTANCES = 1
    FAULTS = None
    ENV = {}
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack = Stack.shared()
        cls.redis = cls.stack.redis
        cls.db = cls.stack.mysql.new_database()
        cls.migrate()
        cls.services = []
        cls.addClassCleanup(cls._end_services)
        for name in "abcd"[:cls.INSTANCES]:
            cls.instance(name, faults=cls.FAULTS, env=cls.ENV).start()
        cls.service = cls.services[0] if cls.services else None
        cls.products = itertools.count(1001)

    @classmethod
    def migrate(cls):
        done = service_module.run(["migrate"], {"LOCKSTOCK_MYSQL_URL": cls.db.url()})
        if done.returncode:
            raise AssertionError(f"migrate: {done.returncode} {done.stdout}{done.stderr}")

    @classmethod
    def instance(cls, name, **kw):
        """One more instance, not started, ended with the class."""
        one = Service(cls.stack, cls.db, name, **kw)
        cls.services.append(one)
        return one

    @classmethod
    def _end_services(cls):
        ended = {}
        for one in cls.services:
            if one.alive():
                try:
                    ended[one.name] = one.stop()
                finally:
                    one.kill()
        if any(ended.values()):
            raise AssertionError(f"exit status at SIGTERM: {ended}: {[s.tail() for s in cls.services]}")

    def setUp(self):
        self.http = self.client()

    def client(self, number=0, **kw):
        """A connection to instance `number` modulo their count, closed with the test."""
        if not self.services:
            return None
        client = Http(self.services[number % len(self.services)].port, **kw)
        self.addCleanup(client.close)
        return client

    def run(self, result=None):
        """A slow test says how long it took; a failed one shows what the instances complained about."""
        before, begun = len(result.failures) + len(result.errors), time.monotonic()
        super().run(result)
        if time.monotonic() - begun > LONG_S:
            print(f"    {time.monotonic() - begun:.1f} s", file=sys.stderr)
        if len(result.failures) + len(result.errors) > before:
            for one in getattr(self, "services", []):
                if tail := one.tail():
                    print(f"--- {self.id()}: log of {one.name}\n{tail}", file=sys.stderr)

    # -- what tests do

    def product(self, stock=100, price=250, name="Lamp", product_id=None):
        """A new product; its id."""
        product_id = product_id or next(self.products)
        reply = self.http.put(f"/v1/products/{product_id}", {"name": name, "price": price, "stock": stock})
        self.assertEqual(reply.status, 201, reply)
        return product_id

    def order(self, *lines, user="u-1", key=None, http=None, headers=()):
        """POST /v1/orders of (product, quantity) pairs."""
        headers = list(headers) + ([("Idempotency-Key", key)] if key else [])
        body = {"userId": user, "items": [{"productId": p, "quantity": q} for p, q in lines]}
        return (http or self.http).post("/v1/orders", body, headers=headers)

    def ordered(self, *lines, **kw):
        """The order's document; it must be 201."""
        reply = self.order(*lines, **kw)
        self.assertEqual(reply.status, 201, reply)
        return reply.json

    def inventory(self, product_id):
        reply = self.http.get(f"/v1/inventory/{product_id}")
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def stock(self, product_id):
        return self.db.value("SELECT stock FROM inventories WHERE product_id=%s", product_id)

    def movements(self, product_id):
        """Ledger rows, oldest first."""
        return self.db.rows("SELECT * FROM stock_movements WHERE product_id=%s ORDER BY id", product_id)

    def events(self, aggregate_id, event_type=None):
        """Outbox rows of an aggregate, oldest first, payload parsed."""
        rows = self.db.rows("SELECT * FROM outbox_events WHERE aggregate_id=%s ORDER BY id", str(aggregate_id))
        for row in rows:
            row["payload"] = json.loads(row["payload"])
        return [row for row in rows if event_type in (None, row["event_type"])]

    def metric(self, name, **labels):
        """Sum over the instances that live."""
        return sum(s.metric(name, **labels) for s in self.services if s.alive())

    def paged(self, client, path, hidden):
        """All items of a list in pages of one; its cursors tell of no name that contains `hidden`."""
        items, cursor = [], ""
        for _ in range(500):
            reply = client.get(f"{path}?limit=1{cursor and '&cursor=' + cursor}")
            self.assertEqual(reply.status, 200, reply)
            items += reply.json["items"]
            cursor = reply.json["nextCursor"]
            if cursor is None:
                return items
            self.assertNotIn(hidden.encode(), bytes.fromhex(cursor))
        raise AssertionError(f"{path} has no end")

    # -- what tests ask

    def assert_problem(self, reply, status, code, **extras):
        """A whole problem document with these extras; the document."""
        self.assertEqual((reply.status, reply.code), (status, code), reply)
        document = reply.json
        self.assertEqual(document["status"], status)
        self.assertTrue(document["type"].startswith("/problems/"), document)
        self.assertTrue(document["title"])
        self.assertEqual(document["requestId"], reply.headers["x-request-id"])
        for name, value in extras.items():
            self.assertEqual(document.get(name), value, document)
        return document

    def audit(self):
        reply = self.http.get("/v1/inventory/audit")
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def assert_audit_clean(self):
        found = self.audit()
        self.assertEqual((found["violations"], found["foreign"]), ([], []))

    def counts(self):
        counts = {table: self.db.count(table) for table in TABLES}
        counts["stock"] = self.db.value("SELECT COALESCE(SUM(stock), 0) FROM inventories")
        return counts

    @contextlib.contextmanager
    def nothing_left(self):
        """What runs inside leaves no row and no stock behind."""
        before = self.counts()
        yield
        self.assertEqual(self.counts(), before)

    def assert_orders_exactly(self, ids):
        """These orders, each once and whole, are all orders there are."""
        self.assertEqual(len(ids), len(set(ids)), "an id was given to two orders")
        self.assertEqual(sorted(ids), [r["id"] for r in self.db.rows("SELECT id FROM orders ORDER BY id")])
        self.assert_orders_whole()

    def assert_orders_whole(self):
        """Each order has its lines, its total, its movements and its event: nothing half done."""
        self.assertEqual([], self.db.rows(
            "SELECT o.id FROM orders o LEFT JOIN order_items i ON i.order_id=o.id GROUP BY o.id, o.total_amount"
            " HAVING COALESCE(SUM(i.quantity*i.unit_price), -1) <> o.total_amount"), "lines and total differ")
        lines = {(f"o:{r['order_id']}", r["product_id"], -r["quantity"]) for r in self.db.rows(
            "SELECT order_id, product_id, quantity FROM order_items")}
        moved = [(r["order_ref"], r["product_id"], r["delta"]) for r in self.db.rows(
            "SELECT order_ref, product_id, delta FROM stock_movements WHERE kind='ORDER' AND LEFT(order_ref, 2)='o:'")]
        self.assertEqual(len(moved), len(lines))
        self.assertEqual(set(moved) ^ lines, set(), "lines and movements differ")
        told = [r["aggregate_id"] for r in self.db.rows(
            "SELECT aggregate_id FROM outbox_events WHERE event_type='order.created'")]
        ids = [str(r["id"]) for r in self.db.rows("SELECT id FROM orders")]
        self.assertEqual(sorted(told), sorted(ids), "orders and their events differ")

    def sold(self, product_id):
        """Units in orders that are not cancelled."""
        return int(self.db.value("SELECT COALESCE(SUM(i.quantity), 0) FROM order_items i JOIN orders o"
                                 " ON o.id=i.order_id WHERE i.product_id=%s AND o.status <> 'CANCELLED'", product_id))

    def lock_keys(self):
        return sorted(self.redis.call("KEYS", "inventory-lock:*"))

    def until_no_lock_keys(self, timeout_s=5):
        eventually(lambda: not self.lock_keys(), timeout_s, "no lock key is left")

    def row_waits(self):
        """Transactions that wait for a row lock at this moment."""
        return int(self.db.rows("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'")[0]["Value"])

    def until_served(self):
        """After the database was away: connections that died unnoticed have been replaced."""
        read = lambda: self.http.get("/v1/orders?limit=1").status == 200
        eventually(lambda: all(read() for _ in range(8)), 20, "reads are served")

    def until_ready(self, *degraded):
        """Every living instance reports exactly these dependencies as degraded."""
        for one in (s for s in self.services if s.alive()):
            eventually(lambda: one.get("/readyz").json.get("degraded") == list(degraded), 20,
                       f"{one.name} degraded={list(degraded)}")


def main():
    """Runs the file that calls it."""
    unittest.main(module="__main__", verbosity=2)
