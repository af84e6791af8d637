"""One train, many commands: each answer is the one it had got alone, in the order of arrival."""

import os
import random
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.load import Background
from support.wait import RANDOM, eventually

PRICE = 10


def pause(seconds):
    """Requests a moment apart are read in the order they were sent."""
    threading.Event().wait(seconds)


class Model:
    """The shop as one clerk would keep it: every command alone, one after the other."""

    def __init__(self, stocks, orders):
        self.stocks, self.orders, self.keys = dict(stocks), {o["id"]: dict(o) for o in orders}, {}

    def create(self, lines):
        lines = sorted(lines)
        if any(self.stocks[p] < q for p, q in lines):
            return 409, "PRD-002", None
        for product, quantity in lines:
            self.stocks[product] -= quantity
        return 201, None, "PENDING"

    def give_back(self, order):
        for item in order["items"]:
            self.stocks[item["productId"]] += item["quantity"]
        order["status"] = "CANCELLED"

    def cancel(self, order_id):
        order = self.orders[order_id]
        if order["status"] == "CANCELLED":
            return 409, "ORD-002", None
        if order["status"] == "PAYMENT_COMPLETED":
            return 409, "ORD-003", None
        self.give_back(order)
        return 200, None, "CANCELLED"

    def request(self, order_id):
        order = self.orders[order_id]
        if order["status"] != "PENDING":
            return 409, "ORD-003", None
        order["status"] = "PAYMENT_REQUESTED"
        return 200, None, order["status"]

    def pay(self, order_id, key, completed, amount):
        order = self.orders[order_id]
        if self.keys.get(key, order_id) != order_id or amount != order["totalAmount"]:
            return 422, "PAY-001", None
        if order["status"] in ("PENDING", "PAYMENT_REQUESTED"):
            self.keys[key] = order_id
            if completed:
                order["status"] = "PAYMENT_COMPLETED"
            else:
                self.give_back(order)
        elif completed:
            self.keys.setdefault(key, order_id)
        return 200, None, order["status"]

    def adjust(self, product, delta):
        if self.stocks[product] + delta < 0:
            return 409, "PRD-002", None
        self.stocks[product] += delta
        return 200, None, None


class TrainOrder(Case):
    ENV = {"LOCKSTOCK_TRAIN_SLOTS": 1, "LOCKSTOCK_DB_WORKERS": 3}
    ROUNDS, COMMANDS = 6, 60

    def draw(self, chance, products, orders):
        """(what the model is asked, what the service is asked)"""
        order = chance.choice(orders)
        path = f"/v1/orders/{order['id']}"
        kind = chance.choice(("create", "create", "create", "cancel", "request", "pay", "adjust"))
        if kind == "create":
            lines = [(p, chance.randint(1, 4)) for p in chance.sample(products, chance.randint(1, 3))]
            items = [{"productId": p, "quantity": q} for p, q in lines]
            return (kind, lines), ("/v1/orders", {"userId": "u-1", "items": items})
        if kind == "cancel":
            return (kind, order["id"]), (path + "/cancel", None)
        if kind == "request":
            return (kind, order["id"]), (path + "/payment-request", None)
        if kind == "adjust":
            product, delta = chance.choice(products), chance.choice((-5, -1, 1, 2))
            return (kind, product, delta), (f"/v1/inventory/{product}/adjustments", {"delta": delta, "reason": "x"})
        completed, amount = chance.random() < 0.5, order["totalAmount"] + (chance.random() < 0.1)
        key = f"{chance.choice(orders)['id'] if chance.random() < 0.1 else order['id']}-{chance.choice('ab')}"
        return (kind, order["id"], key, completed, amount), (path + "/payment", {
            "result": "COMPLETED" if completed else "FAILED", "paymentKey": key, "amount": amount})

    def behind_one_that_waits(self, requests):
        """All of them arrive in this order while the only slot is taken; their answers."""
        first = self.product()
        clients = [self.client() for _ in requests]
        for client in clients:
            client.get("/healthz")  # connected before it matters
        session = self.db.session()
        self.addCleanup(session.close)
        with session.cursor() as cursor:
            cursor.execute("SELECT * FROM inventories WHERE product_id=%s FOR UPDATE", (first,))
        ahead = Background(lambda: self.order((first, 1), http=self.client()))
        eventually(self.row_waits, 5, "the slot is taken")
        trains = self.metric("lockstock_trains_total")
        waiting = []
        for client, (path, body) in zip(clients, requests):
            waiting.append(Background(client.post, path, body))
            pause(0.003)
        pause(0.05)
        session.rollback()
        self.assertEqual(ahead.result().status, 201)
        answers = [one.result() for one in waiting]
        self.assertEqual(self.metric("lockstock_trains_total") - trains, 2, "all of them rode in one train")
        return answers

    def test_train__when_its_commands_meet_on_products_and_orders__then_it_answers_as_one_by_one(self):
        for round_ in range(self.ROUNDS):
            chance = random.Random(RANDOM.randrange(2**31))
            products = [self.product(stock=25, price=PRICE) for _ in range(4)]
            orders = [self.ordered(*[(p, chance.randint(1, 3)) for p in chance.sample(products, 2)])
                      for _ in range(8)]
            model = Model({p: self.stock(p) for p in products}, orders)
            drawn = [self.draw(chance, products, orders) for _ in range(self.COMMANDS)]
            answers = self.behind_one_that_waits([request for _, request in drawn])
            for number, ((kind, *args), answer) in enumerate(zip((asked for asked, _ in drawn), answers)):
                expected = getattr(model, kind)(*args)
                status = answer.json.get("status") if answer.code is None else None
                self.assertEqual((answer.status, answer.code, status), expected, (round_, number, kind, args, answer))
            self.assertEqual({p: self.stock(p) for p in products}, model.stocks)
            for order in orders:
                self.assertEqual(self.http.get(f"/v1/orders/{order['id']}").json["status"],
                                 model.orders[order["id"]]["status"])
            self.assert_ledger_in_order(products)
        self.assert_audit_clean()
        self.assert_orders_whole()

    def assert_ledger_in_order(self, products):
        for product in products:
            stock = 0
            for movement in self.movements(product):
                stock += movement["delta"]
                self.assertEqual(movement["stock_after"], stock, movement)


if __name__ == "__main__":
    main()
