"""Reservations (api/openapi.yaml): stock for services that keep their own orders."""

import hashlib
import json
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.load import Background, load

PATH = "/v1/reservations"


class Reservations(Case):
    def lines(self, *lines):
        return [{"productId": p, "quantity": q} for p, q in lines]

    def reserve(self, order_id, *lines, http=None, key=None, **more):
        headers = [("Idempotency-Key", key)] if key else []
        return (http or self.http).post(PATH, {"orderId": order_id, "items": self.lines(*lines), **more},
                                        headers=headers)

    def act(self, order_id, action, http=None, key=None):
        headers = [("Idempotency-Key", key)] if key else []
        return (http or self.http).post(f"{PATH}/{urllib.parse.quote(order_id, safe='')}/{action}", headers=headers)

    def read(self, order_id, http=None):
        return (http or self.http).get(f"{PATH}/{urllib.parse.quote(order_id, safe='')}")

    def reserved(self, order_id, *lines, **kw):
        reply = self.reserve(order_id, *lines, **kw)
        self.assertEqual(reply.status, 201, reply)
        return reply.json

    def results(self, order_id):
        return [event["payload"] for event in self.events(order_id, "stock.reservation.result")]


class Journey(Reservations):
    def test_reserve__when_there_is_stock__then_held_and_explained(self):
        lamp, desk = self.product(stock=10), self.product(stock=5)
        reply = self.reserve("ext-1", (desk, 1), (lamp, 2), (lamp, 1), ttlMs=60000)
        self.assertEqual((reply.status, reply.headers["location"], reply.headers["etag"]),
                         (201, f"{PATH}/ext-1", '"1"'))
        document = reply.json
        self.assertEqual((document["orderId"], document["status"], document["reason"], document["version"]),
                         ("ext-1", "RESERVED", None, 1))
        self.assertEqual(document["items"], self.lines((lamp, 3), (desk, 1)))
        self.assertTrue(0 < document["expiresInMs"] <= 60000)
        self.assertEqual((self.stock(lamp), self.stock(desk)), (7, 4))
        self.assertEqual([(m["kind"], m["delta"], m["order_ref"]) for m in self.movements(lamp)[1:]],
                         [("ORDER", -3, "r:anonymous:ext-1")])
        [told] = self.results("ext-1")
        self.assertEqual((told["orderId"], told["status"], told["reserved"], told["reason"]),
                         ("ext-1", "RESERVED", True, None))
        self.assertEqual((told["items"], told["reservationExpiresAt"]), (document["items"], document["expiresAt"]))
        read = self.read("ext-1")
        self.assertEqual((read.status, read.headers["etag"]), (200, '"1"'))
        self.assertEqual({**read.json, "expiresInMs": 0}, {**document, "expiresInMs": 0})
        self.assert_audit_clean()

    def test_confirm__when_reserved__then_kept_and_repeatable(self):
        lamp = self.product(stock=10)
        self.reserved("ext-2", (lamp, 2))
        first, again = self.act("ext-2", "confirm"), self.act("ext-2", "confirm")
        self.assertEqual((first.status, first.json["status"], first.json["version"]), (200, "CONFIRMED", 2))
        self.assertEqual(again.json, first.json)
        self.assertEqual(self.reserve("ext-2", (lamp, 2)).json, first.json)
        self.assert_problem(self.act("ext-2", "release"), 409, "RSV-002", reservationStatus="CONFIRMED")
        self.assertEqual((self.stock(lamp), [r["status"] for r in self.results("ext-2")]),
                         (8, ["RESERVED", "CONFIRMED"]))
        self.assert_audit_clean()

    def test_release__when_reserved__then_stock_comes_back_once(self):
        lamp = self.product(stock=10)
        self.reserved("ext-3", (lamp, 2))
        first, again = self.act("ext-3", "release"), self.act("ext-3", "release")
        self.assertEqual((first.status, first.json["status"], first.json["reason"]), (200, "RELEASED", "CANCELLED"))
        self.assertEqual(again.json, first.json)
        self.assertEqual(self.stock(lamp), 10)
        self.assert_problem(self.act("ext-3", "confirm"), 409, "RSV-002", reservationStatus="RELEASED")
        self.assert_problem(self.reserve("ext-3", (lamp, 2)), 409, "RSV-002", reservationStatus="RELEASED")
        self.assertEqual([(r["status"], r["reserved"], r["reason"]) for r in self.results("ext-3")],
                         [("RESERVED", True, None), ("RELEASED", False, "CANCELLED")])
        self.assertEqual([e["aggregate_version"] for e in self.events("ext-3")], [1, 2])
        self.assert_audit_clean()

    def test_reserve__when_repeated__then_the_same(self):
        lamp = self.product(stock=10)
        first = self.reserved("ext-4", (lamp, 1), (lamp, 1))
        again = self.reserve("ext-4", (lamp, 2), ttlMs=1000)
        self.assertEqual((again.status, {**again.json, "expiresInMs": 0}), (200, {**first, "expiresInMs": 0}))
        self.assertNotIn("location", again.headers)
        self.assert_problem(self.reserve("ext-4", (lamp, 3)), 422, "RSV-003")
        self.assertEqual((self.stock(lamp), len(self.results("ext-4"))), (8, 1))

    def test_reserve__when_one_line_is_short__then_failed_for_good(self):
        lamp, desk = self.product(stock=10), self.product(stock=1)
        problem = self.assert_problem(self.reserve("ext-5", (lamp, 1), (desk, 2)), 409, "PRD-002")
        self.assertEqual((problem["productId"], problem["requested"], problem["available"]), (desk, 2, 1))
        self.assertEqual((self.stock(lamp), self.stock(desk)), (10, 1))
        document = self.read("ext-5").json
        self.assertEqual((document["status"], document["reason"], document["expiresAt"]),
                         ("FAILED", "OUT_OF_STOCK", None))
        self.assertEqual([(r["status"], r["reserved"], r["reason"]) for r in self.results("ext-5")],
                         [("FAILED", False, "OUT_OF_STOCK")])
        self.http.post(f"/v1/inventory/{desk}/adjustments", {"delta": 9, "reason": "more"})
        self.assert_problem(self.reserve("ext-5", (lamp, 1), (desk, 2)), 409, "RSV-002", reservationStatus="FAILED")
        self.assert_problem(self.act("ext-5", "confirm"), 409, "RSV-002", reservationStatus="FAILED")
        self.assertEqual(self.act("ext-5", "release").json["status"], "FAILED")
        self.assertEqual(len(self.results("ext-5")), 1)
        self.assert_audit_clean()

    def test_reserve__when_a_product_is_unknown__then_nothing_is_left(self):
        lamp = self.product(stock=10)
        with self.nothing_left():
            self.assert_problem(self.reserve("ext-6", (lamp, 1), (999999, 1)), 404, "PRD-001", productId=999999)
        self.assert_problem(self.read("ext-6"), 404, "RSV-001")
        self.assert_problem(self.act("ext-6", "confirm"), 404, "RSV-001")
        self.assertEqual(self.reserve("ext-6", (lamp, 1)).status, 201)

    def test_release__when_it_comes_first__then_a_tombstone_refuses_the_reserve(self):
        lamp = self.product(stock=10)
        first, again = self.act("ext-7", "release"), self.act("ext-7", "release")
        self.assertEqual((first.status, first.json["status"], first.json["items"], first.json["reason"]),
                         (200, "CANCEL_REQUESTED", [], "CANCELLED"))
        self.assertEqual(again.json, first.json)
        self.assert_problem(self.reserve("ext-7", (lamp, 1)), 409, "RSV-002", reservationStatus="CANCEL_REQUESTED")
        self.assert_problem(self.act("ext-7", "confirm"), 409, "RSV-002", reservationStatus="CANCEL_REQUESTED")
        self.assertEqual((self.stock(lamp), [r["status"] for r in self.results("ext-7")]), (10, ["CANCEL_REQUESTED"]))
        self.assert_audit_clean()

    def test_reserve_and_release__when_at_the_same_time__then_nothing_is_held_in_the_end(self):
        lamp = self.product(stock=1000)

        def pair(n):
            if n % 2 == 0:
                return self.reserve(f"race-{n // 2}", (lamp, 1), http=self.client())
            return self.act(f"race-{n // 2}", "release", http=self.client())

        answers = load(80, pair)
        self.assertTrue({a.status for a in answers[1::2]} == {200}, answers[1::2])
        self.assertTrue({(a.status, a.code) for a in answers[0::2]} <= {(201, None), (409, "RSV-002")})
        self.assertEqual(self.stock(lamp), 1000)
        self.assertTrue({self.read(f"race-{n}").json["status"] for n in range(40)} <= {"RELEASED", "CANCEL_REQUESTED"})
        self.assert_audit_clean()

    def test_confirm_and_release__when_at_the_same_time__then_one_wins(self):
        lamp = self.product(stock=1000)
        for n in range(30):
            self.reserved(f"duel-{n}", (lamp, 1))
        answers = load(60, lambda n: self.act(f"duel-{n // 2}", ("confirm", "release")[n % 2], http=self.client()))
        confirmed = 0
        for n in range(30):
            pair = [a.status for a in answers[2 * n:2 * n + 2]]
            self.assertEqual(sorted(pair), [200, 409])
            status = self.read(f"duel-{n}").json["status"]
            self.assertEqual(status, "CONFIRMED" if pair[0] == 200 else "RELEASED")
            confirmed += status == "CONFIRMED"
            self.assertEqual([r["status"] for r in self.results(f"duel-{n}")], ["RESERVED", status])
        self.assertEqual(self.stock(lamp), 1000 - confirmed)
        self.assert_audit_clean()

    def test_reserve__when_fifty_want_the_same_order__then_one_is_made(self):
        lamp = self.product(stock=1000)
        answers = load(50, lambda n: self.reserve("crowd", (lamp, 2), http=self.client()))
        self.assertEqual(sorted(a.status for a in answers), [200] * 49 + [201])
        self.assertEqual((self.stock(lamp), len(self.results("crowd"))), (998, 1))

    def test_reserve__when_more_want_than_there_is__then_not_oversold(self):
        lamp = self.product(stock=30)
        answers = load(60, lambda n: self.reserve(f"many-{n}", (lamp, 1), http=self.client()))
        self.assertEqual(sorted(a.status for a in answers), [201] * 30 + [409] * 30)
        self.assertEqual(self.stock(lamp), 0)
        self.assertEqual(self.db.value("SELECT COUNT(*) FROM stock_reservations WHERE status='FAILED'"
                                       " AND LEFT(order_id, 5)='many-'"), 30)
        self.assert_audit_clean()


class Audit(Reservations):
    def test_audit__when_a_reservation_changed_without_its_stock__then_a_violation(self):
        lamp = self.product(stock=10)
        self.reserved("planted", (lamp, 3))
        self.assert_audit_clean()
        self.db.run("UPDATE stock_reservations SET status='RELEASED' WHERE order_id='planted'")
        self.assertEqual([(f["kind"], f["productId"], f["ledger"], f["expected"]) for f in self.audit()["violations"]],
                         [("reservations-differ", lamp, 3, 0)])
        self.db.run("UPDATE stock_reservations SET status='CONFIRMED', items='no json' WHERE order_id='planted'")
        self.assertEqual([f["kind"] for f in self.audit()["violations"]], ["reservations-differ"])
        self.db.run("UPDATE stock_reservations SET items=%s WHERE order_id='planted'", json.dumps(self.lines((lamp, 3))))
        self.assert_audit_clean()


class Foreign(Reservations):
    """A session of somebody else sits on the row of a reservation."""

    ENV = {"LOCKSTOCK_REQUEST_DEADLINE_MS": 2500}

    def test_row__when_held__then_only_its_commands_wait(self):
        lamp = self.product(stock=10)
        for order_id in ("sat-on", "free"):
            self.reserved(order_id, (lamp, 1))
        session = self.db.session()
        self.addCleanup(session.close)
        with session.cursor() as cursor:
            cursor.execute("SELECT * FROM stock_reservations FORCE INDEX (uk_stock_reservation_order)"
                           " WHERE credential='anonymous'"
                           " AND order_id='sat-on' FOR UPDATE")
        held = [Background(self.act, "sat-on", action, self.client()) for action in ("confirm", "release")]
        self.assertEqual(self.act("free", "confirm").json["status"], "CONFIRMED")
        self.assertEqual(self.reserve("tail", (lamp, 1)).status, 201)  # outside of the gap its session locks too
        for one in held:
            self.assert_problem(one.result(), 503, "SYS-011")
        waiting = Background(self.act, "sat-on", "confirm", self.client())
        session.rollback()
        self.assertEqual(waiting.result().json["status"], "CONFIRMED")
        self.assertEqual(self.stock(lamp), 7)
        self.assert_audit_clean()


class Keys(Reservations):
    def test_key__when_repeated__then_the_stored_answer(self):
        lamp, desk = self.product(stock=10), self.product(stock=0)
        for order_id, lines, status in (("key-1", (lamp, 1), 201), ("key-2", (desk, 1), 409)):
            first, again = (self.reserve(order_id, lines, key=f"k-{order_id}") for _ in range(2))
            self.assertEqual((first.status, again.status, again.body), (status, status, first.body))
            self.assertEqual(again.headers["idempotency-replayed"], "true")
            self.assertEqual(again.headers.get("location"), first.headers.get("location"))
        self.assert_problem(self.reserve("key-1", (lamp, 2), key="k-key-1"), 422, "IDM-002")
        self.assert_problem(self.reserve("key-3", (lamp, 1), key="k-key-1"), 422, "IDM-002")

    def test_key__when_refused_by_the_state__then_stored(self):
        lamp = self.product(stock=10)
        self.act("key-4", "release")
        self.reserved("key-5", (lamp, 1))
        for order_id, code, status in (("key-4", "RSV-002", 409), ("key-5", "RSV-003", 422)):
            first, again = (self.reserve(order_id, (lamp, 2), key=f"k-{order_id}") for _ in range(2))
            self.assertEqual((first.status, first.code), (status, code))
            self.assertEqual((again.body, again.headers["idempotency-replayed"]), (first.body, "true"))

    def test_key__when_not_found__then_decided_anew(self):
        lamp = self.product(stock=10)
        self.assertEqual(self.act("key-6", "confirm", key="k-6").status, 404)
        self.reserved("key-6", (lamp, 1))
        self.assertEqual(self.act("key-6", "confirm", key="k-6").json["status"], "CONFIRMED")

    def test_key__when_a_long_order_id__then_the_location_is_stored_whole(self):
        lamp = self.product(stock=10)
        order_id = "Ω/" * 21
        first, again = (self.reserve(order_id, (lamp, 1), key="k-long") for _ in range(2))
        self.assertEqual(first.headers["location"], f"{PATH}/{urllib.parse.quote(order_id, safe='')}")
        self.assertEqual(again.headers["location"], first.headers["location"])
        self.assertEqual(self.http.get(first.headers["location"]).json["orderId"], order_id)


class Input(Reservations):
    def bad(self, body, pointer, path=PATH):
        with self.nothing_left():
            found = self.assert_problem(self.http.post(path, body), 400, "SYS-003")["errors"]
        self.assertEqual(found[0]["pointer"], pointer, found)

    def test_body__when_odd__then_refused_and_named(self):
        lamp = self.product(stock=10)
        items = self.lines((lamp, 1))
        good = {"orderId": "odd", "items": items}
        for change, pointer in (({"orderId": None}, "#/orderId"), ({"orderId": ""}, "#/orderId"),
                                ({"orderId": "x" * 65}, "#/orderId"), ({"orderId": 42}, "#/orderId"),
                                ({"orderId": " a"}, "#/orderId"), ({"orderId": "a\u0007"}, "#/orderId"),
                                ({"items": []}, "#/items"), ({"items": items * 101}, "#/items"), ({"items": {}}, "#/items"),
                                ({"items": [{"productId": lamp}]}, "#/items/0/quantity"),
                                ({"items": self.lines((lamp, 0))}, "#/items/0/quantity"),
                                ({"items": self.lines((lamp, 1.5))}, "#/items/0/quantity"),
                                ({"items": self.lines((lamp, 1000000), (lamp, 1))}, "#/items"),
                                ({"ttlMs": 999}, "#/ttlMs"), ({"ttlMs": 31536000001}, "#/ttlMs"),
                                ({"ttlMs": "1000"}, "#/ttlMs"), ({"userId": "u"}, "#/userId")):
            with self.subTest(change):
                self.bad({**good, **change}, pointer)
        self.bad({"items": items}, "#/orderId")
        self.bad({"orderId": "odd"}, "#/items")
        self.assertEqual(self.read("odd").status, 404)

    def test_path__when_odd__then_refused(self):
        for segment in ("x" * 65, "%20a", "a%20", "%07", "%FF"):
            for method, path in (("GET", ""), ("POST", "/confirm"), ("POST", "/release")):
                with self.subTest(segment + path):
                    with self.nothing_left():
                        reply = self.http.request(method, f"{PATH}/{segment}{path}")
                    self.assertEqual((reply.status, reply.code), (400, "SYS-003"), reply)
        self.assertEqual(self.http.request("GET", f"{PATH}/a%00").status, 400)
        self.bad({"reason": "x"}, "#/reason", f"{PATH}/odd/release")
        self.assertEqual(self.http.request("DELETE", f"{PATH}/odd").headers["allow"], "GET, HEAD")

    def test_row__when_somebody_spoilt_it__then_its_commands_fail_alone(self):
        lamp = self.product(stock=10)
        for order_id in ("spoilt", "sound"):
            self.reserved(order_id, (lamp, 1))
        self.db.run("UPDATE stock_reservations SET items='[' WHERE order_id='spoilt'")
        answers = load(8, lambda n: self.act(("spoilt", "sound")[n % 2], "confirm", http=self.client()))
        self.assertEqual([a.status for a in answers], [500, 200] * 4)
        self.db.run("DELETE FROM stock_reservations WHERE order_id='spoilt'")
        self.db.run("DELETE FROM stock_movements WHERE order_ref='r:anonymous:spoilt'")

    def test_order_id__when_odd_but_allowed__then_verbatim(self):
        lamp = self.product(stock=100)
        for order_id in ("a/b", "a%2Fb", "..", "Größe Ω", "A", "a", "42", "x" * 64):
            with self.subTest(order_id):
                self.assertEqual(self.reserved(order_id, (lamp, 1))["orderId"], order_id)
                self.assertEqual(self.read(order_id).json["orderId"], order_id)
                self.assertEqual(self.act(order_id, "release").json["orderId"], order_id)
        self.assertEqual(self.stock(lamp), 100)
        self.assert_audit_clean()


class Credentials(Reservations):
    """Order ids are the caller's own, whatever a name and an id together spell."""

    INSTANCES = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        path = os.path.join(cls.stack.folder, "reservation-tokens.json")
        names = {"a": ["inventory"], "a:b": ["inventory"], "a ": ["inventory"], "buyer": ["orders"]}
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"tokens": [{"name": n, "sha256": hashlib.sha256(repr(n).encode()).hexdigest(), "scopes": s}
                                  for n, s in names.items()]}, file)
        cls.service = cls.instance("guarded", env={"LOCKSTOCK_TOKENS_FILE": path}).start()

    def who(self, name):
        http = self.services[0].http(headers=[("Authorization", f"Bearer {name!r}")])
        self.addCleanup(http.close)
        return http

    def setUp(self):
        super().setUp()
        self.http = self.who("a")

    def test_credential__when_two_use_one_order_id__then_each_has_its_own(self):
        lamp = self.product(stock=100)
        callers = {name: self.who(name) for name in ("a", "a:b", "a ")}
        for http in callers.values():
            self.reserved("c", (lamp, 1), http=http)
            self.reserved("b:c", (lamp, 1), http=http)
        self.assertEqual(self.stock(lamp), 94)
        self.assertEqual(self.act("c", "confirm", http=callers["a"]).json["status"], "CONFIRMED")
        self.assertEqual(self.act("c", "release", http=callers["a:b"]).json["status"], "RELEASED")
        self.assertEqual([self.read("c", http=h).json["status"] for h in callers.values()],
                         ["CONFIRMED", "RELEASED", "RESERVED"])
        refs = {m["order_ref"] for m in self.movements(lamp)[1:]}
        self.assertEqual(refs, {"r:a:c", "r:a:b:c", "r3:a:b:c", "r3:a:b:b:c", "r:a :c", "r:a :b:c"})
        self.assert_audit_clean()

    def test_scope__when_it_is_another__then_403(self):
        for method, path in (("POST", PATH), ("GET", f"{PATH}/c"), ("POST", f"{PATH}/c/confirm"),
                             ("POST", f"{PATH}/c/release")):
            self.assert_problem(self.who("buyer").request(method, path), 403, "SYS-004")


if __name__ == "__main__":
    main()
