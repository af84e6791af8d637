"""Idempotency-Key: one effect per key, the stored answer again, and only answers that were decided are stored."""

import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.load import Background, load
from support.wait import eventually


class Twins(Case):
    INSTANCES = 2

    def test_twins__when_fifty_at_once__then_one_order_and_fifty_equal_answers(self):
        product_id = self.product(stock=100)
        answers = load(50, lambda n: self.order((product_id, 2), key="twins", http=self.client(0)))
        self.check(product_id, answers)

    def test_twins__when_spread_over_two_instances__then_one_order(self):
        product_id = self.product(stock=100)
        answers = load(50, lambda n: self.order((product_id, 2), key="spread", http=self.client(n)))
        self.check(product_id, answers)

    def check(self, product_id, answers):
        self.assertEqual({a.status for a in answers}, {201}, [a for a in answers if a.status != 201][:3])
        self.assertEqual(len({a.body for a in answers}), 1)
        self.assertEqual(len({(a.headers["location"], a.headers["etag"]) for a in answers}), 1)
        self.assertEqual(sum("idempotency-replayed" not in a.headers for a in answers), 1)
        self.assertEqual((self.stock(product_id), self.sold(product_id)), (98, 2))

    def test_twins__when_each_key_comes_from_five_buyers__then_one_order_a_key(self):
        product_id = self.product(stock=100)
        answers = load(100, lambda n: self.order((product_id, 1), key=f"five-{n % 20}", http=self.client(n)))
        self.assertEqual({a.status for a in answers}, {201})
        self.assertEqual(len({a.json["id"] for a in answers}), 20)
        self.assertEqual(self.stock(product_id), 80)

    def test_twins__when_one_is_still_on_its_way__then_409_idm_003_with_retry_after(self):
        product_id = self.product(stock=10)
        session = self.db.session()
        self.addCleanup(session.close)
        with session.cursor() as cursor:
            cursor.execute("SELECT * FROM inventories WHERE product_id=%s FOR UPDATE", (product_id,))
        first = Background(lambda: self.order((product_id, 1), key="slow", http=self.client(0)))
        eventually(self.row_waits, 5, "its transaction waits for the row")
        twin = self.order((product_id, 1), key="slow", http=self.client(0))
        self.assert_problem(twin, 409, "IDM-003")
        self.assertGreaterEqual(int(twin.headers["retry-after"]), 1)
        session.rollback()
        done = first.result()
        self.assertEqual(done.status, 201, done)
        again = self.order((product_id, 1), key="slow")
        self.assertEqual((again.status, again.body, self.stock(product_id)), (201, done.body, 9))


class SlowTwins(Case):
    """Both transactions are open at once: each has read what stood under the key before the other wrote."""

    INSTANCES = 2
    FAULTS = "hold-before-commit=700"

    def race(self, key, first, second):
        """The first command on one instance, the second on the other as soon as the first has written."""
        ahead = Background(lambda: self.order((first, 1), key=key, http=self.client(0)))
        eventually(lambda: f"inventory-lock:{first}" in self.lock_keys(), 5, "the first is on its way")
        return ahead, self.order((second, 1), key=key, http=self.client(1))

    def test_reuse__when_another_instance_is_at_it_with_another_product__then_422(self):
        first, second = self.product(stock=10), self.product(stock=10)
        ahead, other = self.race("other", first, second)
        self.assertEqual(sorted([ahead.result().status, other.status]), [201, 422])
        self.assertEqual(self.stock(first) + self.stock(second), 19)

    def test_reuse__when_both_find_an_answer_that_is_too_old__then_one_of_them_replaces_it(self):
        first, second = self.product(stock=10), self.product(stock=10)
        self.ordered((first, 1), key="stale")
        self.db.run("UPDATE idempotency_keys SET created_at=created_at - INTERVAL 25 HOUR")
        ahead, other = self.race("stale", first, second)
        self.assertEqual(sorted([ahead.result().status, other.status]), [201, 422])
        self.assertEqual(self.stock(first) + self.stock(second), 18)


class NoLookUp(Case):
    FAULTS = "no-idempotency"

    def test_lookup__when_taken_out__then_a_repeat_gets_no_answer_and_only_the_unique_key_stands(self):
        product_id = self.product(stock=10)
        self.ordered((product_id, 1), key="twice")
        again = self.order((product_id, 1), key="twice")
        self.assertGreaterEqual(again.status, 400, again)
        self.assertNotIn("idempotency-replayed", again.headers)
        self.assertEqual((self.stock(product_id), self.sold(product_id)), (9, 1))


class Answers(Case):
    def again(self, product_id, quantity=1, key=None, **kw):
        return self.order((product_id, quantity), key=key, **kw)

    def test_replay__when_the_same_command_comes__then_status_body_and_headers_are_the_same(self):
        product_id = self.product(stock=10)
        first = self.again(product_id, key="same")
        again = self.again(product_id, key="same")
        self.assertEqual((again.status, again.body), (first.status, first.body))
        for name in ("content-type", "location", "etag"):
            self.assertEqual(again.headers[name], first.headers[name])
        self.assertEqual((first.headers.get("idempotency-replayed"), again.headers["idempotency-replayed"]),
                         (None, "true"))
        self.assertNotEqual(again.headers["x-request-id"], first.headers["x-request-id"])
        self.assertEqual(self.stock(product_id), 9)

    def test_replay__when_the_command_is_spelled_otherwise__then_it_is_the_same_command(self):
        lamp, desk = self.product(stock=10), self.product(stock=10)
        first = self.order((lamp, 3), (desk, 1), key="spelling")
        bodies = [b'{"items":[{"quantity":1,"productId":%d},{"productId":%d,"quantity":3}],"userId":"u-1"}' % (desk, lamp),
                  json.dumps({"userId": "u-1", "items": [{"productId": lamp, "quantity": 1},
                                                         {"productId": desk, "quantity": 1},
                                                         {"productId": lamp, "quantity": 2}]}, indent=2).encode()]
        for body in bodies:
            reply = self.http.post("/v1/orders", body, headers={"Idempotency-Key": '"spelling"'})
            self.assertEqual((reply.status, reply.body), (201, first.body), reply)
        self.assertEqual(self.stock(lamp), 7)

    def test_reuse__when_the_command_differs__then_422_and_the_first_stands(self):
        product_id = self.product(stock=10)
        first = self.again(product_id, key="reuse")
        with self.nothing_left():
            self.assert_problem(self.again(product_id, 2, key="reuse"), 422, "IDM-002")
            self.assert_problem(self.order((product_id, 1), user="u-2", key="reuse"), 422, "IDM-002")
        self.assertEqual(self.again(product_id, key="reuse").body, first.body)

    def test_key__when_older_than_a_day__then_it_counts_as_absent(self):
        product_id = self.product(stock=10)
        first = self.again(product_id, key="old")
        self.db.run("UPDATE idempotency_keys SET created_at=created_at - INTERVAL 23 HOUR")
        self.assertEqual(self.again(product_id, key="old").json["id"], first.json["id"])
        self.db.run("UPDATE idempotency_keys SET created_at=created_at - INTERVAL 2 HOUR")
        later = self.again(product_id, 2, key="old")
        self.assertEqual(later.status, 201, later)
        self.assertNotEqual(later.json["id"], first.json["id"])
        self.assertEqual(self.again(product_id, 2, key="old").json["id"], later.json["id"])
        self.assertEqual(self.stock(product_id), 7)

    def test_key__when_malformed__then_idm_001_and_nothing_left(self):
        product_id = self.product(stock=10)
        with self.nothing_left():
            for key in ("", '""', "k" * 256, "caf\xe9", '"open', '"a"b"', "a\tb"):
                with self.subTest(key=key[:10]):
                    reply = self.order((product_id, 1), headers=[("Idempotency-Key", key)])
                    self.assert_problem(reply, 400, "IDM-001")
            twice = self.order((product_id, 1), headers=[("Idempotency-Key", "a"), ("Idempotency-Key", "a")])
            self.assert_problem(twice, 400, "IDM-001")

    def test_key__when_at_its_limits__then_it_is_taken(self):
        product_id = self.product(stock=10)
        for key in ("k", "k" * 255, "with space inside", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~"):
            with self.subTest(key=key[:10]):
                first = self.order((product_id, 1), key=key)
                self.assertEqual(first.status, 201, first)
                self.assertEqual(self.order((product_id, 1), key=f'"{key}"').body, first.body)

    def test_key__when_used_on_another_route__then_it_is_another_key(self):
        product_id = self.product(stock=10)
        order = self.again(product_id, key="route").json
        headers = {"Idempotency-Key": "route"}
        asked = self.http.post(f"/v1/orders/{order['id']}/payment-request", headers=headers)
        self.assertEqual((asked.status, asked.json["status"]), (200, "PAYMENT_REQUESTED"))
        adjusted = self.http.post(f"/v1/inventory/{product_id}/adjustments", {"delta": 1, "reason": "in"}, headers=headers)
        self.assertEqual(adjusted.status, 200)

    def test_key__when_used_for_another_order_of_the_route__then_422(self):
        product_id = self.product(stock=10)
        one, two = (self.ordered((product_id, 1)) for _ in range(2))
        headers = {"Idempotency-Key": "two-orders"}
        self.assertEqual(self.http.post(f"/v1/orders/{one['id']}/cancel", headers=headers).status, 200)
        self.assert_problem(self.http.post(f"/v1/orders/{two['id']}/cancel", headers=headers), 422, "IDM-002")
        self.assertEqual(self.http.get(f"/v1/orders/{two['id']}").json["status"], "PENDING")

    def test_replay__when_if_match_is_stale_meanwhile__then_the_replay_wins(self):
        product_id = self.product(stock=10)
        etag = self.http.get(f"/v1/inventory/{product_id}").headers["etag"]
        headers = {"Idempotency-Key": "stale-match", "If-Match": etag}
        first = self.http.post(f"/v1/inventory/{product_id}/adjustments", {"delta": 1, "reason": "in"}, headers=headers)
        again = self.http.post(f"/v1/inventory/{product_id}/adjustments", {"delta": 1, "reason": "in"}, headers=headers)
        self.assertEqual((first.status, again.status, again.body), (200, 200, first.body))
        self.assertEqual(self.stock(product_id), 11)


class Stored(Case):
    """Which answers are kept under a key, and which never."""

    def twice(self, first, mend, path, body, status, code):
        """The same request before and after the cause is mended: the same answer when it was stored."""
        headers = {"Idempotency-Key": f"stored-{self.id()}-{code}-{path}"[-200:]}
        reply = self.http.post(path, body, headers=headers)
        self.assert_problem(reply, status, code)
        mend()
        again = self.http.post(path, body, headers=headers)
        if first:
            self.assertEqual((again.status, again.body), (status, reply.body))
            self.assertEqual(again.headers["idempotency-replayed"], "true")
        else:
            self.assertLess(again.status, 300, again)
        return again

    def body(self, product_id, quantity=1):
        return {"userId": "u-1", "items": [{"productId": product_id, "quantity": quantity}]}

    def test_prd_002__then_stored(self):
        product_id = self.product(stock=0)
        self.twice(True, lambda: self.http.post(f"/v1/inventory/{product_id}/adjustments", {"delta": 5, "reason": "in"}),
                   "/v1/orders", self.body(product_id), 409, "PRD-002")
        self.assertEqual(self.ordered((product_id, 1))["status"], "PENDING")

    def test_prd_001__then_not_stored(self):
        product_id = next(self.products)
        self.twice(False, lambda: self.product(product_id=product_id), "/v1/orders", self.body(product_id), 404, "PRD-001")

    def test_ord_002_and_ord_003__then_stored(self):
        order = self.ordered((self.product(), 1))
        cancel, ask = (f"/v1/orders/{order['id']}/{a}" for a in ("cancel", "payment-request"))
        self.http.post(cancel)
        reopen = lambda: self.db.run("UPDATE orders SET status='PENDING' WHERE id=%s", order["id"])
        close = lambda: self.db.run("UPDATE orders SET status='CANCELLED' WHERE id=%s", order["id"])
        self.twice(True, reopen, cancel, None, 409, "ORD-002")
        close()
        self.twice(True, reopen, ask, None, 409, "ORD-003")
        close()

    def test_pay_001__then_stored(self):
        order = self.ordered((self.product(price=10), 1))
        path = f"/v1/orders/{order['id']}/payment"
        body = {"result": "COMPLETED", "paymentKey": "stored-pay", "amount": 11}
        self.twice(True, lambda: self.db.run("UPDATE orders SET total_amount=11 WHERE id=%s", order["id"]), path, body,
                   422, "PAY-001")
        self.db.run("UPDATE orders SET total_amount=10 WHERE id=%s", order["id"])

    def test_ord_001__then_not_stored(self):
        order = self.ordered((self.product(), 1))
        path = f"/v1/orders/{order['id']}/cancel"
        self.db.run("UPDATE orders SET id=id+1000000 WHERE id=%s", order["id"])
        self.twice(False, lambda: self.db.run("UPDATE orders SET id=id-1000000 WHERE id=%s", order["id"] + 1000000),
                   path, None, 404, "ORD-001")

    def test_sys_003_and_sys_009__then_not_stored(self):
        product_id = self.product(stock=10)
        headers = {"Idempotency-Key": "mended"}
        self.assert_problem(self.http.post("/v1/orders", {"userId": "u-1"}, headers=headers), 400, "SYS-003")
        self.assert_problem(self.http.post("/v1/orders", self.body(product_id), headers=headers,
                                           content_type="text/plain"), 415, "SYS-009")
        self.assertEqual(self.http.post("/v1/orders", self.body(product_id), headers=headers).status, 201)


class Credentials(Case):
    INSTANCES = 0

    def test_key__when_another_credential_uses_it__then_it_is_another_key(self):
        path = os.path.join(self.stack.folder, "idempotency-tokens.json")
        entry = lambda name: {"name": name, "sha256": hashlib.sha256(f"token-{name}".encode()).hexdigest(),
                              "scopes": ["orders", "inventory"]}
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"tokens": [entry("one"), entry("two")]}, file)
        service = self.instance("a", env={"LOCKSTOCK_TOKENS_FILE": path}).start()
        clients = [service.http(headers=[("Authorization", f"Bearer token-{n}")]) for n in ("one", "two")]
        self.http = clients[0]
        product_id = self.product(stock=10)
        orders = [self.order((product_id, 1), key="shared", http=http) for http in clients]
        self.assertEqual([o.status for o in orders], [201, 201])
        self.assertNotEqual(orders[0].json["id"], orders[1].json["id"])
        self.assertEqual(self.order((product_id, 1), key="shared", http=clients[1]).body, orders[1].body)
        for http in clients:
            http.close()


if __name__ == "__main__":
    main()
