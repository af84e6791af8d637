"""Time that is over: orders nobody paid and reservations nobody confirmed give their stock back by themselves."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.schedules import period
from support.wait import eventually, holds_for

JOBS = ("orderTimeoutCancelJob", "orderReservationExpiryJob", "stockReservationSweepJob")
EVERY = {name: text for job in JOBS for name, text in period(job, "PT0.2S").items()}
LATE = "UTC_TIMESTAMP(6) - INTERVAL %s SECOND"


class Timeouts(Case):
    ENV = EVERY

    def status(self, order):
        return self.db.value("SELECT status FROM orders WHERE id=%s", order["id"])

    def until(self, order, status="CANCELLED"):
        eventually(lambda: self.status(order) == status, 10, f"order {order['id']} {status}")

    def act(self, order, action, body=None):
        return self.http.post(f"/v1/orders/{order['id']}/{action}", body)

    def pay(self, order, key="pay"):
        return self.act(order, "payment", {"result": "COMPLETED", "paymentKey": f"{key}-{order['id']}",
                                           "amount": order["totalAmount"]})

    def expire(self, order, seconds=1):
        self.db.run(f"UPDATE orders SET expires_at={LATE} WHERE id=%s", seconds, order["id"])

    def request_long_ago(self, order, seconds):
        self.assertEqual(self.act(order, "payment-request").status, 200)
        self.db.run(f"UPDATE orders SET payment_requested_at={LATE} WHERE id=%s", seconds, order["id"])

    def assert_timed_out(self, order, product_id):
        self.assertEqual([(e["payload"]["reason"], e["payload"]["orderId"]) for e in
                          self.events(order["id"], "order.cancelled")], [("TIMEOUT", order["id"])])
        last = self.movements(product_id)[-1]
        self.assertEqual((last["kind"], last["reason"], last["order_ref"]), ("RESTORE", "TIMEOUT", f"o:{order['id']}"))


class Orders(Timeouts):
    def test_pending__when_past_its_time__then_cancelled_once_and_the_stock_is_back(self):
        lamp = self.product(stock=10)
        order, young = self.ordered((lamp, 3)), self.ordered((lamp, 2))
        self.expire(order)
        self.until(order)
        self.assertEqual((self.stock(lamp), self.status(young)), (8, "PENDING"))
        self.assert_timed_out(order, lamp)
        self.assertGreaterEqual(self.metric("lockstock_timeouts_total", outcome="cancelled"), 1)
        self.assertGreaterEqual(self.metric("lockstock_job_items_total", job="orderReservationExpiryJob"), 1)
        self.assert_audit_clean()

    def test_requested__when_unpaid_for_too_long__then_cancelled(self):
        lamp = self.product(stock=10)
        order, young = self.ordered((lamp, 1)), self.ordered((lamp, 2))
        self.request_long_ago(order, 901)
        self.request_long_ago(young, 800)
        self.expire(young) # its time to ask for the payment, which was asked for
        self.until(order)
        self.assert_timed_out(order, lamp)
        self.assertEqual((self.stock(lamp), self.status(young)), (8, "PAYMENT_REQUESTED"))
        self.assert_audit_clean()

    def test_paid__when_its_times_are_over__then_kept(self):
        lamp = self.product(stock=10)
        order, other = self.ordered((lamp, 1)), self.ordered((lamp, 1))
        self.assertEqual(self.pay(order).status, 200)
        self.db.run(f"UPDATE orders SET payment_requested_at={LATE}, expires_at={LATE} WHERE id=%s", 9999, 9999, order["id"])
        self.expire(other)
        self.until(other)
        self.assertEqual((self.status(order), self.stock(lamp)), ("PAYMENT_COMPLETED", 9))

    def test_payment__when_it_comes_after_the_timeout__then_one_compensation_and_no_stock(self):
        lamp = self.product(stock=10)
        order = self.ordered((lamp, 4))
        self.expire(order)
        self.until(order)
        self.assertEqual([self.pay(order).json["status"] for _ in range(2)], ["CANCELLED"] * 2)
        self.assertEqual((self.stock(lamp), self.db.count("order_compensations", "order_id=%s", order["id"]),
                          len(self.events(order["id"], "payment.refund_required"))), (10, 1, 1))

    def test_scan__when_something_cannot_be_done__then_the_rest_is(self):
        lost, lamp = self.product(stock=10), self.product(stock=10)
        stuck = [self.ordered((lost, 1)) for _ in range(3)]
        fine = [self.ordered((lamp, 1)) for _ in range(3)]
        self.db.run("DELETE FROM inventories WHERE product_id=%s", lost)
        for order in stuck:
            self.expire(order, 100)
        for order in fine:
            self.expire(order, 10)
        for order in fine:
            self.until(order)
        self.assertEqual({self.status(order) for order in stuck}, {"PENDING"})
        self.assertGreaterEqual(self.metric("lockstock_timeouts_total", outcome="failed"), 1)
        self.db.run("UPDATE orders SET status='CANCELLED' WHERE id IN (%s, %s, %s)", *[o["id"] for o in stuck])
        self.db.run("DELETE FROM stock_movements WHERE product_id=%s", lost)


class Reservations(Timeouts):
    ENV = {**EVERY, "LOCKSTOCK_RESERVATION_GRACE": "PT2S"}

    def reserved(self, order_id, product_id):
        reply = self.http.post("/v1/reservations", {"orderId": order_id, "items": [{"productId": product_id, "quantity": 2}]})
        self.assertEqual(reply.status, 201, reply)

    def state(self, order_id):
        return self.db.value("SELECT status FROM stock_reservations WHERE order_id=%s", order_id)

    def expire(self, order_id, seconds): # pylint: disable=arguments-renamed
        self.db.run(f"UPDATE stock_reservations SET expires_at={LATE} WHERE order_id=%s", seconds, order_id)

    def test_sweep__when_past_its_time_and_the_grace__then_released(self):
        lamp = self.product(stock=10)
        for order_id, seconds in (("old", 3), ("grace", -60), ("kept", 3)):
            self.reserved(order_id, lamp)
            if order_id == "kept":
                self.assertEqual(self.http.post("/v1/reservations/kept/confirm").status, 200)
            self.expire(order_id, seconds)
        eventually(lambda: self.state("old") == "RELEASED", 10, "swept")
        self.assertEqual((self.state("grace"), self.state("kept"), self.stock(lamp)), ("RESERVED", "CONFIRMED", 6))
        document = self.http.get("/v1/reservations/old").json
        self.assertEqual((document["status"], document["reason"]), ("RELEASED", "EXPIRED"))
        self.assertEqual([e["payload"]["reason"] for e in self.events("old")], [None, "EXPIRED"])
        late = self.http.post("/v1/reservations/old/confirm")
        self.assert_problem(late, 409, "RSV-002", reservationStatus="RELEASED")
        self.assertGreaterEqual(self.metric("lockstock_timeouts_total", outcome="released"), 1)
        self.assert_audit_clean()

    def test_confirm__when_past_its_time_but_not_swept__then_it_wins(self):
        lamp = self.product(stock=10)
        self.reserved("late", lamp)
        self.expire("late", 1)
        self.assertEqual(self.http.get("/v1/reservations/late").json["expiresInMs"], 0)
        self.assertEqual(self.http.post("/v1/reservations/late/confirm").json["status"], "CONFIRMED")
        self.expire("late", 10)
        holds_for(lambda: self.state("late") == "CONFIRMED", 0.6, "kept")
        self.assertEqual(self.stock(lamp), 8)


class Unanswered(Timeouts):
    """With a payment service to ask, this job waits for its answer, and no longer than half an hour."""

    ENV = {**EVERY, "LOCKSTOCK_PAYMENT_STATUS_URL": "http://127.0.0.1:9/status"}

    def test_requested__when_the_payment_service_is_to_be_asked__then_half_an_hour_at_least(self):
        lamp = self.product(stock=10)
        old, young = self.ordered((lamp, 1)), self.ordered((lamp, 2))
        self.request_long_ago(young, 1700)
        self.request_long_ago(old, 1801)
        self.until(old)
        self.assertEqual((self.status(young), self.stock(lamp)), ("PAYMENT_REQUESTED", 8))
        self.assertEqual(self.metric("lockstock_timeouts_total", outcome="unanswered"), 1)
        self.assertEqual(self.metric("lockstock_timeouts_total", outcome="cancelled"), 0)


class Off(Timeouts):
    ENV = {**EVERY, **period("orderReservationExpiryJob", "PT0S")}

    def test_job__when_switched_off__then_nothing_is_cancelled(self):
        lamp = self.product(stock=10)
        order, asked = self.ordered((lamp, 1)), self.ordered((lamp, 1))
        self.expire(order)
        self.request_long_ago(asked, 901)
        self.until(asked)
        self.assertEqual(self.status(order), "PENDING")


if __name__ == "__main__":
    main()
