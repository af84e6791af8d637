"""The running service against api/openapi.yaml: every path, method, status and code of the file is walked, and each
answer is held against it, header by header and field by field."""

import hashlib
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.contract import PATH, Contract, error_rows, pattern_of
from support.event_walk import EventWalk
from support.lock_walk import LockWalk
from support.resp import JavaLock
from support.schedule_walk import NOBODY, ScheduleWalk
from support.wait import eventually
from support.outbox_walk import NO_EVENT, OutboxWalk
from support.webhook_walk import NO_WEBHOOK, WebhookWalk

# Codes that need a broken world or a race; test_503 meets SYS-011, the suites named in test_errors.py meet the others.
ELSEWHERE = {"SYS-001", "SYS-011", "SYS-012", "IDM-003"}
TOKENS = {"locker": ["locks"], "buyer": ["orders"], "all": ["admin"]}
LOCKS = ("/v1/locks", "/v1/semaphores", "/v1/fences")
BODY_MAX = 1024 * 1024


class Walk(LockWalk, ScheduleWalk, OutboxWalk, WebhookWalk, EventWalk, Case):
    ENV = {"LOCKSTOCK_LOCK_WAIT_MS": 200, "LOCKSTOCK_REDIS_TIMEOUT_MS": 2000}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.contract = Contract()
        path = os.path.join(cls.stack.folder, "contract-tokens.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"tokens": [{"name": n, "sha256": hashlib.sha256(n.encode()).hexdigest(), "scopes": s}
                                  for n, s in TOKENS.items()]}, file)
        cls.guarded = cls.instance("guarded", env={"LOCKSTOCK_TOKENS_FILE": path}).start()

    def walk(self, status, method, path, body=None, code=None, http=None, **kw):
        """One exchange, judged against the file; its reply."""
        reply = (http or self.http).request(method, path, body, **kw)
        self.assertEqual((reply.status, reply.code), (status, code), (method, path, reply))
        template = self.contract.template(method, path)
        self.assertIsNotNone(template, f"{method} {path} is not in the file")
        self.assertEqual(self.contract.judge(method, template, reply), [], reply)
        return reply

    def concrete(self, path, number="1"):
        known = {"slug": "insufficient-stock"} | ({"webhookId": NO_WEBHOOK, "eventId": NO_EVENT} if number == "1" else {})
        return re.sub(r"{(\w+)}", lambda m: known.get(m[1], number), path)

    def wrong(self, path):
        """A path whose parameter is none."""
        odd = {"{name}": "%7B", "{queue}": "%20", "{orderId}": "%20a"}
        return self.concrete(path, next((wrong for part, wrong in odd.items() if part in path), "0"))

    # -- what every operation may answer

    def everywhere(self):
        self.locker = self.guarded.http(headers=[("Authorization", "Bearer locker")])
        self.buyer = self.guarded.http(headers=[("Authorization", "Bearer buyer")])
        self.nobody = self.guarded.http()
        for client in (self.locker, self.buyer, self.nobody):
            self.addCleanup(client.close)
        for (method, path), operation in self.contract.operations.items():
            with self.subTest(f"{method} {path}"):
                self.refusals(method, path, operation)

    def refusals(self, method, path, operation):
        """Those that come before the endpoint, and the first of the endpoint's own."""
        codes = {c for m, p, _, c in self.contract.declared() if (m, p) == (method, path)}
        target, body = self.concrete(path), b"{}" if "requestBody" in operation else None
        if "SYS-006" in codes:
            self.walk(401, method, target, body, "SYS-006", self.nobody)
        if "SYS-004" in codes:
            stranger = self.buyer if path.startswith(LOCKS) else self.locker
            self.walk(403, method, target, body, "SYS-004", stranger)
            self.walk(403, method, target, body, "SYS-004", headers={"Origin": "https://example.com"})
        if "SYS-003" in codes:
            self.bad(method, path, operation)
        if "IDM-001" in codes:
            self.walk(400, method, target, self.fitting(operation), "IDM-001",
                      headers={"Idempotency-Key": "é", "If-Match": "*"})
        self.walk(413, method, target, b" " * (BODY_MAX + 1), "SYS-008")
        self.walk(415, method, target, b"{}", "SYS-009", content_type="text/plain")
        self.walk(400, method, target + "?a=%zz", code="SYS-003")

    def fitting(self, operation):
        """The example of its body."""
        return operation["requestBody"]["content"]["application/json"]["example"]

    def bad(self, method, path, operation):
        target = self.concrete(path)
        if "{" in path:
            found = self.walk(400, method, self.wrong(path), code="SYS-003").json["errors"]
            self.assertEqual(found[0]["pointer"], "#/" + re.search(r"{(\w+)}", path)[1])
        if "requestBody" in operation:
            for body in (b"{", b"[]", b'{"unknown":1}', b'{"a":1,"a":2}'):
                self.assertTrue(self.walk(400, method, target, body, "SYS-003").json["errors"])
        if any(p["$ref"].endswith("/Limit") for p in operation.get("parameters", [])):
            for query in ("limit=0", "limit=501", "limit=x", "cursor=x", "unknown=1"):
                self.assertTrue(self.walk(400, method, f"{target}?{query}", code="SYS-003").json["errors"])

    # -- what each one does

    def walk_products(self):
        put = {"name": "Lamp", "price": 250, "stock": 10}
        self.walk(201, "PUT", "/v1/products/1", put)
        self.walk(200, "PUT", "/v1/products/1", put)
        self.walk(400, "PUT", "/v1/products/1", {**put, "stock": 11}, "SYS-003")
        self.walk(201, "PUT", "/v1/products/2", {"name": "Größe Ω", "price": 0})
        self.walk(200, "GET", "/v1/products/1")
        self.walk(404, "GET", "/v1/products/99", code="PRD-001")
        self.pages("/v1/products")

    def pages(self, path):
        """A page of one, the next one by its cursor, the last one with null."""
        link = "&" if "?" in path else "?"
        cursor = self.walk(200, "GET", f"{path}{link}limit=1").json["nextCursor"]
        self.assertIsNotNone(cursor, path)
        self.assertTrue(self.walk(200, "GET", f"{path}{link}limit=1&cursor={cursor}").json["items"])
        self.assertIsNone(self.walk(200, "GET", f"{path}{link}limit=500").json["nextCursor"])

    def walk_inventory(self):
        put, adjust, any_version = "/v1/inventory/1", "/v1/inventory/1/adjustments", {"If-Match": "*"}
        self.walk(200, "GET", put)
        self.walk(404, "GET", "/v1/inventory/99", code="PRD-001")
        self.walk(428, "PUT", put, {"stock": 10}, "PRD-006")
        self.walk(400, "PUT", put, {"stock": 10}, "SYS-003", headers={"If-Match": "1"})
        stale = self.walk(412, "PUT", put, {"stock": 10}, "PRD-005", headers={"If-Match": '"77"'})
        fresh = {"If-Match": stale.headers["etag"]}
        self.keyed("PUT", put, {"stock": 10}, {"stock": 11}, headers=fresh)
        self.walk(404, "PUT", "/v1/inventory/99", {"stock": 10}, "PRD-001", headers=any_version)
        self.keyed("POST", adjust, {"delta": 1, "reason": "r"}, {"delta": 2, "reason": "r"})
        self.refused_and_replayed(409, "PRD-002", adjust, {"delta": -1000, "reason": "r"})
        self.walk(400, "POST", adjust, {"delta": 2**53 - 1, "reason": "r"}, "SYS-003")
        self.walk(404, "POST", "/v1/inventory/99/adjustments", {"delta": 1, "reason": "r"}, "PRD-001")
        self.pages("/v1/inventory/1/movements")
        self.walk(404, "GET", "/v1/inventory/99/movements", code="PRD-001")

    def keyed(self, method, path, body, other, status=200, other_path=None, headers=None):
        """Once, replayed, and with another command under the same key."""
        headers = {"Idempotency-Key": f"contract {method} {path}", **(headers or {})}
        first = self.walk(status, method, path, body, headers=headers)
        self.assertNotIn("idempotency-replayed", first.headers)
        again = self.walk(status, method, path, body, headers=headers)
        self.assertEqual((again.headers["idempotency-replayed"], again.body), ("true", first.body))
        self.walk(422, method, other_path or path, other, "IDM-002", headers=headers)
        return first

    def refused_and_replayed(self, status, code, path, body=None):
        headers = {"Idempotency-Key": f"contract {code} {path}"}
        self.walk(status, "POST", path, body, code, headers=headers)
        again = self.walk(status, "POST", path, body, code, headers=headers)
        self.assertEqual(again.headers["idempotency-replayed"], "true")

    def walk_audit(self):
        self.walk(200, "GET", "/v1/inventory/audit")
        product_id = self.product(stock=5)
        self.db.run("UPDATE inventories SET stock=4 WHERE product_id=%s", product_id)
        found = self.walk(200, "GET", "/v1/inventory/audit").json
        self.assertEqual([f["kind"] for f in found["violations"]], ["ledger-differs"])
        self.db.run("UPDATE inventories SET version=version+1 WHERE product_id=%s", product_id)
        found = self.walk(200, "GET", "/v1/inventory/audit").json
        self.assertEqual([f["kind"] for f in found["foreign"]], ["foreign"])

    def buy(self, quantity=1, product_id=1):
        return {"userId": "u-1", "items": [{"productId": product_id, "quantity": quantity}]}

    def new_order(self, product_id=1):
        return self.walk(201, "POST", "/v1/orders", self.buy(1, product_id)).json

    def new_path(self, product_id=1):
        return f"/v1/orders/{self.new_order(product_id)['id']}"

    def walk_orders(self):
        self.keyed("POST", "/v1/orders", self.buy(), self.buy(2), 201)
        self.refused_and_replayed(409, "PRD-002", "/v1/orders", self.buy(1000))
        self.walk(404, "POST", "/v1/orders", self.buy(1, 99), "PRD-001")
        self.walk(200, "GET", self.new_path())
        self.walk(404, "GET", "/v1/orders/987654321", code="ORD-001")
        self.pages("/v1/orders?userId=u-1&status=PENDING")
        for query in ("status=NONE", "userId=", "userId=" + "u" * 65):
            self.walk(400, "GET", f"/v1/orders?{query}", code="SYS-003")

    def payment(self, **changes):
        return {"result": "COMPLETED", "paymentKey": "k-1", "amount": 250, **changes}

    def walk_actions(self):
        path, spare, other = (self.new_path() for _ in range(3))
        self.keyed("POST", path + "/payment-request", None, None, other_path=spare + "/payment-request")
        self.refused_and_replayed(409, "ORD-003", path + "/payment-request")
        self.refused_and_replayed(422, "PAY-001", path + "/payment", self.payment(amount=251))
        self.keyed("POST", path + "/payment", self.payment(), self.payment(paymentKey="k-2"))
        self.walk(422, "POST", other + "/payment", self.payment(), "PAY-001")
        self.refused_and_replayed(409, "ORD-003", path + "/cancel")
        self.refused_and_replayed(409, "ORD-003", path + "/status", {"status": "DELIVERED"})
        for status in ("PREPARING", "SHIPPED", "DELIVERED"):
            self.walk(200, "POST", path + "/status", {"status": status})
        self.keyed("POST", spare + "/cancel", None, {"reason": "OTHER"})
        self.refused_and_replayed(409, "ORD-002", spare + "/cancel")
        failed = self.walk(200, "POST", other + "/payment", self.payment(result="FAILED", paymentKey="k-3")).json
        self.assertEqual(failed["status"], "CANCELLED")
        self.walk(200, "POST", spare + "/payment", self.payment(paymentKey="k-late"))
        self.walk(200, "POST", path + "/payment", self.payment(paymentKey="k-twice"))
        for action, body in (("payment-request", None), ("payment", self.payment()), ("cancel", None),
                             ("status", {"status": "SHIPPED"})):
            self.walk(404, "POST", f"/v1/orders/987654321/{action}", body, "ORD-001")

    def walk_status_keys(self):
        path = self.new_path()
        self.walk(200, "POST", path + "/payment", self.payment(paymentKey="k-4"))
        self.keyed("POST", path + "/status", {"status": "PREPARING"}, {"status": "SHIPPED"})

    def walk_busy(self):
        """A neighbour keeps the stock lock of a product."""
        product_id = self.product(stock=10)
        paid, cancelled = self.new_path(product_id), self.new_path(product_id)
        held = self.reserved("busy", product_id)
        lock = JavaLock(self.redis, f"inventory-lock:{product_id}")
        self.addCleanup(lock.close)
        self.assertTrue(lock.take(1))
        stock = f"/v1/inventory/{product_id}"
        for method, path, body in (("POST", "/v1/orders", self.buy(1, product_id)), ("PUT", stock, {"stock": 1}),
                                   ("POST", stock + "/adjustments", {"delta": 1, "reason": "r"}),
                                   ("POST", paid + "/payment", self.payment(result="FAILED", paymentKey="k-5")),
                                   ("POST", "/v1/reservations", self.reservation("busy-2", 1, product_id)),
                                   ("POST", held + "/release", None), ("POST", cancelled + "/cancel", None)):
            busy = self.walk(409, method, path, body, "PRD-004", headers={"If-Match": "*"})
            self.assertEqual(busy.json["productId"], product_id)
            self.assertGreater(int(busy.headers["retry-after"]), 0)
        lock.release()

    def walk_gone(self):
        """The stock row of an order's product was deleted by somebody."""
        product_id = self.product(stock=10)
        paid, cancelled = self.new_path(product_id), self.new_path(product_id)
        held = self.reserved("gone", product_id)
        self.db.run("DELETE FROM inventories WHERE product_id=%s", product_id)
        self.walk(404, "POST", paid + "/payment", self.payment(result="FAILED", paymentKey="k-6"), "PRD-001")
        self.walk(404, "POST", cancelled + "/cancel", None, "PRD-001")
        self.walk(404, "POST", held + "/release", None, "PRD-001")

    def reservation(self, order_id, quantity=1, product_id=1):
        return {"orderId": order_id, "items": [{"productId": product_id, "quantity": quantity}]}

    def reserved(self, order_id, product_id=1):
        self.walk(201, "POST", "/v1/reservations", self.reservation(order_id, 1, product_id))
        return f"/v1/reservations/{order_id}"

    def walk_reservations(self):
        root = "/v1/reservations"
        self.keyed("POST", root, self.reservation("r-1"), self.reservation("r-1", 2), 201)
        self.walk(200, "POST", root, self.reservation("r-1"))
        self.walk(422, "POST", root, self.reservation("r-1", 2), "RSV-003")
        self.walk(200, "GET", root + "/r-1")
        self.walk(404, "GET", root + "/nobody", code="RSV-001")
        self.refused_and_replayed(409, "PRD-002", root, self.reservation("r-2", 1000))
        self.walk(200, "GET", root + "/r-2")
        self.walk(404, "POST", root, self.reservation("r-3", 1, 99), "PRD-001")
        self.walk(404, "POST", root + "/nobody/confirm", code="RSV-001")
        spare, confirmed = self.reserved("r-4"), self.reserved("r-5")
        self.keyed("POST", confirmed + "/confirm", None, None, other_path=spare + "/confirm")
        self.refused_and_replayed(409, "RSV-002", confirmed + "/release")
        self.keyed("POST", spare + "/release", None, None, other_path=confirmed + "/release")
        self.refused_and_replayed(409, "RSV-002", spare + "/confirm")
        self.walk(200, "POST", root + "/r-6/release", {})
        self.refused_and_replayed(409, "RSV-002", root, self.reservation("r-6"))
        self.walk(200, "GET", root + "/r-6")

    def walk_compensations(self):
        self.pages("/v1/compensations?status=OPEN")
        self.walk(400, "GET", "/v1/compensations?status=NONE", code="SYS-003")
        row = self.walk(200, "GET", "/v1/compensations").json["items"][0]
        first = self.walk(200, "POST", f"/v1/compensations/{row['id']}/resolve")
        self.assertEqual(self.walk(200, "POST", f"/v1/compensations/{row['id']}/resolve", {}).body, first.body)
        self.walk(404, "POST", "/v1/compensations/987654321/resolve", code="SYS-013")

    def walk_queues(self):
        path, lease = "/v1/queues/walk/jobs", {"leaseMs": 60000}
        job = self.walk(201, "POST", path, {"payload": {"to": "u-1"}, "dedupeKey": "k"}).json
        self.walk(200, "POST", path, {"dedupeKey": "k"})
        self.walk(201, "POST", path, {"maxAttempts": 1})
        self.walk(201, "POST", "/v1/queues/walk-2/jobs")
        one, two = self.walk(200, "POST", "/v1/queues/walk/claims", {**lease, "owner": "w"}).json["jobs"]
        self.walk(200, "POST", "/v1/queues/walk/claims")
        target, token = f"{path}/{one['id']}", {"claimToken": one["claimToken"]}
        self.walk(200, "PATCH", target, {**token, **lease})
        self.walk(200, "POST", target + "/complete", {**token, "lastResult": "sent"})
        for method, action in (("PATCH", ""), ("POST", "/complete"), ("POST", "/retry")):
            self.walk(410, method, target + action, {"claimToken": two["claimToken"]}, "JOB-001")
            self.walk(404, method, f"{path}/987654321{action}", token, "SYS-013")
        self.walk(200, "POST", f"{path}/{two['id']}/retry", {"claimToken": two["claimToken"]})
        self.walk(200, "POST", f"{path}/{two['id']}/revive")
        self.walk(404, "POST", f"{path}/987654321/revive", code="SYS-013")
        self.walk(400, "POST", target + "/revive", code="SYS-003")
        self.assertEqual(self.walk(200, "GET", target).json["id"], job["id"])
        self.walk(404, "GET", f"{path}/987654321", code="SYS-013")
        self.pages(path)
        self.pages("/v1/queues")
        self.walk(400, "GET", f"{path}?status=NONE", code="SYS-003")

    def walk_operations(self):
        for path in ("/healthz", "/readyz", "/metrics", "/version", "/openapi.yaml"):
            self.walk(200, "GET", path)
        self.walk(404, "GET", "/problems/no-such-slug", code="SYS-013")
        for code, (status, slug, title) in error_rows().items():
            page = self.walk(200, "GET", f"/problems/{slug}").body.decode()
            self.assertTrue(page.startswith(f"{title} ({code}, HTTP {status})\n\n"), page)

    def test_walk__when_all_was_walked__then_nothing_of_the_file_is_left(self):
        for part in (self.walk_products, self.walk_inventory, self.walk_orders, self.walk_actions, self.walk_status_keys,
                     self.walk_reservations, self.walk_compensations, self.walk_busy, self.walk_audit,
                     self.walk_gone, self.walk_operations,
                     self.walk_locks, self.walk_queues, self.walk_schedules, self.walk_outbox, self.walk_webhooks,
                     self.walk_events, self.everywhere,
                     self.walk_redis_away):
            with self.subTest(part.__name__):
                part()
        self.not_ready()
        left = {d for d in self.contract.declared() - self.contract.seen if d[3] not in ELSEWHERE}
        self.assertEqual(left, set())

    def not_ready(self):
        """An instance whose database has no tables yet."""
        early = self.instance("early", env={"LOCKSTOCK_MYSQL_URL": self.stack.mysql.new_database().url()}).start("alive")
        client = early.http()
        self.addCleanup(client.close)
        self.assertEqual(self.walk(503, "GET", "/readyz", http=client).json["status"], "starting")
        self.walk(503, "GET", "/v1/orders", code="SYS-011", http=client)
        self.walk(503, "POST", "/v1/orders", self.buy(), "SYS-011", client)

    def test_head__when_get_is_there__then_the_same_headers_and_no_body(self):
        self.product(product_id=5002)
        for path in ("/healthz", "/version", "/openapi.yaml", "/v1/products/5002", "/v1/inventory/5002", "/v1/orders"):
            with self.subTest(path):
                get, head = self.http.get(path), self.http.request("HEAD", path)
                self.assertEqual((head.status, head.body), (200, b""))
                varying = {"date", "x-request-id"}
                self.assertEqual({n: v for n, v in head.headers.items() if n not in varying},
                                 {n: v for n, v in get.headers.items() if n not in varying})

    def test_openapi__when_asked_for__then_the_file_byte_for_byte(self):
        with open(PATH, "rb") as file:
            self.assertEqual(self.http.get("/openapi.yaml").body, file.read())

    def test_methods__when_asked_for_another__then_allow_names_those_of_the_file(self):
        for path in self.contract.document["paths"]:
            with self.subTest(path=path):
                reply = self.http.request("BREW", self.concrete(path))
                self.assertEqual((reply.status, reply.code), (405, "SYS-005"), reply)
                method = next(m for m, p in self.contract.operations if p == path)
                self.assertEqual(self.contract.judge(method, path, reply), [])
                # A literal segment also answers to the parameter beside it (/v1/inventory/audit).
                allowed = {m for m, p in self.contract.operations if p == path or re.fullmatch(pattern_of(p), path)}
                allowed |= {"HEAD"} if "GET" in allowed else set()
                self.assertEqual(set(reply.headers["allow"].split(", ")), allowed)

    def test_503__when_mysql_is_away__then_the_documents_fit_too(self):
        self.product(stock=5, product_id=5001)
        order = self.new_path(5001)
        self.addCleanup(self.stack.heal)
        self.stack.mysql.stop()
        away = {"code": "SYS-011", "headers": {"If-Match": "*", **NOBODY}}
        for (method, path), operation in self.contract.operations.items():
            if path.startswith("/v1/") and not path.startswith(LOCKS[:2]):
                body = self.fitting(operation) if "requestBody" in operation else None
                self.walk(503, method, path.replace("/v1/orders/{id}", order).replace("{id}", "1")
                          .replace("{productId}", "5001").replace("{name}", "walk").replace("{queue}", "walk")
                          .replace("{orderId}", "1").replace("{webhookId}", NO_WEBHOOK).replace("{eventId}", NO_EVENT)
                          .replace("{deliveryId}", "1"), body, **away)
        self.assertEqual(self.walk(200, "GET", "/readyz").json, {"status": "degraded", "degraded": ["mysql"]})
        self.stack.mysql.start()
        eventually(lambda: self.http.get("/v1/orders").status == 200, 15, "back")

    def test_degraded__when_redis_is_away__then_the_header_says_so(self):
        self.product(stock=5, product_id=5003)
        self.addCleanup(self.stack.heal)
        self.redis.kill()
        eventually(lambda: self.http.get("/readyz").json["degraded"] == ["redis"], 10, "seen")
        reply = self.walk(201, "POST", "/v1/orders", self.buy(1, 5003))
        self.assertEqual(reply.headers["lockstock-degraded"], "redis")
        self.walk(409, "POST", "/v1/orders", self.buy(1000, 5003), "PRD-002")


if __name__ == "__main__":
    main()
