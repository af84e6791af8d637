"""Products, stock with its version, the ledger, foreign writers, and the audit that must notice what does not add up."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.load import load

SAFE_MAX = 2**53 - 1


class Products(Case):
    def put(self, product_id, **body):
        return self.http.put(f"/v1/products/{product_id}", body)

    def test_put__when_new__then_201_with_stock_and_its_first_movement(self):
        product_id = next(self.products)
        reply = self.put(product_id, name="Lampe é", price=199, stock=7)
        self.assertEqual(reply.status, 201, reply)
        self.assertEqual({k: reply.json[k] for k in ("productId", "name", "price", "status")},
                         {"productId": product_id, "name": "Lampe é", "price": 199, "status": "ON_SALE"})
        self.assertEqual([(m["kind"], m["delta"], m["stock_after"]) for m in self.movements(product_id)],
                         [("INITIAL", 7, 7)])
        self.assertEqual(self.http.get(f"/v1/products/{product_id}").json["name"], "Lampe é")
        changed = self.events(product_id, "stock.changed")
        self.assertEqual([e["payload"]["stock"] for e in changed], [7])

    def test_put__when_it_exists__then_name_and_price_change_and_stock_does_not(self):
        product_id = self.product(stock=7)
        self.assertEqual(self.put(product_id, name="New", price=3).status, 200)
        self.assertEqual(self.put(product_id, name="Newer", price=4, stock=7).status, 200)
        self.assert_problem(self.put(product_id, name="Wrong", price=5, stock=8), 400, "SYS-003")
        read = self.http.get(f"/v1/products/{product_id}").json
        self.assertEqual((read["name"], read["price"], self.stock(product_id)), ("Newer", 4, 7))
        self.assertEqual(len(self.movements(product_id)), 1)

    def test_put__when_no_stock_is_given__then_zero(self):
        product_id = next(self.products)
        self.assertEqual(self.put(product_id, name="Bare", price=0).status, 201)
        self.assertEqual(self.inventory(product_id)["stock"], 0)

    def test_put__when_twenty_at_once__then_one_is_201(self):
        product_id = next(self.products)
        answers = load(20, lambda n: self.client().put(f"/v1/products/{product_id}",
                                                       {"name": "Twin", "price": 1, "stock": 5}))
        self.assertEqual(sorted(a.status for a in answers), [200] * 19 + [201], answers)
        self.assertEqual((self.stock(product_id), len(self.movements(product_id))), (5, 1))

    def test_put__when_the_id_is_the_largest__then_it_works(self):
        self.product(stock=SAFE_MAX, price=1, product_id=SAFE_MAX)
        self.assertEqual(self.inventory(SAFE_MAX)["stock"], SAFE_MAX)
        self.ordered((SAFE_MAX, 1000000))
        self.assertEqual(self.inventory(SAFE_MAX)["stock"], SAFE_MAX - 1000000)

    def test_price__when_changed__then_only_later_orders_feel_it(self):
        product_id = self.product(price=100)
        before = self.ordered((product_id, 1))
        self.put(product_id, name="Lamp", price=150)
        after = self.ordered((product_id, 1))
        self.assertEqual((before["totalAmount"], after["totalAmount"]), (100, 150))
        self.assertEqual(self.http.get(f"/v1/orders/{before['id']}").json["totalAmount"], 100)

    def test_get__when_unknown__then_prd_001(self):
        for path in ("products", "inventory"):
            self.assert_problem(self.http.get(f"/v1/{path}/987654321"), 404, "PRD-001", productId=987654321)
        self.assert_problem(self.http.get("/v1/inventory/987654321/movements"), 404, "PRD-001")

    def test_list__when_paged__then_each_once_ascending(self):
        for _ in range(5):
            self.product()
        found, cursor = [], ""
        while cursor is not None:
            page = self.http.get(f"/v1/products?limit=2&cursor={cursor}" if cursor else "/v1/products?limit=2").json
            self.assertLessEqual(len(page["items"]), 2)
            found += [p["productId"] for p in page["items"]]
            cursor = page["nextCursor"]
        self.assertEqual(found, [r["id"] for r in self.db.rows("SELECT id FROM products ORDER BY id")])


class Preconditions(Case):
    def put(self, product_id, stock, match=None, http=None):
        headers = {"If-Match": match} if match is not None else {}
        return (http or self.http).put(f"/v1/inventory/{product_id}", {"stock": stock}, headers=headers)

    def etag(self, product_id):
        reply = self.http.get(f"/v1/inventory/{product_id}")
        self.assertEqual(reply.headers["etag"], f'"{reply.json["version"]}"')
        return reply.headers["etag"]

    def test_put__when_no_if_match__then_428(self):
        product_id = self.product(stock=5)
        with self.nothing_left():
            self.assert_problem(self.put(product_id, 9), 428, "PRD-006")

    def test_put__when_current__then_set_with_a_new_etag_and_a_movement(self):
        product_id = self.product(stock=5)
        old = self.etag(product_id)
        reply = self.put(product_id, 9, old)
        self.assertEqual((reply.status, reply.json["stock"]), (200, 9), reply)
        self.assertEqual(reply.headers["etag"], self.etag(product_id))
        self.assertNotEqual(reply.headers["etag"], old)
        row = self.movements(product_id)[-1]
        self.assertEqual((row["kind"], row["delta"], row["stock_after"]), ("SET", 4, 9))

    def test_put__when_stale_or_weak__then_412_and_nothing_left(self):
        product_id = self.product(stock=5)
        stale = self.etag(product_id)
        self.ordered((product_id, 1))
        current = self.inventory(product_id)["version"]
        with self.nothing_left():
            for match in (stale, f'W/"{current}"', '"no-version"', f'{stale}, "77777"'):
                with self.subTest(match=match):
                    self.assert_problem(self.put(product_id, 9, match), 412, "PRD-005", currentVersion=current)

    def test_put__when_star_or_one_of_a_list__then_set(self):
        product_id = self.product(stock=5)
        self.assertEqual(self.put(product_id, 6, "*").status, 200)
        self.assertEqual(self.put(product_id, 7, f'"99999", {self.etag(product_id)}').status, 200)
        self.assertEqual(self.stock(product_id), 7)

    def test_put__when_unknown__then_prd_001(self):
        self.assert_problem(self.put(987654321, 1, "*"), 404, "PRD-001")

    def test_put__when_twenty_hold_one_etag__then_one_wins(self):
        product_id = self.product(stock=5)
        etag = self.etag(product_id)
        answers = load(20, lambda n: self.put(product_id, 100 + n, etag, self.client()))
        self.assertEqual(sorted(a.status for a in answers), [200] + [412] * 19)
        winner = next(n for n, a in enumerate(answers) if a.status == 200)
        self.assertEqual(self.stock(product_id), 100 + winner)


class Adjustments(Case):
    def adjust(self, product_id, delta, reason="count", **kw):
        return self.http.post(f"/v1/inventory/{product_id}/adjustments", {"delta": delta, "reason": reason}, **kw)

    def test_adjust__when_it_fits__then_stock_etag_and_movement(self):
        product_id = self.product(stock=5)
        for delta, after in ((3, 8), (-8, 0)):
            reply = self.adjust(product_id, delta, reason="recount é")
            self.assertEqual((reply.status, reply.json["stock"], reply.json["productId"]), (200, after, product_id), reply)
            self.assertEqual(reply.headers["etag"], f'"{reply.json["version"]}"')
            row = self.movements(product_id)[-1]
            self.assertEqual((row["kind"], row["delta"], row["stock_after"], row["reason"]),
                             ("ADJUST", delta, after, "recount é"))

    def test_adjust__when_below_zero__then_prd_002(self):
        product_id = self.product(stock=5)
        version = self.inventory(product_id)["version"]
        with self.nothing_left():
            self.assert_problem(self.adjust(product_id, -6), 409, "PRD-002", productId=product_id, requested=6,
                                available=5, version=version)

    def test_adjust__when_above_the_largest__then_400(self):
        product_id = self.product(stock=SAFE_MAX)
        with self.nothing_left():
            self.assert_problem(self.adjust(product_id, 1), 400, "SYS-003")
        self.assertEqual(self.adjust(product_id, -SAFE_MAX).json["stock"], 0)

    def test_adjust__when_unknown__then_prd_001(self):
        self.assert_problem(self.adjust(987654321, 1), 404, "PRD-001", productId=987654321)

    def test_adjust__when_repeated_with_its_key__then_once(self):
        product_id = self.product(stock=5)
        first = self.adjust(product_id, 2, headers={"Idempotency-Key": "adjust-once"})
        again = self.adjust(product_id, 2, headers={"Idempotency-Key": "adjust-once"})
        self.assertEqual((again.status, again.body, again.headers["etag"]), (200, first.body, first.headers["etag"]))
        self.assertEqual((again.headers["idempotency-replayed"], self.stock(product_id)), ("true", 7))

    def test_adjust__when_mixed_with_orders_at_once__then_the_sum_is_right(self):
        product_id = self.product(stock=100)
        answers = load(40, lambda n: self.client().post(f"/v1/inventory/{product_id}/adjustments",
                                                        {"delta": 2, "reason": "in"}) if n % 2
                       else self.order((product_id, 3), http=self.client()))
        self.assertEqual(sorted({a.status for a in answers}), [200, 201])
        self.assertEqual(self.stock(product_id), 100 + 20 * 2 - 20 * 3)
        self.assert_audit_clean()


class Ledger(Case):
    def listed(self, product_id, query=""):
        reply = self.http.get(f"/v1/inventory/{product_id}/movements{query}")
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def test_movements__when_listed__then_newest_first_with_causes(self):
        product_id = self.product(stock=10)
        order = self.ordered((product_id, 4))
        self.http.post(f"/v1/orders/{order['id']}/cancel")
        items = self.listed(product_id)["items"]
        self.assertEqual([(i["kind"], i["delta"], i["stockAfter"], i["orderId"]) for i in items],
                         [("RESTORE", 4, 10, order["id"]), ("ORDER", -4, 6, order["id"]), ("INITIAL", 10, 10, None)])
        self.assertEqual(set(items[0]), {"id", "kind", "delta", "stockAfter", "version", "orderId", "reason", "at"})

    def test_movements__when_paged__then_each_once(self):
        product_id = self.product(stock=10)
        for _ in range(4):
            self.ordered((product_id, 1))
        found, cursor = [], None
        for _ in range(10):
            page = self.listed(product_id, "?limit=2" + (f"&cursor={cursor}" if cursor else ""))
            found += [i["id"] for i in page["items"]]
            cursor = page["nextCursor"]
            if cursor is None:
                break
        self.assertEqual(found, [m["id"] for m in reversed(self.movements(product_id))])

    def test_foreign__when_another_writer_keeps_the_version__then_its_change_is_recorded_first(self):
        product_id = self.product(stock=10)
        self.db.run("UPDATE inventories SET stock=stock-3, version=version+1 WHERE product_id=%s", product_id)
        found = self.audit()
        self.assertEqual(found["violations"], [])
        self.assertEqual([f["productId"] for f in found["foreign"]], [product_id])
        self.ordered((product_id, 2))
        self.assertEqual([(m["kind"], m["delta"], m["stock_after"]) for m in self.movements(product_id)],
                         [("INITIAL", 10, 10), ("FOREIGN", -3, 7), ("ORDER", -2, 5)])
        self.assert_audit_clean()

    def test_foreign__when_the_stock_is_the_same_again__then_sales_go_on_and_the_audit_is_clean(self):
        product_id = self.product(stock=10)
        self.db.run("UPDATE inventories SET version=version+2 WHERE product_id=%s", product_id)
        self.ordered((product_id, 1))
        self.assertEqual(self.stock(product_id), 9)
        self.assert_audit_clean()

    def test_opening__when_a_foreign_writer_made_the_row__then_its_stock_opens_the_ledger(self):
        known, made = self.product(stock=1), next(self.products)
        for table, key in (("products", "id"), ("inventories", "product_id")):
            columns = [r["COLUMN_NAME"] for r in self.db.rows(
                "SELECT COLUMN_NAME FROM information_schema.columns WHERE table_schema=DATABASE() AND table_name=%s",
                table)]
            skip = {key, "id", "ledger_stock", "ledger_version"}
            names = ", ".join(c for c in columns if c not in skip)
            self.db.run(f"INSERT INTO {table} ({key}, {names}) SELECT %s, {names} FROM {table} WHERE {key}=%s",
                        made, known)
        self.db.run("UPDATE inventories SET stock=8, version=5 WHERE product_id=%s", made)
        self.assertEqual(self.audit()["violations"], [])
        self.ordered((made, 3))
        self.assertEqual([(m["kind"], m["delta"], m["stock_after"]) for m in self.movements(made)],
                         [("OPENING", 8, 8), ("ORDER", -3, 5)])
        self.assertEqual(self.inventory(made)["version"], 6)
        self.assert_audit_clean()


class Audit(Case):
    def planted(self, kind, product_id):
        found = self.audit()
        self.assertIn((kind, product_id), [(v["kind"], v["productId"]) for v in found["violations"]], found)

    def test_audit__when_all_is_well__then_it_counts_the_products(self):
        product_id = self.product(stock=10)
        order = self.ordered((product_id, 4))
        self.ordered((product_id, 1))
        self.http.post(f"/v1/orders/{order['id']}/cancel")
        found = self.audit()
        self.assertEqual((found["violations"], found["foreign"]), ([], []))
        self.assertEqual(found["products"], self.db.count("inventories"))
        self.assertRegex(found["checkedAt"], r"Z$")

    def test_audit__when_stock_changed_without_the_version__then_a_violation(self):
        product_id = self.product(stock=10)
        self.db.run("UPDATE inventories SET stock=stock+1 WHERE product_id=%s", product_id)
        self.planted("ledger-differs", product_id)
        self.db.run("UPDATE inventories SET stock=stock-1 WHERE product_id=%s", product_id)
        self.assert_audit_clean()

    def test_audit__when_a_movement_is_changed__then_a_violation(self):
        product_id = self.product(stock=10)
        self.db.run("UPDATE stock_movements SET delta=11 WHERE product_id=%s", product_id)
        self.planted("ledger-differs", product_id)
        self.db.run("UPDATE stock_movements SET delta=10 WHERE product_id=%s", product_id)
        self.assert_audit_clean()

    def test_audit__when_an_order_holds_more_than_it_took__then_a_violation(self):
        product_id = self.product(stock=10)
        order = self.ordered((product_id, 2))
        self.db.run("UPDATE order_items SET quantity=5 WHERE order_id=%s", order["id"])
        self.planted("orders-differ", product_id)
        self.db.run("UPDATE order_items SET quantity=2 WHERE order_id=%s", order["id"])
        self.assert_audit_clean()

    def test_audit__when_an_order_was_cancelled_without_its_stock__then_a_violation(self):
        product_id = self.product(stock=10)
        order = self.ordered((product_id, 2))
        self.db.run("UPDATE orders SET status='CANCELLED' WHERE id=%s", order["id"])
        self.planted("orders-differ", product_id)
        self.db.run("UPDATE orders SET status='PENDING' WHERE id=%s", order["id"])
        self.assert_audit_clean()

    def test_schema__when_a_writer_goes_below_zero__then_the_table_refuses(self):
        product_id = self.product(stock=1)
        with self.assertRaises(Exception):
            self.db.run("UPDATE inventories SET stock=-1, version=version+1 WHERE product_id=%s", product_id)


if __name__ == "__main__":
    main()
