"""A thousand times are over at once, over three instances, while customers pay and confirm: each order and reservation ends
in one state, stock is exact, everything is told once. And each mechanism taken out."""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.client import Unanswered
from support.load import Background, load
from support.schedules import period
from support.wait import RANDOM, SLOW, eventually

JOBS = ("orderTimeoutCancelJob", "orderReservationExpiryJob", "stockReservationSweepJob")
EVERY = {name: text for job in JOBS for name, text in period(job, "PT0.3S").items()}
THREADS = 24
AHEAD_S = 0.6 * SLOW # between setting the common end and the end
RACE_S = 1.5 * SLOW # payments and confirmations come in so long, from just before the end on


class Timeouts(Case):
    INSTANCES = 0
    STOCK = 10**6

    def setUp(self):
        self.addCleanup(self.stack.heal)
        self.services[:] = []

    def begin(self, count=3, faults=None, **env):
        """Fresh database and instances, three products."""
        self.db = self.__class__.db = self.stack.mysql.new_database()
        self.migrate()
        for name in "abc"[:count]:
            self.addCleanup(self.instance(name, faults=faults, env={**EVERY, **env}).start().kill)
        self.http = self.client()
        self.ids = [self.product(stock=self.STOCK) for _ in range(3)]

    def spread(self, items, fn, over_s=0.0):
        """fn(http, item) for each, from THREADS connections over all instances, in random order and not quicker than in
        over_s; {item: answer or None}."""
        items = RANDOM.sample(items, len(items))
        answers, begun = {}, time.monotonic()

        def work(number):
            http = self.client(number, timeout_s=20 * SLOW)
            for at in range(number, len(items), THREADS):
                time.sleep(max(0.0, begun + over_s * at / len(items) - time.monotonic()))
                answers[items[at]] = self.ask(http, number, fn, items[at])

        load(THREADS, work)
        return answers

    def ask(self, http, number, fn, item):
        """Asked again, at the neighbour, when its instance is gone; None when nobody answered."""
        for attempt in range(4):
            try:
                return fn(http, item)
            except (Unanswered, OSError):
                http.port = self.services[(number + attempt + 1) % len(self.services)].port
                http.close()
        return None

    def end_at_once(self, table, column="expires_at", since_s=0.0):
        """All times end at one moment, a little ahead; returns when it is there."""
        moment = int((AHEAD_S - since_s) * 1e6)
        self.db.run(f"UPDATE {table} SET {column} = UTC_TIMESTAMP(6) + INTERVAL %s MICROSECOND", moment)
        time.sleep(AHEAD_S * 0.9) # the moment itself is what is tested

    def rows(self, sql, *args):
        return {r["id"]: r for r in self.db.rows(sql, *args)}

    def assert_stock_exact(self, held):
        for product_id in self.ids:
            self.assertEqual(self.stock(product_id) + held(product_id), self.STOCK)
        self.assert_audit_clean()


class Orders(Timeouts):
    def make_orders(self, count):
        made = self.spread(list(range(count)), lambda http, n: self.ordered((self.ids[n % 3], 1 + n % 2), http=http))
        return {order["id"]: order for order in made.values()}

    def pay(self, http, order_id):
        return http.post(f"/v1/orders/{order_id}/payment", {"result": "COMPLETED", "paymentKey": f"pay-{order_id}",
                                                            "amount": self.orders[order_id]["totalAmount"]})

    def race(self, count, column="expires_at"):
        """Orders whose times end while all of them are paid; the states they end in, by id."""
        self.orders = self.make_orders(count)
        if column != "expires_at":
            self.spread(list(self.orders), lambda http, n: http.post(f"/v1/orders/{n}/payment-request"))
        self.end_at_once("orders", column, 0.0 if column == "expires_at" else 1.0)
        self.answers = self.spread(list(self.orders), self.pay, RACE_S)
        left = "SELECT COUNT(*) FROM orders WHERE status IN ('PENDING', 'PAYMENT_REQUESTED')"
        eventually(lambda: self.db.value(left) == 0, 30, "every order has ended")
        return {r["id"]: r["status"] for r in self.db.rows("SELECT id, status FROM orders")}

    def paid_and_cancelled(self):
        """The damage: money taken, stock given away."""
        return self.db.value("SELECT COUNT(*) FROM orders o JOIN payments p ON p.order_id=o.id"
                             " WHERE o.status='CANCELLED' AND p.status='APPROVED'")

    def told_twice(self):
        """The same damage where neither side saw the other: both ends were told."""
        return self.db.value("SELECT COUNT(*) FROM outbox_events a JOIN outbox_events b ON b.aggregate_id=a.aggregate_id"
                             " WHERE a.event_type='payment.completed' AND b.event_type='order.cancelled'")

    def assert_each_ended_once(self, states, both=True):
        self.assertEqual(set(states), set(self.orders))
        paid = {n for n, status in states.items() if status == "PAYMENT_COMPLETED"}
        cancelled = {n for n, status in states.items() if status == "CANCELLED"}
        self.assertEqual(paid | cancelled, set(self.orders))
        if both:
            self.assertTrue(paid and cancelled, (len(paid), len(cancelled)))
        for order_id, answer in self.answers.items():
            if answer is not None and answer.status == 200:
                self.assertEqual(answer.json["status"], states[order_id], "the answer was true")
        told = self.db.rows("SELECT aggregate_id, event_type FROM outbox_events WHERE aggregate_type='ORDER'")
        count = lambda kind: sorted(int(e["aggregate_id"]) for e in told if e["event_type"] == kind)
        self.assertEqual(count("order.cancelled"), sorted(cancelled))
        self.assertEqual(count("payment.completed"), sorted(paid))
        # Every cancelled order was paid too, and later: its money goes back once.
        late = {n for n in cancelled if self.answers[n] is not None and self.answers[n].status == 200}
        refunds = count("payment.refund_required")
        self.assertEqual(len(refunds), len(set(refunds)))
        self.assertTrue(late <= set(refunds) <= cancelled)
        self.assertEqual(sorted(r["order_id"] for r in self.db.rows("SELECT order_id FROM order_compensations")), refunds)
        self.assertEqual(self.paid_and_cancelled(), 0)
        self.assert_orders_whole()
        self.assert_stock_exact(self.sold)
        print(f"    {len(paid)} paid, {len(cancelled)} cancelled, {len(refunds)} refunds", file=sys.stderr)

    def test_expiry__when_a_thousand_at_once_and_all_are_paid__then_each_ends_in_one_state(self):
        self.begin()
        self.assert_each_ended_once(self.race(1000))

    def test_payment_timeout__when_a_thousand_at_once_and_all_are_paid__then_each_ends_in_one_state(self):
        self.begin(LOCKSTOCK_PAYMENT_TIMEOUT="PT1S")
        self.assert_each_ended_once(self.race(1000, "payment_requested_at"))

    def test_expiry__when_the_job_runs_everywhere_at_once__then_still_once(self):
        self.begin(faults="no-schedule-lock,no-round-check")
        self.assert_each_ended_once(self.race(400))
        self.assertGreater(self.metric("lockstock_timeouts_total", outcome="cancelled"), 0)

    def test_expiry__when_the_worker_is_killed__then_another_goes_on_and_each_still_ends_once(self):
        self.begin(faults="job-at-most=2000,hold-before-commit=20")
        killer = Background(self.kill_the_worker)
        states = self.race(600)
        self.assertTrue(killer.result(60))
        self.assert_each_ended_once(states)

    def test_expiry__when_the_worker_is_told_to_stop__then_it_ends_in_order_and_another_goes_on(self):
        self.begin(faults="hold-before-commit=20")
        stopper = Background(self.stop_the_worker)
        states = self.race(600)
        self.assertEqual(stopper.result(60), 0, "its exit status")
        self.assert_each_ended_once(states)

    def stop_the_worker(self):
        worker = self.worker_at_work()
        worker.terminate()
        return worker.exit_status(15)

    def kill_the_worker(self):
        worker = self.worker_at_work()
        worker.kill()
        return worker.name

    def worker_at_work(self):
        """The instance that holds the job's lock, in the middle of its work; nobody of the tests talks to it any more."""
        holder = "SELECT locked_by FROM shedlock WHERE name='orderReservationExpiryJob' AND lock_until > UTC_TIMESTAMP(3)"
        cancelled = "SELECT COUNT(*) FROM orders WHERE status='CANCELLED'"
        eventually(lambda: self.db.value(cancelled) > 0, 40, "the work has begun")
        name = (self.db.value(holder) or "a").split("#")[0].split("~")[0]
        worker = next((s for s in self.services if s.name == name), self.services[0])
        self.http.port = next(s for s in self.services if s is not worker).port
        return worker

    def test_stale_scan__when_not_looked_at_again__then_the_proof_sees_paid_orders_cancelled(self):
        self.begin(faults="stale-timeout,hold-before-commit=60")
        self.race(250)
        self.assertGreater(self.paid_and_cancelled(), 0)

    def test_version__when_the_rows_are_not_locked__then_it_alone_keeps_one_end(self):
        self.begin(faults="no-row-lock,no-schedule-lock,no-round-check,hold-before-commit=30")
        self.assert_each_ended_once(self.race(300), both=False)
        self.assertGreater(self.metric("lockstock_version_conflicts_total"), 0)

    def test_version__when_neither_locked_nor_compared__then_the_proof_sees_two_ends(self):
        self.begin(faults="no-row-lock,no-version-check,no-schedule-lock,no-round-check,hold-before-commit=30")
        self.race(300)
        self.assertGreater(self.told_twice(), 0)

    def test_stale_scan__when_looked_at_again__then_none_under_the_same_load(self):
        self.begin(faults="hold-before-commit=60")
        self.assert_each_ended_once(self.race(250), both=False)


class Reservations(Timeouts):
    def reserve(self, http, n):
        return http.post("/v1/reservations", {"orderId": f"r-{n}", "items": [{"productId": self.ids[n % 3], "quantity": 2}]})

    def confirm(self, http, n):
        return http.post(f"/v1/reservations/r-{n}/confirm")

    def race(self, count):
        """Reservations whose times end while all of them are confirmed; {number: (answer, state)}."""
        made = self.spread(list(range(count)), self.reserve)
        self.assertEqual({a.status for a in made.values()}, {201})
        self.end_at_once("stock_reservations")
        answers = self.spread(list(range(count)), self.confirm, RACE_S)
        left = "SELECT COUNT(*) FROM stock_reservations WHERE status='RESERVED'"
        eventually(lambda: self.db.value(left) == 0, 30, "every reservation has ended")
        state = {r["order_id"]: r["status"] for r in self.db.rows("SELECT order_id, status FROM stock_reservations")}
        return {n: (answers[n], state[f"r-{n}"]) for n in range(count)}

    def held(self, product_id):
        return int(self.db.value("SELECT COUNT(*) * 2 FROM stock_reservations WHERE status IN ('RESERVED', 'CONFIRMED')"
                                 " AND JSON_EXTRACT(items, '$[0].productId')=%s", product_id))

    def assert_each_ended_once(self, ends):
        for number, (answer, state) in ends.items():
            if answer is None or answer.status >= 500:
                continue
            self.assertEqual(state, "CONFIRMED" if answer.status == 200 else "RELEASED", (number, answer))
        told = self.db.rows("SELECT aggregate_id, aggregate_version FROM outbox_events WHERE aggregate_type='RESERVATION'")
        self.assertEqual(sorted((t["aggregate_id"], t["aggregate_version"]) for t in told),
                         sorted((f"r-{n}", version) for n in ends for version in (1, 2)))
        self.assert_stock_exact(self.held)

    def lied_to(self, ends):
        """The damage: confirmed to the caller, given back all the same."""
        return sum(answer is not None and answer.status == 200 and state != "CONFIRMED" for answer, state in ends.values())

    def test_sweep__when_a_thousand_end_while_confirmed__then_each_ends_in_one_state(self):
        self.begin(LOCKSTOCK_RESERVATION_GRACE="PT0S")
        ends = self.race(1000)
        self.assert_each_ended_once(ends)
        states = [state for _, state in ends.values()]
        print(f"    {states.count('CONFIRMED')} confirmed, {states.count('RELEASED')} released", file=sys.stderr)

    def test_sweep__when_an_instance_is_killed__then_each_still_ends_once(self):
        self.begin(faults="job-at-most=2000,hold-before-commit=20", LOCKSTOCK_RESERVATION_GRACE="PT0S")
        begun = "SELECT COUNT(*) FROM stock_reservations WHERE status <> 'RESERVED'"

        def kill():
            eventually(lambda: self.db.value(begun) > 20, 40, "the race has begun")
            self.services[2].kill()
            return True

        killer = Background(kill)
        ends = self.race(600)
        self.assertTrue(killer.result(60))
        self.assert_each_ended_once(ends)

    def test_stale_scan__when_not_looked_at_again__then_the_proof_sees_confirmed_stock_given_back(self):
        self.begin(faults="stale-timeout,hold-before-commit=60", LOCKSTOCK_RESERVATION_GRACE="PT0S")
        self.assertGreater(self.lied_to(self.race(250)), 0)

    def test_tombstone__when_left_out__then_the_proof_sees_stock_held_for_nobody(self):
        for faults, held in (("", 0), ("no-tombstone", 2)):
            with self.subTest(faults=faults):
                self.setUp()
                self.begin(1, faults=faults)
                self.assertEqual(self.http.post("/v1/reservations/r-0/release").status, 200)
                self.assertEqual(self.reserve(self.http, 0).status, 201 if held else 409)
                self.assertEqual(self.held(self.ids[0]), held)


if __name__ == "__main__":
    main()
