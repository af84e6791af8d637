"""The running service against api/openapi.yaml: every path, method and status of the file is walked, each answer is held
against its schema, and the service knows no route that the file does not."""

import hashlib
import json
import os
import re
import sys
import unittest

import yaml

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.schema import Schema
from support.service import ROOT
from support.wait import eventually

PATH = os.path.join(ROOT, "api", "openapi.yaml")
METHODS = ("get", "put", "post", "patch", "delete")
# Statuses that need a broken world; tests/chaos and tests/integration produce them and look at the same document.
ELSEWHERE = {"500", "503", "default"}
TOKENS = {"locker": ["locks"], "all": ["admin"]}


def load_document():
    with open(PATH, encoding="utf-8") as file:
        return yaml.safe_load(file)


@unittest.skipUnless(os.path.exists(PATH), "api/openapi.yaml is not written yet")
class Document(unittest.TestCase):
    """The file by itself."""

    @classmethod
    def setUpClass(cls):
        cls.document = load_document()
        cls.schema = Schema(cls.document)

    def nodes(self, node=None, at="#"):
        node = self.document if node is None else node
        yield at, node
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for name, child in items:
            yield from self.nodes(child, f"{at}/{name}")

    def test_references__then_each_leads_somewhere(self):
        for at, node in self.nodes():
            if isinstance(node, dict) and isinstance(node.get("$ref"), str):
                with self.subTest(at=at):
                    self.assertIsNotNone(self.schema.resolve(node))

    def test_operations__then_each_has_an_id_of_its_own_a_summary_and_answers(self):
        seen = set()
        for path, item in self.document["paths"].items():
            for method in set(item) & set(METHODS):
                with self.subTest(f"{method} {path}"):
                    operation = item[method]
                    self.assertNotIn(operation["operationId"], seen)
                    seen.add(operation["operationId"])
                    self.assertTrue(operation.get("summary") or operation.get("description"))
                    self.assertTrue([s for s in map(str, operation["responses"]) if s.startswith("2")])
                    names = {self.schema.resolve(p)["name"] for p in item.get("parameters", [])
                             + operation.get("parameters", []) if self.schema.resolve(p)["in"] == "path"}
                    self.assertEqual(names, set(re.findall(r"{(\w+)}", path)))

    def test_examples__then_each_fits_its_schema(self):
        count = 0
        for at, node in self.nodes():
            if not (isinstance(node, dict) and "schema" in node and ("example" in node or "examples" in node)):
                continue
            given = [node["example"]] if "example" in node else [
                self.schema.resolve(e)["value"] for e in node["examples"].values()]
            for value in given:
                count += 1
                with self.subTest(at=at):
                    self.assertEqual(self.schema.faults(node["schema"], value), [])
        self.assertGreater(count, 10, "the file has hardly any examples")

    def test_codes__then_every_code_of_the_file_is_in_the_table(self):
        with open(os.path.join(ROOT, "service", "base", "errors.def"), encoding="utf-8") as file:
            known = set(re.findall(r'"([A-Z]{3}-\d{3})"', file.read()))
        used = set(re.findall(r"\b(?:PRD|ORD|PAY|IDM|SYS|RSV|LCK|SCH|JOB|EVT)-\d{3}\b", json.dumps(self.document)))
        self.assertEqual(used - known, set())


@unittest.skipUnless(os.path.exists(PATH), "api/openapi.yaml is not written yet")
class Walk(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.document = load_document()
        cls.schema = Schema(cls.document)
        cls.operations = {(m.upper(), p): item[m] for p, item in cls.document["paths"].items() for m in METHODS
                          if m in item}
        cls.walked = set()
        path = os.path.join(cls.stack.folder, "contract-tokens.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"tokens": [{"name": n, "sha256": hashlib.sha256(n.encode()).hexdigest(), "scopes": s}
                                  for n, s in TOKENS.items()]}, file)
        cls.guarded = cls.instance("guarded", env={"LOCKSTOCK_TOKENS_FILE": path}).start()

    def template(self, method, path):
        """The row of the file a request belongs to, literals before parameters."""
        fits = [p for m, p in self.operations if m == method
                and re.fullmatch(re.sub(r"{\w+}", "[^/]+", p), path.split("?")[0])]
        self.assertTrue(fits, f"{method} {path} is not in the file")
        return min(fits, key=lambda p: p.count("{"))

    def walk(self, status, method, path, body=None, http=None, **kw):
        """One exchange, judged against the file; its reply."""
        reply = (http or self.http).request(method, path, body, **kw)
        template = self.template(method, path)
        self.assertEqual(reply.status, status, (method, path, reply))
        responses = {str(s): r for s, r in self.operations[method, template]["responses"].items()}
        self.assertIn(str(status), responses, f"{method} {template} answers {status}, the file does not say so")
        self.walked.add((method, template, str(status)))
        self.judge(f"{method} {template} {status}", self.schema.resolve(responses[str(status)]), reply)
        return reply

    def judge(self, what, response, reply):
        kind = reply.headers.get("content-type", "").split(";")[0]
        content = response.get("content", {})
        self.assertIn(kind, [k.split(";")[0] for k in content], what)
        schema = next(c for k, c in content.items() if k.split(";")[0] == kind).get("schema", {})
        if kind.endswith("json"):
            self.assertEqual(self.schema.faults(schema, reply.json), [], f"{what}: {reply}")
        for name, header in response.get("headers", {}).items():
            if self.schema.resolve(header).get("required"):
                self.assertIn(name.lower(), reply.headers, what)

    def concrete(self, path, number="1"):
        return re.sub(r"{(\w+)}", lambda m: "insufficient-stock" if m[1] == "slug" else number, path)

    # -- what every operation may answer

    def everywhere(self):
        locker = self.guarded.http(headers=[("Authorization", "Bearer locker")])
        nobody = self.guarded.http()
        for client in (locker, nobody):
            self.addCleanup(client.close)
        for (method, path), operation in self.operations.items():
            statuses, body = set(map(str, operation["responses"])), b"{}" if "requestBody" in operation else None
            if "401" in statuses:
                self.walk(401, method, self.concrete(path), body, nobody)
            if "403" in statuses:
                self.walk(403, method, self.concrete(path), body, locker)
            if "400" in statuses:
                self.bad(method, path, operation)
            if "413" in statuses:
                self.walk(413, method, self.concrete(path), b" " * (1024 * 1024 + 1))
            if "415" in statuses:
                self.walk(415, method, self.concrete(path), b"{}", content_type="text/plain")

    def bad(self, method, path, operation):
        if "requestBody" in operation:
            self.walk(400, method, self.concrete(path), b"{")
        elif "{" in path and "{slug}" not in path:
            self.walk(400, method, self.concrete(path, "0"))
        else:
            self.walk(400, method, path + "?limit=0")

    # -- what each one does

    def products(self):
        put = {"name": "Lamp", "price": 250, "stock": 10}
        self.walk(201, "PUT", "/v1/products/1", put)
        self.walk(200, "PUT", "/v1/products/1", put)
        self.walk(200, "GET", "/v1/products/1")
        self.walk(404, "GET", "/v1/products/99")
        self.walk(200, "GET", "/v1/products")

    def inventory(self):
        self.walk(200, "GET", "/v1/inventory/1")
        self.walk(404, "GET", "/v1/inventory/99")
        self.walk(428, "PUT", "/v1/inventory/1", {"stock": 10})
        self.walk(412, "PUT", "/v1/inventory/1", {"stock": 10}, headers={"If-Match": '"77"'})
        self.walk(200, "PUT", "/v1/inventory/1", {"stock": 10}, headers={"If-Match": "*"})
        self.walk(404, "PUT", "/v1/inventory/99", {"stock": 10}, headers={"If-Match": "*"})
        adjust = "/v1/inventory/1/adjustments"
        self.keyed("POST", adjust, {"delta": 1, "reason": "r"}, {"delta": 2, "reason": "r"}, 200)
        self.walk(409, "POST", adjust, {"delta": -1000, "reason": "r"})
        self.walk(404, "POST", "/v1/inventory/99/adjustments", {"delta": 1, "reason": "r"})
        self.walk(200, "GET", "/v1/inventory/1/movements")
        self.walk(404, "GET", "/v1/inventory/99/movements")
        self.walk(200, "GET", "/v1/inventory/audit")

    def keyed(self, method, path, body, other, status):
        """Once, replayed, and with another command under the same key."""
        headers = {"Idempotency-Key": f"contract {method} {path}"}
        self.walk(status, method, path, body, headers=headers)
        self.assertEqual(self.walk(status, method, path, body, headers=headers).headers["idempotency-replayed"], "true")
        if other is not None:
            self.walk(422, method, path, other, headers=headers)

    def buy(self, quantity=1):
        return {"userId": "u-1", "items": [{"productId": 1, "quantity": quantity}]}

    def new_order(self):
        return self.walk(201, "POST", "/v1/orders", self.buy()).json

    def orders(self):
        self.keyed("POST", "/v1/orders", self.buy(), self.buy(2), 201)
        self.walk(409, "POST", "/v1/orders", self.buy(1000))
        self.walk(404, "POST", "/v1/orders", {"userId": "u", "items": [{"productId": 99, "quantity": 1}]})
        order = self.new_order()
        self.walk(200, "GET", f"/v1/orders/{order['id']}")
        self.walk(404, "GET", "/v1/orders/987654321")
        self.walk(200, "GET", "/v1/orders?userId=u-1&status=PENDING&limit=1")
        return order

    def actions(self, order):
        path = f"/v1/orders/{order['id']}"
        spare = [f"/v1/orders/{self.new_order()['id']}" for _ in range(2)]
        pay = {"result": "COMPLETED", "paymentKey": "k-1", "amount": order["totalAmount"]}
        self.keyed_action("payment-request", path, None, spare[0], 200)
        self.walk(409, "POST", path + "/payment-request")
        self.walk(422, "POST", path + "/payment", {**pay, "amount": pay["amount"] + 1})
        self.walk(200, "POST", path + "/payment", pay)
        self.walk(409, "POST", path + "/cancel")
        self.walk(409, "POST", path + "/status", {"status": "DELIVERED"})
        self.keyed_action("status", path, {"status": "PREPARING"}, None, 200, {"status": "SHIPPED"})
        self.keyed_action("cancel", spare[0], None, spare[1], 200)
        for action, body in (("payment-request", None), ("payment", pay), ("cancel", None), ("status", {"status": "SHIPPED"})):
            self.walk(404, "POST", f"/v1/orders/987654321/{action}", body)
        self.walk(200, "POST", spare[0] + "/payment", {**pay, "paymentKey": "k-late"})

    def keyed_action(self, action, path, body, other_path, status, other=None):
        headers = {"Idempotency-Key": f"contract {action}"}
        self.walk(status, "POST", f"{path}/{action}", body, headers=headers)
        self.walk(422, "POST", f"{other_path or path}/{action}", other or body, headers=headers)

    def compensations(self):
        row = self.walk(200, "GET", "/v1/compensations?status=OPEN").json["items"][0]
        self.walk(200, "POST", f"/v1/compensations/{row['id']}/resolve")
        self.walk(404, "POST", "/v1/compensations/987654321/resolve")

    def operations_pages(self):
        for path in ("/healthz", "/readyz", "/metrics", "/version", "/openapi.yaml", "/problems/insufficient-stock"):
            self.walk(200, "GET", path)
        self.walk(404, "GET", "/problems/no-such-slug")

    def test_walk__when_all_was_walked__then_nothing_of_the_file_is_left(self):
        self.products()
        self.inventory()
        order = self.orders()
        self.actions(order)
        self.compensations()
        self.operations_pages()
        self.everywhere()
        declared = {(m, p, str(s)) for (m, p), o in self.operations.items() for s in o["responses"]}
        left = sorted(d for d in declared - self.walked if d[2] not in ELSEWHERE)
        self.assertEqual(left, [])

    def test_methods__when_asked_for_another__then_allow_names_those_of_the_file(self):
        for path in self.document["paths"]:
            with self.subTest(path=path):
                reply = self.http.request("BREW", self.concrete(path))
                self.assertEqual(reply.status, 405, reply)
                allowed = {m for m, p in self.operations if p == path}
                # A literal segment also answers to the parameter beside it (/v1/inventory/audit).
                allowed |= {m for m, p in self.operations
                            if re.fullmatch(re.sub(r"{\w+}", "[^/]+", p), path) and "{" in p}
                allowed |= {"HEAD"} if "GET" in allowed else set()
                self.assertEqual({m.strip() for m in reply.headers["allow"].split(",")} - {"OPTIONS"}, allowed)

    def test_routes__when_the_service_has_one__then_the_file_has_it(self):
        with open(os.path.join(ROOT, "service", "endpoints", "routes.c"), encoding="utf-8") as file:
            routes = re.findall(r'{HTTP_(\w+), "([^"]+)"', file.read())
        self.assertGreater(len(routes), 15)
        self.assertEqual(set(routes), set(self.operations))

    def test_503__when_redis_and_mysql_are_away__then_the_documents_fit_too(self):
        order = self.new_order_of_its_own()
        self.addCleanup(self.stack.heal)
        self.stack.mysql.stop()
        self.walk(503, "POST", "/v1/orders", self.buy())
        self.walk(503, "POST", f"/v1/orders/{order}/cancel")
        self.walk(503, "GET", "/v1/orders")
        self.stack.mysql.start()
        eventually(lambda: self.http.get("/v1/orders").status == 200, 15, "back")

    def new_order_of_its_own(self):
        product_id = self.product(stock=5, product_id=5001)
        return self.ordered((product_id, 1))["id"]


if __name__ == "__main__":
    main()
