"""Orders from creation to their end: documents, stock, ledger, payments, and the events of the same transaction."""

import os
import re
import sys
import zlib
from datetime import datetime

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.load import Background, load
from support.wait import eventually

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
NUMBER = re.compile(r"^ORD-\d{8}-[0-9A-HJKMNP-TV-Z]+$")
UUID = re.compile(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


class Creation(Case):
    def test_order__when_stock_suffices__then_the_document_is_whole(self):
        lamp, desk = self.product(stock=10, price=250), self.product(stock=10, price=1000)
        reply = self.order((desk, 1), (lamp, 2), user="u-7")
        self.assertEqual(reply.status, 201, reply)
        order = reply.json
        self.assertEqual(reply.headers["content-type"].split(";")[0], "application/json")
        self.assertEqual(reply.headers["location"], f"/v1/orders/{order['id']}")
        self.assertEqual(reply.headers["etag"], f'"{order["version"]}"')
        self.assertEqual((order["status"], order["userId"], order["totalAmount"]), ("PENDING", "u-7", 1500))
        self.assertEqual(order["items"], [{"productId": lamp, "quantity": 2, "unitPrice": 250},
                                          {"productId": desk, "quantity": 1, "unitPrice": 1000}])
        self.assertRegex(order["orderNumber"], NUMBER)
        self.assertRegex(order["createdAt"], TIME)
        self.assertRegex(order["expiresAt"], TIME)
        self.assertEqual((moment(order["expiresAt"]) - moment(order["createdAt"])).total_seconds(), 1800)
        self.assertEqual((self.stock(lamp), self.stock(desk)), (8, 9))

    def test_order__when_lines_repeat_a_product__then_they_are_summed(self):
        lamp, desk = self.product(stock=10), self.product(stock=10)
        order = self.ordered((lamp, 2), (desk, 1), (lamp, 3))
        self.assertEqual([(i["productId"], i["quantity"]) for i in order["items"]], [(lamp, 5), (desk, 1)])
        self.assertEqual([m["delta"] for m in self.movements(lamp)], [10, -5])

    def test_order__when_only_the_sum_exceeds_stock__then_it_is_refused(self):
        lamp = self.product(stock=4)
        with self.nothing_left():
            self.assert_problem(self.order((lamp, 3), (lamp, 3)), 409, "PRD-002", productId=lamp, requested=6,
                                available=4, version=self.inventory(lamp)["version"])

    def test_order__when_one_line_is_short__then_all_or_nothing(self):
        lamp, desk = self.product(stock=10), self.product(stock=1)
        with self.nothing_left():
            self.assert_problem(self.order((lamp, 2), (desk, 2)), 409, "PRD-002", productId=desk, requested=2,
                                available=1)

    def test_order__when_a_product_is_missing__then_404_and_nothing_left(self):
        lamp = self.product(stock=10)
        with self.nothing_left():
            self.assert_problem(self.order((lamp, 1), (999999, 1)), 404, "PRD-001", productId=999999)

    def test_order__when_the_total_would_overflow__then_400_and_nothing_left(self):
        gold = self.product(stock=10, price=2**53 - 1)
        with self.nothing_left():
            self.assert_problem(self.order((gold, 2)), 400, "SYS-003")
        self.assertEqual(self.ordered((gold, 1))["totalAmount"], 2**53 - 1)

    def test_order__when_the_last_unit_goes__then_the_next_buyer_is_refused(self):
        lamp = self.product(stock=1)
        self.ordered((lamp, 1))
        self.assert_problem(self.order((lamp, 1)), 409, "PRD-002", available=0)
        self.assertEqual(self.stock(lamp), 0)

    def test_order__when_it_has_a_hundred_lines__then_it_goes_through(self):
        ids = [self.product(stock=2) for _ in range(100)]
        order = self.ordered(*((p, 1) for p in reversed(ids)))
        self.assertEqual([i["productId"] for i in order["items"]], ids)

    def test_ledger__when_ordered__then_one_row_a_line_with_its_cause(self):
        lamp, desk = self.product(stock=10), self.product(stock=20)
        order = self.ordered((lamp, 2), (desk, 3))
        row = self.movements(desk)[-1]
        self.assertEqual((row["kind"], row["delta"], row["stock_after"], row["order_ref"]),
                         ("ORDER", -3, 17, f"o:{order['id']}"))
        self.assertEqual(row["version"], self.inventory(desk)["version"])
        lines = [self.movements(p)[-1]["line_no"] for p in (lamp, desk)]
        self.assertEqual(len(set(lines)), 2)


class Reading(Case):
    def test_get__when_created__then_the_same_document_and_etag(self):
        created = self.order((self.product(), 1))
        read = self.http.get(created.headers["location"])
        self.assertEqual((read.status, read.json, read.headers["etag"]),
                         (200, created.json, created.headers["etag"]))
        head = self.http.request("HEAD", created.headers["location"])
        self.assertEqual((head.status, head.body, head.headers["etag"]), (200, b"", created.headers["etag"]))
        self.assertEqual(int(head.headers["content-length"]), len(read.body))

    def test_get__when_unknown__then_ord_001(self):
        self.assert_problem(self.http.get("/v1/orders/987654321"), 404, "ORD-001")

    def pages(self, path):
        """All items of a list, page by page."""
        items, cursor = [], None
        for _ in range(50):
            reply = self.http.get(path + (f"&cursor={cursor}" if cursor else ""))
            self.assertEqual(reply.status, 200, reply)
            page = reply.json
            self.assertEqual(set(page), {"items", "nextCursor"})
            items += page["items"]
            cursor = page["nextCursor"]
            if cursor is None:
                return items
        raise AssertionError("a list without end")

    def test_list__when_paged__then_every_order_once_newest_first(self):
        lamp = self.product()
        ids = [self.ordered((lamp, 1), user="pager")["id"] for _ in range(7)]
        self.ordered((lamp, 1), user="other")
        for limit in (1, 3, 7, 500):
            found = [o["id"] for o in self.pages(f"/v1/orders?userId=pager&limit={limit}")]
            self.assertEqual(found, sorted(ids, reverse=True))

    def test_list__when_an_order_comes_between_pages__then_no_row_twice_or_lost(self):
        lamp = self.product()
        ids = [self.ordered((lamp, 1), user="moving")["id"] for _ in range(4)]
        first = self.http.get("/v1/orders?userId=moving&limit=2").json
        self.ordered((lamp, 1), user="moving")
        rest = self.pages(f"/v1/orders?userId=moving&limit=2&cursor={first['nextCursor']}&")
        self.assertEqual([o["id"] for o in first["items"] + rest], sorted(ids, reverse=True))

    def test_list__when_filtered_by_status__then_only_those(self):
        lamp = self.product()
        kept, gone = self.ordered((lamp, 1), user="filter"), self.ordered((lamp, 1), user="filter")
        self.http.post(f"/v1/orders/{gone['id']}/cancel")
        for status, order in (("PENDING", kept), ("CANCELLED", gone)):
            items = self.http.get(f"/v1/orders?userId=filter&status={status}").json["items"]
            self.assertEqual([o["id"] for o in items], [order["id"]])
        self.assertEqual(self.http.get("/v1/orders?userId=nobody").json, {"items": [], "nextCursor": None})

    def test_list__when_the_query_is_wrong__then_400(self):
        lamp = self.product()
        for _ in range(2):
            self.ordered((lamp, 1))
        foreign = self.http.get(f"/v1/products?limit=1").json["nextCursor"] or "AAAA"
        for query in ("limit=0", "limit=501", "limit=x", "limit=", "cursor=%21%21", "status=GONE", f"cursor={foreign}"):
            with self.subTest(query=query):
                self.assert_problem(self.http.get(f"/v1/orders?{query}"), 400, "SYS-003")


class States(Case):
    ENV = {"LOCKSTOCK_JOBS": "off"} # what is expired here stays as it is

    def act(self, order, action, body=None, status=200, **kw):
        reply = self.http.post(f"/v1/orders/{order['id']}/{action}", body, **kw)
        self.assertEqual(reply.status, status, reply)
        if status == 200:
            self.assertEqual(reply.headers["etag"], f'"{reply.json["version"]}"')
        return reply.json if status == 200 else reply

    def pay(self, order, result="COMPLETED", key=None, amount=None, status=200):
        body = {"result": result, "paymentKey": key or f"pay-{order['id']}",
                "amount": order["totalAmount"] if amount is None else amount}
        return self.act(order, "payment", body, status)

    def types(self, order):
        return [e["event_type"] for e in self.events(order["id"]) if e["aggregate_type"] != "PRODUCT"]

    def test_payment_request__when_pending__then_requested_once(self):
        order = self.ordered((self.product(), 1))
        asked = self.act(order, "payment-request")
        self.assertEqual((asked["status"], asked["version"]), ("PAYMENT_REQUESTED", order["version"] + 1))
        again = self.act(order, "payment-request", status=409)
        found = self.assert_problem(again, 409, "ORD-003", orderStatus="PAYMENT_REQUESTED")
        self.assertEqual(set(found["allowed"]), {"PAYMENT_COMPLETED", "PAYMENT_FAILED", "CANCELLED"})
        self.assertEqual(self.types(order), ["order.created", "order.payment_requested"])

    def test_payment_request__when_expired__then_ord_003(self):
        order = self.ordered((self.product(), 1))
        self.db.run("UPDATE orders SET expires_at=UTC_TIMESTAMP(3) - INTERVAL 1 SECOND WHERE id=%s", order["id"])
        self.assert_problem(self.act(order, "payment-request", status=409), 409, "ORD-003", orderStatus="PENDING")

    def test_payment__when_completed__then_paid_once_per_key(self):
        order = self.ordered((self.product(), 2))
        self.act(order, "payment-request")
        paid = self.pay(order)
        self.assertEqual(paid["status"], "PAYMENT_COMPLETED")
        self.assertEqual(self.pay(order), paid)
        self.assertEqual(self.types(order)[-1:], ["payment.completed"])
        self.assertEqual(self.db.rows("SELECT status, amount, payment_key FROM payments WHERE order_id=%s", order["id"]),
                         [{"status": "APPROVED", "amount": order["totalAmount"], "payment_key": f"pay-{order['id']}"}])

    def test_payment__when_pending__then_it_passes_through_payment_requested(self):
        order = self.ordered((self.product(), 1))
        self.assertEqual(self.pay(order)["status"], "PAYMENT_COMPLETED")
        self.assertEqual(self.types(order), ["order.created", "order.payment_requested", "payment.completed"])
        self.assertIsNotNone(self.db.value("SELECT payment_requested_at FROM orders WHERE id=%s", order["id"]))

    def test_payment__when_failed__then_cancelled_and_stock_back_with_both_events(self):
        lamp = self.product(stock=10)
        order = self.ordered((lamp, 4))
        self.act(order, "payment-request")
        done = self.pay(order, "FAILED")
        self.assertEqual((done["status"], self.stock(lamp)), ("CANCELLED", 10))
        self.assertEqual(self.pay(order, "FAILED"), done)
        self.assertEqual(self.stock(lamp), 10)
        self.assertEqual(self.types(order)[-2:], ["payment.failed", "order.cancelled"])
        cancelled = self.events(order["id"], "order.cancelled")
        self.assertEqual([e["payload"]["reason"] for e in cancelled], ["PAYMENT_FAILED"])
        row = self.movements(lamp)[-1]
        self.assertEqual((row["kind"], row["delta"], row["order_ref"]), ("RESTORE", 4, f"o:{order['id']}"))

    def test_payment__when_the_order_is_cancelled__then_a_compensation_per_key_and_no_stock(self):
        lamp = self.product(stock=10)
        order = self.ordered((lamp, 1))
        cancelled = self.act(order, "cancel")
        self.assertEqual(self.pay(order), cancelled)
        self.assertEqual(self.pay(order), cancelled)
        self.assertEqual(self.pay(order, key="second-key"), cancelled)
        rows = self.db.rows("SELECT reason, status FROM order_compensations WHERE order_id=%s", order["id"])
        self.assertEqual(rows, [{"reason": "PAID_BUT_CANCELLED", "status": "OPEN"}] * 2, "two keys, two payments")
        refunds = self.events(order["id"], "payment.refund_required")
        self.assertEqual([r["payload"]["paymentKey"] for r in refunds], [f"pay-{order['id']}", "second-key"])
        self.assertEqual(refunds[0]["payload"]["amount"], order["totalAmount"])
        self.assertEqual(self.stock(lamp), 10)

    def test_payment__when_paid_with_a_second_key__then_one_compensation(self):
        order = self.ordered((self.product(), 1))
        paid = self.pay(order)
        for _ in range(2):
            self.assertEqual(self.pay(order, key=f"other-{order['id']}"), paid)
        rows = self.db.rows("SELECT reason FROM order_compensations WHERE order_id=%s", order["id"])
        self.assertEqual([r["reason"] for r in rows], ["PAID_TWICE"])
        self.assertEqual(len(self.events(order["id"], "payment.refund_required")), 1)

    def test_payment__when_failed_after_completed__then_no_change(self):
        lamp = self.product(stock=10)
        order = self.ordered((lamp, 1))
        paid = self.pay(order)
        self.assertEqual(self.pay(order, "FAILED"), paid)
        self.assertEqual(self.pay(order, "FAILED", key="late-failure"), paid)
        self.assertEqual((self.stock(lamp), self.events(order["id"], "payment.failed")), (9, []))

    def test_payment__when_amount_or_key_do_not_fit__then_pay_001_and_nothing_left(self):
        first, second = (self.ordered((self.product(), 1)) for _ in range(2))
        self.pay(first, key="shared-key")
        with self.nothing_left():
            self.assert_problem(self.pay(second, amount=second["totalAmount"] + 1, status=422), 422, "PAY-001")
            self.assert_problem(self.pay(second, key="shared-key", status=422), 422, "PAY-001")
        self.assertEqual(self.http.get(f"/v1/orders/{second['id']}").json["status"], "PENDING")

    def test_actions__when_the_order_is_unknown__then_ord_001(self):
        ghost = {"id": 987654321, "totalAmount": 1}
        self.assert_problem(self.act(ghost, "cancel", status=404), 404, "ORD-001")
        self.assert_problem(self.act(ghost, "payment-request", status=404), 404, "ORD-001")
        self.assert_problem(self.pay(ghost, status=404), 404, "ORD-001")
        self.assert_problem(self.act(ghost, "status", {"status": "SHIPPED"}, 404), 404, "ORD-001")

    def test_cancel__when_repeated__then_once_and_ord_002(self):
        lamp = self.product(stock=10)
        order = self.ordered((lamp, 3))
        done = self.act(order, "cancel", {"reason": "CHANGED_MIND"})
        self.assertEqual((done["status"], self.stock(lamp)), ("CANCELLED", 10))
        self.assert_problem(self.act(order, "cancel", status=409), 409, "ORD-002", orderStatus="CANCELLED")
        self.assertEqual(self.stock(lamp), 10)
        events = self.events(order["id"], "order.cancelled")
        self.assertEqual([e["payload"]["reason"] for e in events], ["CHANGED_MIND"])

    def test_cancel__when_the_body_is_absent__then_user_requested(self):
        order = self.ordered((self.product(), 1))
        self.act(order, "cancel")
        self.assertEqual(self.events(order["id"], "order.cancelled")[0]["payload"]["reason"], "USER_REQUESTED")

    def test_cancel__when_repeated_with_its_key__then_the_200_again(self):
        order = self.ordered((self.product(), 1))
        headers = {"Idempotency-Key": f"cancel-{order['id']}"}
        first = self.act(order, "cancel", headers=headers)
        self.assertEqual(self.act(order, "cancel", headers=headers), first)

    def test_cancel__when_twenty_at_once__then_stock_returns_once(self):
        lamp = self.product(stock=10)
        order = self.ordered((lamp, 4))
        answers = load(20, lambda n: self.client().post(f"/v1/orders/{order['id']}/cancel"))
        self.assertEqual(sorted(a.status for a in answers), [200] + [409] * 19)
        self.assertEqual({a.code for a in answers if a.status == 409}, {"ORD-002"})
        self.assertEqual((self.stock(lamp), len(self.events(order["id"], "order.cancelled"))), (10, 1))

    def test_cancel__when_it_races_a_failed_payment__then_stock_returns_once(self):
        lamp = self.product(stock=50)
        orders = [self.ordered((lamp, 1)) for _ in range(10)]

        def end(number):
            order, http = orders[number // 2], self.client()
            if number % 2:
                return http.post(f"/v1/orders/{order['id']}/cancel")
            return http.post(f"/v1/orders/{order['id']}/payment", {"result": "FAILED", "amount": order["totalAmount"],
                                                                   "paymentKey": f"race-{order['id']}"})

        answers = load(20, end)
        self.assertTrue({a.status for a in answers} <= {200, 409}, answers)
        self.assertEqual(self.stock(lamp), 50)
        for order in orders:
            self.assertEqual(len(self.events(order["id"], "order.cancelled")), 1)

    def test_cancel__when_paid__then_ord_003(self):
        order = self.ordered((self.product(), 1))
        self.pay(order)
        found = self.assert_problem(self.act(order, "cancel", status=409), 409, "ORD-003",
                                    orderStatus="PAYMENT_COMPLETED")
        self.assertEqual(found["allowed"], ["PREPARING"])

    def test_status__when_in_order__then_delivered_and_no_step_skipped(self):
        order = self.ordered((self.product(), 1))
        self.pay(order)
        self.assert_problem(self.act(order, "status", {"status": "SHIPPED"}, 409), 409, "ORD-003",
                            orderStatus="PAYMENT_COMPLETED", allowed=["PREPARING"])
        for status in ("PREPARING", "SHIPPED", "DELIVERED"):
            self.assertEqual(self.act(order, "status", {"status": status})["status"], status)
        self.assert_problem(self.act(order, "status", {"status": "PREPARING"}, 409), 409, "ORD-003", allowed=[])
        self.assert_problem(self.act(order, "cancel", status=409), 409, "ORD-003", orderStatus="DELIVERED")

    def test_compensations__when_resolved__then_it_stays_resolved(self):
        order = self.ordered((self.product(), 1))
        self.act(order, "cancel")
        self.pay(order)
        items = self.http.get("/v1/compensations?limit=500").json["items"]
        row = next(i for i in items if i["orderId"] == order["id"])
        self.assertEqual((row["reason"], row["status"], row["resolvedAt"]), ("PAID_BUT_CANCELLED", "OPEN", None))
        first = self.http.post(f"/v1/compensations/{row['id']}/resolve")
        self.assertEqual((first.status, first.json["status"]), (200, "RESOLVED"))
        self.assertRegex(first.json["resolvedAt"], TIME)
        self.assertEqual(self.http.post(f"/v1/compensations/{row['id']}/resolve").json, first.json)
        self.assert_problem(self.http.post("/v1/compensations/987654321/resolve"), 404, "SYS-013")


class Ids(Case):
    def test_ids__when_two_products_sell_side_by_side__then_no_block_is_thrown_away(self):
        lamps = [self.product(stock=1000), self.product(stock=1000)]
        before = self.db.value("SELECT COALESCE(MAX(next_id), 1) FROM id_blocks")

        def buy_ten(number):
            http = self.client()
            for _ in range(10):
                self.ordered((lamps[number % 2], 1), http=http)

        load(20, buy_ten)
        drawn = self.db.value("SELECT next_id FROM id_blocks") - before
        self.assertLessEqual(drawn, 2000, "a block for each of the two trains in the air, no more")


class PaymentKeys(Case):
    def test_payment__when_its_key_has_blanks_at_its_ends__then_400(self):
        """The column's unique key would see no difference: a second payment would be taken for the first."""
        lamp = self.product(stock=10, price=100)
        first, second = self.ordered((lamp, 1))["id"], self.ordered((lamp, 1))["id"]
        pay = lambda order, key: self.http.post(f"/v1/orders/{order}/payment",
                                                {"result": "COMPLETED", "paymentKey": key, "amount": 100})
        self.assertEqual(pay(first, "blank").status, 200)
        for key in ("blank ", " blank", " "):
            self.assert_problem(pay(second, key), 400, "SYS-003")
        self.assert_problem(self.order((lamp, 1), user="u-1 "), 400, "SYS-003")
        self.assert_problem(self.http.get("/v1/orders?userId=u-1%20"), 400, "SYS-003")
        self.assert_problem(self.http.get("/v1/orders?status=PENDING&status=CANCELLED"), 400, "SYS-003")
        self.assertEqual((self.db.count("payments"), self.db.count("order_compensations")), (1, 0))


class Events(Case):
    def test_outbox__when_ordered__then_rows_are_complete_and_pending(self):
        lamp = self.product(stock=10, price=5)
        order = self.ordered((lamp, 2), headers=[("traceparent", "00-" + "a" * 32 + "-" + "b" * 16 + "-01")])
        created = self.events(order["id"], "order.created")[0]
        self.assertEqual(created["payload"], {
            "orderId": order["id"], "orderNumber": order["orderNumber"], "userId": "u-1", "totalAmount": 10,
            "items": order["items"], "expiresAt": order["expiresAt"]})
        self.assertEqual((created["aggregate_type"], created["aggregate_version"], created["status"]),
                         ("ORDER", order["version"], "PENDING"))
        self.assertRegex(created["event_id"], UUID)
        changed = [e for e in self.events(lamp, "stock.changed") if e["payload"]["stock"] == 8]
        self.assertEqual([e["payload"] for e in changed],
                         [{"productId": lamp, "stock": 8, "version": self.inventory(lamp)["version"]}])
        self.assertEqual((changed[0]["aggregate_type"], changed[0]["aggregate_version"]),
                         ("PRODUCT", self.inventory(lamp)["version"]))
        self.assertIn("a" * 32, created["trace_id"])
        for row in (created, changed[0]):
            self.assertEqual(row["part"], zlib.crc32(row["aggregate_id"].encode()) % 64)

    def test_outbox__when_many_orders_ride__then_ids_grow_with_the_version_of_the_aggregate(self):
        lamp = self.product(stock=1000)
        load(40, lambda n: self.order((lamp, 1), http=self.client()))
        rows = self.events(lamp, "stock.changed")
        versions = [r["aggregate_version"] for r in rows]
        self.assertEqual(versions, sorted(set(versions)), "one event per version, in id order")
        self.assertEqual(rows[-1]["payload"]["stock"], 960)

    def test_outbox__when_one_command_takes_two_steps__then_each_event_has_its_own_version(self):
        """A receiver that drops what is not newer than what it saw must see both."""
        lamp = self.product(stock=10, price=100)
        for result, types in (("COMPLETED", ["order.payment_requested", "payment.completed"]),
                              ("FAILED", ["payment.failed", "order.cancelled"])):
            order = self.ordered((lamp, 1))
            reply = self.http.post(f"/v1/orders/{order['id']}/payment",
                                   {"result": result, "paymentKey": f"steps-{result}", "amount": 100})
            self.assertEqual((reply.status, reply.json["version"]), (200, order["version"] + 2), reply)
            told = [(e["event_type"], e["aggregate_version"]) for e in self.events(order["id"])[1:]]
            self.assertEqual(told, [(types[0], order["version"] + 1), (types[1], order["version"] + 2)])

    def test_outbox__when_its_insert_fails__then_that_order_fails_alone(self):
        """The event row is in the order's transaction, and one bad command never fails its neighbours."""
        lamp = self.product(stock=100)
        self.db.run("CREATE TRIGGER poison BEFORE INSERT ON outbox_events FOR EACH ROW BEGIN"
                    " IF NEW.payload LIKE '%%poisoned%%' THEN SIGNAL SQLSTATE '23000' SET MESSAGE_TEXT='poisoned';"
                    " END IF; END")
        try:
            answers = load(20, lambda n: self.order((lamp, 1), user="poisoned" if n == 7 else "fine",
                                                    http=self.client()))
        finally:
            self.db.run("DROP TRIGGER poison")
        found = self.assert_problem(answers[7], 500, "SYS-001")
        lines = [e for e in self.service.log() if e.get("requestId") == found["requestId"] and e["level"] == "error"]
        self.assertEqual(len(lines), 1, "one failure, one line")
        self.assertEqual([a.status for n, a in enumerate(answers) if n != 7], [201] * 19)
        self.assertEqual(self.db.count("orders", "user_id='poisoned'"), 0)
        self.assertEqual((self.stock(lamp), self.sold(lamp)), (81, 19))
        self.assert_orders_whole()
        self.assert_audit_clean()

    def test_ids__when_a_foreign_insert_used_our_block__then_orders_go_on_above_it(self):
        lamp = self.product(stock=100)
        before = self.ordered((lamp, 1))["id"]
        columns = [r["COLUMN_NAME"] for r in self.db.rows(
            "SELECT COLUMN_NAME FROM information_schema.columns WHERE table_schema=DATABASE()"
            " AND table_name='orders' AND COLUMN_NAME NOT IN ('id', 'order_number') AND EXTRA NOT LIKE '%%GENERATED%%'")]
        names = ", ".join(columns)
        self.db.run(f"INSERT INTO orders (id, order_number, {names}) SELECT id + 1, 'FOREIGN-1', {names} FROM orders"
                    " WHERE id=%s", before)
        after = [self.ordered((lamp, 1))["id"] for _ in range(3)]
        self.assertEqual(len(set(after)), 3)
        self.assertNotIn(before + 1, after)
        self.db.run("DELETE FROM orders WHERE order_number='FOREIGN-1'")


class EarlyCancel(Case):
    """A client that guesses the next id cancels an order while its transaction is open."""

    INSTANCES = 2
    FAULTS = "hold-before-commit=600"

    def test_cancel__when_the_order_comes_to_be_only_then__then_it_was_not_there(self):
        lamp = self.product(stock=10)
        following = self.ordered((lamp, 1))["id"] + 1
        coming = Background(lambda: self.order((lamp, 1), http=self.client(0)))
        eventually(lambda: f"inventory-lock:{lamp}" in self.lock_keys(), 5, "it is on its way")
        early = self.client(1).post(f"/v1/orders/{following}/cancel")
        made = coming.result()
        self.assertEqual(made.json["id"], following)
        self.assert_problem(early, 404, "ORD-001")
        self.assertEqual(self.client(1).post(f"/v1/orders/{following}/cancel").status, 200)
        self.assertEqual(self.stock(lamp), 9)


if __name__ == "__main__":
    main()
