"""/v1/outbox: events are found, what a sink refused is replayed or discarded, and who did it is written down."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support import sunk  # pylint: disable=wrong-import-position
from support.case import Case, main
from support.wait import eventually

NO_EVENT = "00000000-0000-7000-8000-000000000000"


class Outbox(Case):
    """The streams of two types refuse what comes: both orders have FAILED events, and one that waits."""

    def setUp(self):
        super().setUp()
        self.keys = [sunk.stream_key(t) for t in ("order.created", "order.cancelled")]
        for key in self.keys:
            self.redis.call("DEL", key)

    def break_streams(self):
        for key in self.keys:
            self.redis.call("SET", key, "no stream")
            self.addCleanup(self.redis.call, "DEL", key)

    def mend_streams(self):
        for key in self.keys:
            self.redis.call("DEL", key)

    def events_of(self, order_id):
        return [r["event_id"] for r in self.db.rows(
            "SELECT event_id FROM outbox_events WHERE event_type LIKE 'order.%%' AND aggregate_id=%s ORDER BY id", order_id)]

    def failed_order(self):
        """An order whose first event is FAILED and whose second waits behind it: (id, first, second)."""
        order = self.ordered((self.product(), 1))
        self.http.post(f"/v1/orders/{order['id']}/cancel", {"reason": "USER_REQUESTED"})
        first, second = self.events_of(order["id"])
        # The waits between refusals are not what is tested here.
        until = lambda: (self.db.run("UPDATE outbox_failures SET available_at=UTC_TIMESTAMP(6) WHERE status='PENDING'"),
                         self.get(first)["status"] == "FAILED")[1]
        eventually(until, 30, "refused often enough")
        return order["id"], first, second

    def get(self, event_id):
        reply = self.http.get(f"/v1/outbox/{event_id}")
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def streamed(self, event_id):
        return event_id in {e["eventId"] for e in sunk.streamed(self.redis)}

    def audited(self):
        return [(r["action"], r["event_id"]) for r in self.db.rows("SELECT * FROM outbox_audit ORDER BY id")]

    def test_event__when_read__then_payload_status_and_what_a_sink_said(self):
        self.break_streams()
        order_id, first, second = self.failed_order()
        event, waiting = self.get(first), self.get(second)
        self.assertEqual((event["eventType"], event["aggregateId"], event["retryCount"]), ("order.created", str(order_id), 5))
        self.assertEqual(event["payload"]["orderId"], order_id)
        failure = event["failures"][0]
        self.assertEqual((failure["sink"], failure["status"], failure["attempts"]), ("redis-stream", "FAILED", 5))
        self.assertIn("WRONGTYPE", failure["error"])
        self.assertEqual((waiting["status"], waiting["failures"][0]["attempts"]), ("PENDING", 0))
        items = self.http.get("/v1/outbox?status=FAILED").json["items"]
        self.assertIn(first, [i["eventId"] for i in items])
        self.assertNotIn("payload", items[0])
        self.assertEqual(int(self.service.metric("lockstock_outbox_failed", sink="redis-stream")) >= 1, True)

    def test_replay__when_the_sink_is_mended__then_it_and_what_waits_are_sent_in_order(self):
        self.break_streams()
        order_id, first, second = self.failed_order()
        self.mend_streams()
        reply = self.http.post(f"/v1/outbox/{first}/replay")
        self.assertEqual((reply.status, reply.json["status"]), (200, "PENDING"))
        eventually(lambda: self.streamed(second), 10, "both are sent")
        mine = [e["eventId"] for e in sunk.streamed(self.redis) if e["eventId"] in (first, second)]
        self.assertEqual(sorted(mine), sorted([first, second]), "each once")
        eventually(lambda: self.get(first)["status"] == "PUBLISHED" and self.get(second)["status"] == "PUBLISHED", 10,
                   "both are PUBLISHED")
        self.assertEqual(self.get(first)["failures"], [])
        self.assertIn(("REPLAY", first), self.audited())

    def test_discard__when_failed__then_what_waits_goes_on_without_it(self):
        self.break_streams()
        self.redis.call("DEL", sunk.stream_key("order.cancelled"))
        order_id, first, second = self.failed_order()
        reply = self.http.post(f"/v1/outbox/{first}/discard")
        self.assertEqual((reply.status, reply.json["status"]), (200, "DISCARDED"))
        self.assertEqual(reply.json["failures"][0]["status"], "DISCARDED")
        eventually(lambda: self.streamed(second), 10, "the next one is sent")
        self.mend_streams()
        self.assertFalse(self.streamed(first))
        self.assertIn(("DISCARD", first), self.audited())

    def test_replay_all__when_several_failed__then_all_are_sent(self):
        self.break_streams()
        one, two = self.failed_order(), self.failed_order()
        self.mend_streams()
        reply = self.http.post("/v1/outbox/replay", {"status": "FAILED"})
        self.assertEqual(reply.status, 200)
        self.assertGreaterEqual(reply.json["replayed"], 2)
        eventually(lambda: all(self.streamed(e) for e in one[1:] + two[1:]), 10, "all four are sent")
        self.assertEqual(self.http.post("/v1/outbox/replay", {"status": "FAILED"}).json, {"replayed": 0})
        self.assertIn(("REPLAY", None), self.audited())

    def test_replay__when_published__then_it_is_sent_once_more(self):
        order = self.ordered((self.product(), 1))
        (first,) = self.events_of(order["id"])
        eventually(lambda: self.get(first)["status"] == "PUBLISHED", 10, "it is PUBLISHED")
        self.assertEqual(self.http.post(f"/v1/outbox/{first}/replay").status, 200)
        count = lambda: [e["eventId"] for e in sunk.streamed(self.redis)].count(first)
        eventually(lambda: count() == 2, 10, "it came twice")
        eventually(lambda: self.get(first)["status"] == "PUBLISHED", 10, "it is PUBLISHED again")

    def test_event__when_unknown__then_404(self):
        for method, path in (("GET", ""), ("POST", "/replay"), ("POST", "/discard")):
            self.assert_problem(self.http.request(method, f"/v1/outbox/{NO_EVENT}{path}"), 404, "EVT-001")


if __name__ == "__main__":
    main()
