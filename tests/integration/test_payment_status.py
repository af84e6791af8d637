"""Orders whose payment does not come: the payment service is asked before anything is cancelled."""

import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support import service as service_module  # pylint: disable=wrong-import-position
from support.case import Case, main
from support.provider import NOT_PAID, Provider, paid
from support.wait import eventually, free_port

LATE_S = 16 * 60


class Asking(Case):
    """Two instances and a payment service."""

    INSTANCES = 0
    FAULT = ""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.provider = Provider()
        cls.addClassCleanup(cls.provider.close)
        env = {"LOCKSTOCK_PAYMENT_STATUS_URL": cls.provider.url, "LOCKSTOCK_JOB_PAYMENT_RECONCILE_JOB_EVERY": "PT0.2S",
               "LOCKSTOCK_JOB_ORDER_TIMEOUT_CANCEL_JOB_EVERY": "PT0.2S"}
        for name in "ab":
            cls.instance(name, faults="job-at-least=1" + cls.FAULT, env=env).start()

    def waiting(self, *answers, seconds=LATE_S):
        """An order that has waited so long for its payment, and what the payment service says of it."""
        self.lamp = self.product(stock=10)
        order = self.ordered((self.lamp, 2))
        self.provider.tell(order, *[a(order) if callable(a) else a for a in answers])
        self.assertEqual(self.http.post(f"/v1/orders/{order['id']}/payment-request").status, 200)
        self.db.run("UPDATE orders SET payment_requested_at=UTC_TIMESTAMP(6) - INTERVAL %s SECOND WHERE id=%s", seconds,
                    order["id"])
        return order

    def status(self, order):
        return self.db.value("SELECT status FROM orders WHERE id=%s", order["id"])

    def until(self, order, status):
        eventually(lambda: self.status(order) == status, 20, f"order {order['id']} {status}")

    def until_asked(self, order, times=1):
        eventually(lambda: self.provider.times_asked(order) >= times, 20, f"asked {times} times")

    def ask_again_now(self, order):
        """Its check is due at once."""
        self.db.run("UPDATE jobs SET due_at=UTC_TIMESTAMP(6) WHERE queue='lockstock:payments' AND dedupe_key=%s AND"
                    " status='READY'", str(order["id"]))

    def check(self, order):
        return self.db.rows("SELECT * FROM jobs WHERE queue='lockstock:payments' AND payload=%s",
                            f'{{"orderId":{order["id"]}}}')

    def until_checked(self, order, status="DONE"):
        eventually(lambda: [r["status"] for r in self.check(order)] == [status], 20, f"the check is {status}")
        return self.check(order)[0]

    def payments(self, order):
        return self.db.rows("SELECT payment_key, amount, status FROM payments WHERE order_id=%s", order["id"])

    def assert_cancelled(self, order):
        self.until(order, "CANCELLED")
        self.assertEqual([e["payload"]["reason"] for e in self.events(order["id"], "order.cancelled")], ["TIMEOUT"])
        self.assertEqual(self.stock(self.lamp), 10)

    def held_answer(self, *answers):
        """An order whose question is on its way, and what lets it be answered."""
        gate = threading.Event()
        self.addCleanup(gate.set)
        order = self.waiting(gate, *answers)
        self.until_asked(order)
        return order, gate

    def late_paid(self):
        """Another asks anew and cancels; then the first one hears PAID. The order."""
        order, gate = self.held_answer(NOT_PAID)
        self.db.run("UPDATE jobs SET lease_until=UTC_TIMESTAMP(6) - INTERVAL 1 SECOND, due_at=lease_until"
                    " WHERE queue='lockstock:payments' AND dedupe_key=%s", str(order["id"]))
        self.provider.tell(order, NOT_PAID)
        self.assert_cancelled(order)
        lost = self.metric("lockstock_claims_lost_total", of="payments")
        self.provider.tell(order, paid(order))
        gate.set()
        eventually(lambda: self.metric("lockstock_claims_lost_total", of="payments") > lost, 20, "counted")
        return order

    def compensations(self, order):
        return self.db.count("order_compensations", "order_id=%s", order["id"])


class Payments(Asking):
    # -- what is heard

    def test_paid__then_the_payment_is_entered(self):
        before = self.metric("lockstock_payment_checks_total", outcome="paid")
        order = self.waiting(paid)
        self.until(order, "PAYMENT_COMPLETED")
        self.assertEqual([(p["payment_key"], p["amount"]) for p in self.payments(order)], [(f"pay-{order['id']}", 500)])
        self.assertEqual(len(self.events(order["id"], "payment.completed")), 1)
        self.assertEqual((self.until_checked(order)["last_result"], self.stock(self.lamp)), ("PAID", 8))
        eventually(lambda: self.metric("lockstock_payment_checks_total", outcome="paid") == before + 1, 5, "counted")

    def test_not_paid__then_cancelled_and_the_stock_is_back(self):
        order = self.waiting(NOT_PAID)
        self.assert_cancelled(order)
        self.assertEqual(self.until_checked(order)["last_result"], "NOT_PAID")
        self.assertEqual(self.provider.times_asked(order), 1)

    def test_young__then_nobody_is_asked(self):
        young, old = self.waiting(NOT_PAID, seconds=800), self.waiting(NOT_PAID)
        self.until(old, "CANCELLED")
        self.assertEqual((self.status(young), self.provider.times_asked(young), len(self.check(young))),
                         ("PAYMENT_REQUESTED", 0, 0))

    def test_no_answer__whatever_it_is__then_kept_and_asked_again(self):
        """A fault of the payment service cancels nothing."""
        order = self.waiting(500, 404, b"<html>", b"[]", {"status": "PENDING"}, {"status": "PAID"},
                             lambda o: paid(o, amount=-1), b"x" * 20000, paid)
        for times in range(1, 9):
            self.until_asked(order, times)
            self.assertEqual(self.status(order), "PAYMENT_REQUESTED", f"after {times}")
            eventually(lambda: self.ask_again_now(order) or self.provider.times_asked(order) > times, 20, "asked again")
        self.until(order, "PAYMENT_COMPLETED")

    def test_lies__when_amount_or_key_are_anothers__then_not_believed(self):
        other = self.waiting(paid)
        self.until(other, "PAYMENT_COMPLETED")
        order = self.waiting(lambda o: paid(o, amount=1), lambda o: paid(o, key=f"pay-{other['id']}"), NOT_PAID)
        for times in (1, 2):
            eventually(lambda: self.check(order) and (self.check(order)[0]["last_result"] or "").startswith("says PAID"),
                       20, "not believed")
            self.assertEqual((self.status(order), len(self.payments(order))), ("PAYMENT_REQUESTED", 0))
            eventually(lambda: self.ask_again_now(order) or self.provider.times_asked(order) > times, 20, "asked again")
        self.assert_cancelled(order)

    def test_down__when_it_comes_back__then_asked_then(self):
        order = self.waiting(None)
        self.until_asked(order)
        eventually(lambda: (self.check(order)[0]["last_result"] or "").startswith("no answer: "), 20, "written down")
        self.assertEqual(self.status(order), "PAYMENT_REQUESTED")
        self.provider.tell(order, NOT_PAID)
        self.ask_again_now(order)
        self.assert_cancelled(order)

    def test_silent__when_it_hangs__then_the_question_ends_and_others_are_asked(self):
        gate = threading.Event()
        self.addCleanup(gate.set)
        slow = self.waiting(gate, NOT_PAID)
        self.until_asked(slow)
        order = self.waiting(NOT_PAID)
        self.until(order, "CANCELLED")
        eventually(lambda: (self.check(slow)[0]["last_result"] or "").startswith("no answer: "), 20, "given up waiting")
        self.assertEqual(self.status(slow), "PAYMENT_REQUESTED")

    def test_no_answer__when_half_an_hour_is_over__then_cancelled_all_the_same_and_counted(self):
        before = self.metric("lockstock_timeouts_total", outcome="unanswered")
        order = self.waiting(500, seconds=31 * 60)
        self.assert_cancelled(order)
        eventually(lambda: self.metric("lockstock_timeouts_total", outcome="unanswered") > before, 10, "counted")
        self.ask_again_now(order)
        self.until_checked(order)
        self.assertEqual(self.compensations(order), 0)

    # -- races

    def pay(self, order, key):
        body = {"result": "COMPLETED", "paymentKey": key, "amount": order["totalAmount"]}
        reply = self.http.post(f"/v1/orders/{order['id']}/payment", body)
        self.assertEqual(reply.status, 200, reply)

    def test_race__when_the_payment_comes_before_the_not_paid__then_it_stands(self):
        order, gate = self.held_answer(NOT_PAID)
        self.pay(order, "real")
        gate.set()
        self.until_checked(order)
        self.assertEqual((self.status(order), self.stock(self.lamp)), ("PAYMENT_COMPLETED", 8))
        self.assertEqual(self.compensations(order), 0)

    def test_race__when_the_same_payment_comes_twice__then_one(self):
        order, gate = self.held_answer(paid)
        self.pay(order, f"pay-{order['id']}")
        gate.set()
        self.until_checked(order)
        self.assertEqual(len(self.payments(order)), 1)
        self.assertEqual(self.compensations(order), 0)
        self.assertEqual(len(self.events(order["id"], "payment.completed")), 1)

    def test_race__when_the_claim_is_lost_meanwhile__then_what_was_heard_is_dropped(self):
        order = self.late_paid()
        self.assertEqual((self.status(order), len(self.payments(order)), self.compensations(order)), ("CANCELLED", 0, 0))

    def test_many__when_two_instances_share_them__then_each_is_decided_once(self):
        self.lamp = self.product(stock=1000)
        orders = [self.ordered((self.lamp, 1)) for _ in range(60)]
        for number, order in enumerate(orders):
            self.provider.tell(order, NOT_PAID if number % 2 else paid(order))
            self.http.post(f"/v1/orders/{order['id']}/payment-request")
        self.db.run("UPDATE orders SET payment_requested_at=UTC_TIMESTAMP(6) - INTERVAL %s SECOND WHERE"
                    " status='PAYMENT_REQUESTED' AND id>=%s", LATE_S, orders[0]["id"])
        for number, order in enumerate(orders):
            self.until(order, "CANCELLED" if number % 2 else "PAYMENT_COMPLETED")
            self.assertEqual(len(self.events(order["id"], "order.cancelled")), number % 2)
        self.assertEqual(self.stock(self.lamp), 1000 - 30)
        self.assert_audit_clean()

    # -- the queue and the setting

    def test_queue__then_no_client_reaches_it(self):
        for method, path, body in (("POST", "claims", {}), ("POST", "jobs", {}), ("GET", "jobs", None)):
            reply = self.http.request(method, f"/v1/queues/lockstock%3Apayments/{path}", body)
            self.assertEqual((reply.status, reply.code), (400, "SYS-003"), reply)
        self.assertNotIn("lockstock:", self.http.get("/v1/queues").body.decode())

    def test_url__when_it_cannot_be_asked__then_the_service_does_not_start(self):
        for url in ("ftp://example.com/", "status", "http://user:pass@example.com/"):
            settings = {"LOCKSTOCK_PAYMENT_STATUS_URL": url, "LOCKSTOCK_LISTEN": f"127.0.0.1:{free_port()}",
                        "LOCKSTOCK_MYSQL_URL": self.db.url()}
            done = service_module.run(["serve"], settings)
            self.assertEqual(done.returncode, 2, (url, done))
            self.assertIn("LOCKSTOCK_PAYMENT_STATUS_URL", done.stderr)


class Blind(Asking):
    FAULT = ",blind-payments"

    def test_blind__when_the_claim_is_lost_meanwhile__then_a_cancelled_order_gets_a_payment(self):
        order = self.late_paid()
        eventually(lambda: self.compensations(order) == 1, 20, "the stale answer was acted upon")


if __name__ == "__main__":
    main()
