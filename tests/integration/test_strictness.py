"""What a careless or hostile client sends, and the exact answer; whatever it is, nothing stays behind."""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position

LINE = {"productId": 1, "quantity": 1}


def order(**changes):
    body = {"userId": "u-1", "items": [LINE]}
    body.update(changes)
    return {k: v for k, v in body.items() if v is not ...}


def line(**changes):
    return order(items=[{k: v for k, v in {**LINE, **changes}.items() if v is not ...}])


# Body of POST /v1/orders -> a pointer that `errors` must name (None: any).
ORDERS = {
    "empty": (b"", "#"),
    "no JSON": (b"{", "#"),
    "an array": (b"[]", "#"),
    "a string": (b'"x"', "#"),
    "null": (b"null", "#"),
    "trailing text": (json.dumps(order()).encode() + b" x", "#"),
    "two documents": (json.dumps(order()).encode() * 2, "#"),
    "a comment": (b"/* */" + json.dumps(order()).encode(), "#"),
    "single quotes": (b"{'userId':'u-1'}", "#"),
    "a byte order mark": (b"\xef\xbb\xbf" + json.dumps(order()).encode(), "#"),
    "broken UTF-8": (b'{"userId":"\xff","items":[{"productId":1,"quantity":1}]}', None),
    "too deep": (b'{"userId":"u-1","items":' + b"[" * 17 + b"]" * 17 + b"}", None),
    "very deep": (b"[" * 100000, None),
    "a key twice": (b'{"userId":"a","userId":"b","items":[{"productId":1,"quantity":1}]}', None),
    "a key twice within": (b'{"userId":"a","items":[{"productId":1,"productId":1,"quantity":1}]}', None),
    "an unknown field": (order(coupon="X"), "#/coupon"),
    "an unknown field in a line": (line(sku="X"), "#/items/0/sku"),
    "a field with a slash": (order(**{"a/b~c": 1}), "#/a~1b~0c"),
    "no user": (order(userId=...), "#/userId"),
    "no items": (order(items=...), "#/items"),
    "no lines": (order(items=[]), "#/items"),
    "101 lines": (order(items=[{"productId": n + 1, "quantity": 1} for n in range(101)]), "#/items"),
    "items an object": (order(items={}), "#/items"),
    "a line a number": (order(items=[1]), "#/items/0"),
    "the second line bad": (order(items=[LINE, {"productId": 1}]), "#/items/1/quantity"),
    "user a number": (order(userId=1), "#/userId"),
    "user empty": (order(userId=""), "#/userId"),
    "user too long": (order(userId="u" * 65), "#/userId"),
    "user null": (order(userId=None), "#/userId"),
    "user with a control character": (order(userId="a\nb"), "#/userId"),
    "user with a NUL": (b'{"userId":"a\\u0000b","items":[{"productId":1,"quantity":1}]}', None),
    "no product": (line(productId=...), "#/items/0/productId"),
    "product 0": (line(productId=0), "#/items/0/productId"),
    "product negative": (line(productId=-1), "#/items/0/productId"),
    "product 2^53": (line(productId=2**53), "#/items/0/productId"),
    "product 2^64": (line(productId=2**64), "#/items/0/productId"),
    "product text": (line(productId="1"), "#/items/0/productId"),
    "no quantity": (line(quantity=...), "#/items/0/quantity"),
    "quantity 0": (line(quantity=0), "#/items/0/quantity"),
    "quantity negative": (line(quantity=-5), "#/items/0/quantity"),
    "quantity -0": (b'{"userId":"u","items":[{"productId":1,"quantity":-0}]}', None),
    "quantity too big": (line(quantity=1000001), "#/items/0/quantity"),
    "quantity 2^31": (line(quantity=2**31), "#/items/0/quantity"),
    "quantity a float": (b'{"userId":"u","items":[{"productId":1,"quantity":1.0}]}', "#/items/0/quantity"),
    "quantity an exponent": (b'{"userId":"u","items":[{"productId":1,"quantity":1e2}]}', "#/items/0/quantity"),
    "quantity text": (line(quantity="1"), "#/items/0/quantity"),
    "quantity true": (line(quantity=True), "#/items/0/quantity"),
    "quantity null": (line(quantity=None), "#/items/0/quantity"),
    "quantity with a leading zero": (b'{"userId":"u","items":[{"productId":1,"quantity":01}]}', None),
    "sums beyond the limit": (order(items=[{"productId": 1, "quantity": 600000}] * 2), "#/items"),
}

# Other bodies: method, path, body -> pointer.
BODIES = [
    ("POST", "/v1/orders/1/payment", {"result": "DONE", "paymentKey": "k", "amount": 1}, "#/result"),
    ("POST", "/v1/orders/1/payment", {"result": "COMPLETED", "paymentKey": "", "amount": 1}, "#/paymentKey"),
    ("POST", "/v1/orders/1/payment", {"result": "COMPLETED", "paymentKey": "k" * 256, "amount": 1}, "#/paymentKey"),
    ("POST", "/v1/orders/1/payment", {"result": "COMPLETED", "paymentKey": "k", "amount": -1}, "#/amount"),
    ("POST", "/v1/orders/1/payment", {"result": "COMPLETED", "paymentKey": "k"}, "#/amount"),
    ("POST", "/v1/orders/1/payment", b"", "#"),
    ("POST", "/v1/orders/1/cancel", {"reason": 1}, "#/reason"),
    ("POST", "/v1/orders/1/cancel", {"reason": "r" * 201}, "#/reason"),
    ("POST", "/v1/orders/1/cancel", {"why": "x"}, "#/why"),
    ("POST", "/v1/orders/1/payment-request", {"x": 1}, "#/x"),
    ("POST", "/v1/orders/1/payment-request", b"[]", "#"),
    ("POST", "/v1/orders/1/status", {"status": "LOST"}, "#/status"),
    ("POST", "/v1/orders/1/status", b"", "#"),
    ("PUT", "/v1/products/1", {"price": 1}, "#/name"),
    ("PUT", "/v1/products/1", {"name": "", "price": 1}, "#/name"),
    ("PUT", "/v1/products/1", {"name": "n" * 256, "price": 1}, "#/name"),
    ("PUT", "/v1/products/1", {"name": "n", "price": -1}, "#/price"),
    ("PUT", "/v1/products/1", {"name": "n", "price": 2**53}, "#/price"),
    ("PUT", "/v1/products/1", {"name": "n", "price": 1.5}, "#/price"),
    ("PUT", "/v1/products/1", {"name": "n", "price": 1, "stock": -1}, "#/stock"),
    ("PUT", "/v1/products/1", {"name": "n", "price": 1, "version": 1}, "#/version"),
    ("PUT", "/v1/inventory/1", {"stock": -1}, "#/stock"),
    ("PUT", "/v1/inventory/1", {"stock": 2**53}, "#/stock"),
    ("PUT", "/v1/inventory/1", {}, "#/stock"),
    ("POST", "/v1/inventory/1/adjustments", {"delta": 0, "reason": "r"}, "#/delta"),
    ("POST", "/v1/inventory/1/adjustments", {"delta": 1}, "#/reason"),
    ("POST", "/v1/inventory/1/adjustments", {"delta": 1, "reason": ""}, "#/reason"),
    ("POST", "/v1/inventory/1/adjustments", {"delta": 2**53, "reason": "r"}, "#/delta"),
    ("POST", "/v1/compensations/1/resolve", {"x": 1}, "#/x"),
    ("POST", "/v1/outbox/replay", {}, "#/status"),
    ("POST", "/v1/outbox/replay", {"status": "PENDING"}, "#/status"),
    ("POST", "/v1/outbox/replay", {"status": "FAILED", "x": 1}, "#/x"),
    ("POST", "/v1/outbox/00000000-0000-7000-8000-000000000000/replay", {"x": 1}, "#/x"),
    ("POST", "/v1/outbox/00000000-0000-7000-8000-000000000000/discard", {"x": 1}, "#/x"),
    ("POST", "/v1/outbox/nothing/replay", {}, "#/eventId"),
]


class Strict(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        http = cls.service.http()
        assert http.put("/v1/products/1", {"name": "Lamp", "price": 1, "stock": 100}).status == 201
        assert http.post("/v1/orders", order()).status == 201
        http.close()

    def setUp(self):
        super().setUp()
        self.before = self.counts()

    def tearDown(self):
        self.assertEqual(self.counts(), self.before, "something stayed behind")


class Bodies(Strict):
    def check(self, method, path, body, pointer):
        reply = self.http.request(method, path, body, headers={"If-Match": "*"})
        found = self.assert_problem(reply, 400, "SYS-003")
        pointers = [e["pointer"] for e in found["errors"]]
        self.assertTrue(pointers and all(e["detail"] for e in found["errors"]), found)
        if pointer is not None:
            self.assertIn(pointer, pointers)

    def test_order__when_the_body_is_wrong__then_400_names_the_field(self):
        for name, (body, pointer) in ORDERS.items():
            with self.subTest(name):
                self.check("POST", "/v1/orders", body, pointer)

    def test_others__when_the_body_is_wrong__then_400_names_the_field(self):
        for method, path, body, pointer in BODIES:
            with self.subTest(f"{method} {path} {body}"):
                self.check(method, path, body, pointer)

    def test_order__when_several_fields_are_wrong__then_each_is_named(self):
        reply = self.http.post("/v1/orders", {"userId": "", "items": [{"productId": 0, "quantity": 0}], "x": 1})
        pointers = {e["pointer"] for e in self.assert_problem(reply, 400, "SYS-003")["errors"]}
        self.assertEqual(pointers, {"#/userId", "#/items/0/productId", "#/items/0/quantity", "#/x"})

    def test_range__when_missed__then_the_detail_names_it(self):
        errors = self.http.post("/v1/orders", line(quantity=0)).json["errors"]
        self.assertIn("1000000", errors[0]["detail"].replace(",", ""))


class MediaTypes(Strict):
    def test_type__when_wrong_or_missing__then_415(self):
        for kind in (None, "text/plain", "application/xml", "multipart/form-data; boundary=x", "application/jsonx"):
            with self.subTest(kind=kind):
                self.assert_problem(self.http.post("/v1/orders", order(), content_type=kind), 415, "SYS-009")

    def test_type__when_form_and_the_body_is_no_object__then_415(self):
        for body in (b"userId=u-1&items=1", b"[]", b"1"):
            with self.subTest(body=body):
                reply = self.http.post("/v1/orders", body, content_type="application/x-www-form-urlencoded")
                self.assert_problem(reply, 415, "SYS-009")

    def test_type__when_json_in_some_spelling_or_curls_default__then_it_is_read(self):
        for kind in ("application/json; charset=utf-8", "Application/JSON", "application/x-www-form-urlencoded"):
            with self.subTest(kind=kind):
                reply = self.http.post("/v1/orders", line(quantity=101), content_type=kind)
                self.assert_problem(reply, 409, "PRD-002")

    def test_size__when_above_one_mebibyte__then_read_off_and_413(self):
        for size in (1024 * 1024 + 1, 3 * 1024 * 1024):
            with self.subTest(size=size):
                reply = self.http.post("/v1/orders", b" " * size)
                self.assert_problem(reply, 413, "SYS-008")
        self.assertEqual(self.http.get("/v1/products/1").status, 200)

    def test_size__when_exactly_one_mebibyte__then_it_is_read(self):
        body = json.dumps(line(quantity=101)).encode()
        reply = self.http.post("/v1/orders", body + b" " * (1024 * 1024 - len(body)))
        self.assert_problem(reply, 409, "PRD-002")

    def test_chunks__when_the_body_comes_in_pieces__then_it_is_read(self):
        body = json.dumps(line(quantity=101)).encode()
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 7]), body[i:i + 7]) for i in range(0, len(body), 7))
        reply = self.http.exchange(b"POST /v1/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                                   b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
        self.assert_problem(reply, 409, "PRD-002")


class Paths(Strict):
    def test_path__when_unknown__then_sys_007(self):
        for path in ("/", "/v1", "/v1/nothing", "/v1/orders/", "/v1//orders", "/v1/orders/1/", "/v1/orders/1/pay",
                     "/V1/orders", "/v1/orders%2F1", "/v2/orders", "/v1/inventory", "/problems"):
            with self.subTest(path=path):
                self.assert_problem(self.http.get(path), 404, "SYS-007")

    def test_path__when_badly_escaped__then_400(self):
        for path in ("/v1/orders/%00", "/v1/orders/%", "/v1/orders/%zz", "/v1/orders/%ff", "/v1/products/1%0a"):
            with self.subTest(path=path):
                self.assert_problem(self.http.get(path), 400, "SYS-003")

    def test_path__when_an_escape_spells_the_same_segment__then_it_is_the_same(self):
        self.assertEqual(self.http.get("/v1/products/%31").json["productId"], 1)

    def test_query__when_the_path_takes_none__then_400_names_it_and_nothing_is_done(self):
        for method, path in (("GET", "/v1/orders/1"), ("POST", "/v1/orders/1/cancel"), ("POST", "/v1/orders"),
                             ("PUT", "/v1/products/1"), ("GET", "/v1/inventory/audit"), ("POST", "/v1/events"),
                             ("POST", "/v1/reservations/r-1/release"), ("POST", "/v1/webhooks"),
                             ("DELETE", "/v1/webhooks/1"), ("POST", "/v1/outbox/replay"), ("GET", "/v1/dead-letters/1"),
                             ("POST", "/v1/queues/q/claims"), ("PUT", "/v1/schedules/s"), ("GET", "/v1/locks/a/events")):
            with self.subTest(f"{method} {path}"):
                reply = self.http.request(method, path + "?dryRun=true", {} if method == "POST" else None)
                errors = self.assert_problem(reply, 400, "SYS-003")["errors"]
                self.assertEqual([e["pointer"] for e in errors], ["#?dryRun"])
        self.assertEqual(self.http.get("/v1/orders/1").json["status"], "PENDING")

    def test_query__when_a_probe_adds_one__then_it_is_answered(self):
        for path in ("/healthz?t=1", "/readyz?verbose", "/metrics?name[]=x", "/version?a=1&a=2"):
            with self.subTest(path=path):
                self.assertEqual(self.http.get(path).status, 200)

    def test_id__when_no_id_of_ours__then_400_or_404_and_never_500(self):
        for path in ("/v1/products/0", "/v1/products/-1", "/v1/products/01", "/v1/products/x", "/v1/products/1.0",
                     f"/v1/products/{2**53}", "/v1/products/99999999999999999999", "/v1/inventory/0"):
            with self.subTest(path=path):
                self.assert_problem(self.http.get(path), 400, "SYS-003")
        for path in ("/v1/orders/0", "/v1/orders/x", f"/v1/orders/{2**63}", "/v1/orders/1%2F2"):
            with self.subTest(path=path):
                reply = self.http.get(path)
                self.assertIn((reply.status, reply.code), [(400, "SYS-003"), (404, "ORD-001")])
        self.assert_problem(self.http.put("/v1/products/0", {"name": "n", "price": 1}), 400, "SYS-003")

    def test_method__when_wrong__then_405_with_allow(self):
        for method, path, allowed in (
                ("DELETE", "/v1/orders", {"GET", "HEAD", "POST"}), ("PUT", "/v1/orders", {"GET", "HEAD", "POST"}),
                ("POST", "/v1/orders/1", {"GET", "HEAD"}), ("GET", "/v1/orders/1/cancel", {"POST"}),
                ("HEAD", "/v1/orders/1/cancel", {"POST"}), ("POST", "/v1/products/1", {"GET", "HEAD", "PUT"}),
                ("PATCH", "/v1/inventory/1", {"GET", "HEAD", "PUT"}), ("POST", "/healthz", {"GET", "HEAD"}),
                ("BREW", "/v1/orders", {"GET", "HEAD", "POST"})):
            with self.subTest(f"{method} {path}"):
                reply = self.http.request(method, path)
                self.assertEqual(reply.status, 405, reply)
                if method != "HEAD":
                    self.assert_problem(reply, 405, "SYS-005")
                self.assertEqual({m.strip() for m in reply.headers["allow"].split(",")} - {"OPTIONS"}, allowed)

    def test_head__when_get_works__then_head_does(self):
        for path in ("/v1/orders", "/v1/products/1", "/v1/inventory/1", "/v1/inventory/audit", "/healthz", "/readyz",
                     "/metrics", "/version"):
            with self.subTest(path=path):
                get, head = self.http.get(path), self.http.request("HEAD", path)
                self.assertEqual((head.status, head.body), (200, b""))
                self.assertEqual(head.headers.get("content-type"), get.headers.get("content-type"))


class RequestIds(Strict):
    def test_id__when_sane__then_it_comes_back_and_stands_in_the_log(self):
        for sent in ("abc-123", "0" * 64, "A.b_c-d"):
            reply = self.http.get("/v1/orders/987654321", headers={"X-Request-Id": sent})
            self.assertEqual((reply.headers["x-request-id"], reply.json["requestId"]), (sent, sent))

    def test_id__when_absent_or_mad__then_a_fresh_one(self):
        seen = set()
        for sent in (None, "", "a b", "x" * 300, '"><script>', "caf\xe9"):
            headers = {} if sent is None else {"X-Request-Id": sent}
            got = self.http.get("/v1/orders/987654321", headers=headers).headers["x-request-id"]
            self.assertNotEqual(got, sent)
            self.assertRegex(got, r"^[A-Za-z0-9._-]{8,64}$")
            seen.add(got)
        self.assertEqual(len(seen), 6)

    def test_id__when_any_answer__then_it_is_there(self):
        for path in ("/healthz", "/v1/orders", "/nope", "/metrics"):
            self.assertTrue(self.http.get(path).headers["x-request-id"])

    def test_header__when_too_large__then_431_and_the_service_lives(self):
        reply = self.client().get("/healthz", headers={"X-Big": "b" * 20000})
        self.assertEqual(reply.status, 431)
        self.assertEqual(self.http.get("/healthz").status, 200)

    def test_authorization__when_almost_4_kib__then_it_fits(self):
        self.assertEqual(self.http.get("/v1/products/1", headers={"Authorization": "Bearer " + "t" * 3800}).status, 200)


if __name__ == "__main__":
    main()
