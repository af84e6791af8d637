"""COMMIT and the cut: a proxy ends the connection before, during, around and after it; the answer and the database agree."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support import proxy as cut  # pylint: disable=wrong-import-position
from support.case import Case, main
from support.load import Background, load
from support.proxy import Proxy


class CommitUnknown(Case):
    INSTANCES = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.proxy = Proxy(cls.stack.mysql.port)
        cls.addClassCleanup(cls.proxy.close)
        cls.service = cls.instance("cut", mysql_port=cls.proxy.port).start()

    def setUp(self):
        super().setUp()
        self.proxy.refuse_after_cut = False
        self.proxy.refuse(False)
        self.addCleanup(self.proxy.arm, None, 0)

    def one(self, mode):
        """One order whose COMMIT goes wrong in this way; its answer, judged against the database."""
        product_id = self.product(stock=10)
        self.proxy.arm(mode)
        reply = self.order((product_id, 1), key=f"cut-{mode}")
        self.agree(product_id, [reply], [f"cut-{mode}"])
        return reply

    def agree(self, product_id, answers, keys):
        """201: there, once; SYS-011: not there; SYS-012: the retry tells. After retries: one order a key."""
        ids = {r["order_id"] for r in self.db.rows("SELECT order_id FROM order_items WHERE product_id=%s", product_id)}
        told = [a.json["id"] for a in answers if a.status == 201]
        self.assertEqual(len(told), len(set(told)))
        self.assertEqual(set(told) - ids, set(), "201 and not there")
        self.assertTrue({a.code for a in answers if a.status != 201} <= {"SYS-011", "SYS-012"}, answers)
        if not any(a.code == "SYS-012" for a in answers):
            self.assertEqual(ids, set(told), "there and not told")
        for key, answer in zip(keys, answers):
            again = self.order((product_id, 1), key=key)
            self.assertEqual(again.status, 201, again)
            if answer.status == 201:
                self.assertEqual((again.body, again.headers["idempotency-replayed"]), (answer.body, "true"))
        self.assertEqual(self.sold(product_id), len(keys), "one order a key")
        self.assert_orders_whole()
        self.assert_audit_clean()

    def found(self, what):
        return self.service.metric("lockstock_commit_unknown_total", found=what)

    def test_cut__when_before_the_commit__then_it_is_run_again(self):
        before = self.found("not-done")
        self.assertEqual(self.one(cut.BEFORE).status, 201)
        self.assertEqual(self.found("not-done"), before + 1)

    def test_cut__when_the_answer_is_swallowed__then_it_is_found_done(self):
        before = self.found("done")
        self.assertEqual(self.one(cut.DURING).status, 201)
        self.assertEqual(self.found("done"), before + 1)

    def test_cut__when_the_commit_is_still_on_its_way__then_the_truth_is_waited_for(self):
        """A plain look-up would miss it: the old connection is ended first and the rows are taken."""
        self.assertEqual(self.one(cut.LATE).status, 201)

    def test_cut__when_after_the_answer__then_it_stands(self):
        self.assertEqual(self.one(cut.AFTER).status, 201)

    def test_cut__when_an_action_on_an_order_is_cut__then_it_happens_once(self):
        product_id = self.product(stock=10)
        for mode in (cut.BEFORE, cut.DURING, cut.LATE, cut.AFTER):
            with self.subTest(mode=mode):
                order = self.ordered((product_id, 2))
                self.proxy.arm(mode)
                reply = self.http.post(f"/v1/orders/{order['id']}/cancel")
                self.assertEqual((reply.status, reply.json["status"]), (200, "CANCELLED"), reply)
                self.assertEqual(self.stock(product_id), 10)
                self.assertEqual(len(self.events(order["id"], "order.cancelled")), 1)
        self.assert_audit_clean()

    def test_cut__when_a_step_of_a_reservation_is_cut__then_it_happens_once(self):
        """A confirmation and a tombstone lock no stock: the row of the reservation tells when the old transaction is over."""
        product_id, path = self.product(stock=10), "/v1/reservations"
        for mode in (cut.BEFORE, cut.DURING, cut.LATE, cut.AFTER):
            with self.subTest(mode=mode):
                held, grave = f"held-{mode}", f"grave-{mode}"
                body = {"orderId": held, "items": [{"productId": product_id, "quantity": 2}]}
                for status, what, target, document in ((201, "RESERVED", path, body),
                                                       (200, "CONFIRMED", f"{path}/{held}/confirm", None),
                                                       (200, "CANCEL_REQUESTED", f"{path}/{grave}/release", None)):
                    self.proxy.arm(mode)
                    reply = self.http.post(target, document)
                    self.assertEqual((reply.status, reply.json["status"]), (status, what), reply)
                self.assertEqual([e["payload"]["status"] for e in self.events(held)], ["RESERVED", "CONFIRMED"])
                self.assertEqual(len(self.events(grave)), 1)
        self.assertEqual(self.stock(product_id), 2)
        self.assert_audit_clean()

    def test_cut__when_a_payment_request_rides_beside_a_product_that_is_not_there__then_it_happens_once(self):
        """The order's row alone tells when the old transaction is over."""
        for mode in (cut.BEFORE, cut.DURING, cut.LATE, cut.AFTER):
            with self.subTest(mode=mode):
                order = self.ordered((self.product(stock=10), 2))
                self.proxy.arm(mode)
                ask = lambda n, path=f"/v1/orders/{order['id']}/payment-request": (
                    self.client().post(path) if n == 0 else self.order((10**9, 1), http=self.client()))
                paid, unknown = load(2, ask)
                self.assertEqual((paid.status, paid.json["status"]), (200, "PAYMENT_REQUESTED"), paid)
                self.assert_problem(unknown, 404, "PRD-001")
                self.assertEqual(len(self.events(order["id"], "order.payment_requested")), 1)

    def test_cut__when_it_hits_a_full_train_again_and_again__then_all_agree(self):
        for round_, mode in enumerate((cut.BEFORE, cut.DURING, cut.LATE, cut.AFTER, cut.DURING)):
            with self.subTest(mode=mode):
                product_id = self.product(stock=1000)
                keys = [f"train-{round_}-{n}" for n in range(60)]
                cuts = self.proxy.cuts
                self.proxy.arm(mode, 2)
                answers = load(60, lambda n: self.order((product_id, 1), key=keys[n], http=self.client()))
                self.proxy.arm(None, 0)
                self.assertGreater(self.proxy.cuts, cuts)
                self.agree(product_id, answers, keys)

    def test_cut__when_the_database_stays_away__then_sys_012_and_the_retry_tells_the_truth(self):
        for mode in (cut.BEFORE, cut.DURING):
            with self.subTest(mode=mode):
                product_id = self.product(stock=10)
                unknown = self.found("never-known")
                self.proxy.refuse_after_cut = True
                self.proxy.arm(mode)
                asked = Background(lambda: self.order((product_id, 1), key=f"away-{mode}", http=self.client()))
                reply = asked.result(15)
                self.assert_problem(reply, 503, "SYS-012")
                self.assertIn("retry-after", reply.headers)
                self.assertGreater(self.found("never-known"), unknown)
                self.proxy.refuse_after_cut = False
                self.proxy.refuse(False)
                self.until_ready()
                self.until_served()
                self.agree(product_id, [reply], [f"away-{mode}"])


if __name__ == "__main__":
    main()
