"""A database that takes what is sent and says nothing: waits end when they were promised to end."""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.load import Background
from support.wait import SLOW, eventually

DEADLINE_S = 5
TWIN_WAIT_S = 2


class FrozenDatabase(Case):
    """Cancelling reads the order's lines first: the wait begins before there is a train to ride."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.stack.heal)

    def freeze(self):
        """Every thread of it stands still when this returns."""
        process = self.stack.mysql.process
        process.freeze()
        tasks = f"/proc/{process.pid}/task"
        eventually(lambda: all(self.state(tasks, task) == "T" for task in os.listdir(tasks)), 5, "frozen")

    @staticmethod
    def state(tasks, task):
        with open(f"{tasks}/{task}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0]

    def cancel(self, order, key=None):
        begun = time.monotonic()
        headers = [("Idempotency-Key", key)] if key else []
        reply = self.client().post(f"/v1/orders/{order}/cancel", {"reason": "USER_REQUESTED"}, headers=headers)
        return reply, time.monotonic() - begun

    def test_twin__when_its_leader_is_still_being_looked_up__then_409_after_two_seconds(self):
        order = self.ordered((self.product(), 1))["id"]
        self.freeze()
        twins = [Background(self.cancel, order, "frozen"), Background(self.cancel, order, "frozen")]
        answers = sorted((t.result() for t in twins), key=lambda answer: answer[1])
        self.stack.mysql.process.thaw()
        reply, took = answers[0]
        self.assert_problem(reply, 409, "IDM-003")
        self.assertLess(took, TWIN_WAIT_S + 0.5 * SLOW)
        self.assert_problem(answers[1][0], 503, "SYS-011")
        again = eventually(lambda: (a := self.cancel(order, "frozen")[0]).status == 200 and a, 10, "the thaw")
        self.assertEqual(again.json["status"], "CANCELLED")

    def test_cancel__when_it_waits_to_be_looked_up__then_its_deadline_holds(self):
        orders = [self.ordered((self.product(), 1))["id"] for _ in range(3)]
        self.freeze()
        waiting = [Background(self.cancel, order) for order in orders]
        for one in waiting:
            reply, took = one.result()
            self.assert_problem(reply, 503, "SYS-011")
            self.assertLess(took, DEADLINE_S + 0.4 * SLOW)
        self.stack.mysql.process.thaw()
        self.until_served()
        for order in orders:
            self.assertEqual(self.http.get(f"/v1/orders/{order}").json["status"], "PENDING")

    def test_cancel__when_its_client_hangs_up_before_it_is_looked_up__then_it_does_nothing(self):
        order = self.ordered((self.product(), 1))["id"]
        gone = self.metric("lockstock_http_client_gone_total")
        self.freeze()
        client = self.client(timeout_s=1)
        with self.assertRaises(ConnectionError):
            client.post(f"/v1/orders/{order}/cancel", {"reason": "USER_REQUESTED"})
        eventually(lambda: self.metric("lockstock_http_client_gone_total") > gone, 3, "noticed")
        self.stack.mysql.process.thaw()
        self.until_served()
        self.assertEqual(self.http.get(f"/v1/orders/{order}").json["status"], "PENDING")


if __name__ == "__main__":
    main()
