"""The relay and Redis Streams: everything arrives, in order, from several relays, past refusals and outages."""

import contextlib
import os
import sys
import uuid

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support import sunk  # pylint: disable=wrong-import-position
from support.case import Case, main
from support.wait import eventually

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class RelayCase(Case):
    def arrived(self):
        return sunk.until_all_streamed(self)

    def statuses(self):
        return {r["status"]: int(r["n"]) for r in self.db.rows("SELECT status, COUNT(*) n FROM outbox_events GROUP BY status")}

    def until_published(self):
        eventually(lambda: set(self.statuses()) <= {"PUBLISHED"}, 20, "every row is PUBLISHED")

    def insert(self, aggregate_id, event_type="order.created", cursor=None, payload="{}"):
        """An event as a foreign writer adds it; its event id."""
        event_id = str(uuid.uuid4())
        sql = ("INSERT INTO outbox_events (event_id, aggregate_type, aggregate_id, aggregate_version, event_type, payload,"
               " part, created_at) VALUES (%s, 'order', %s, 0, %s, %s, CRC32(%s) %% 64, UTC_TIMESTAMP(6))")
        values = (event_id, aggregate_id, event_type, payload, aggregate_id)
        if cursor:
            cursor.execute(sql, values)
        else:
            self.db.run(sql, *values)
        return event_id


class Stream(RelayCase):
    def test_event__when_committed__then_its_stream_has_the_whole_envelope(self):
        product = self.product()
        order = self.ordered((product, 2), headers=[("traceparent", TRACE)])
        row = self.events(order["id"], "order.created")[0]
        found = [e for e in self.arrived() if e["eventId"] == row["event_id"]]
        self.assertEqual(len(found), 1)
        envelope = found[0]
        self.assertEqual((envelope["eventType"], envelope["schemaVersion"], envelope["source"]),
                         ("order.created", 1, "lockstock"))
        self.assertEqual((envelope["aggregateId"], envelope["aggregateVersion"]), (str(order["id"]), 0))
        self.assertEqual(envelope["payload"], row["payload"])
        self.assertRegex(envelope["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(envelope["fields"]["key"], str(order["id"]))
        self.assertEqual(envelope["fields"]["traceparent"], TRACE)

    def test_events__when_sent__then_in_order_and_published(self):
        product = self.product(stock=1000)
        for _ in range(20):
            order = self.ordered((product, 1))
            self.http.post(f"/v1/orders/{order['id']}/cancel", {"reason": "USER_REQUESTED"})
        self.assertEqual(sunk.out_of_order(self.db, self.arrived()), [])
        self.until_published()
        self.assertIsNone(self.db.value("SELECT MIN(id) FROM outbox_events WHERE published_at IS NULL"))

    def test_hole__when_its_row_is_committed_late__then_it_is_sent(self):
        with contextlib.closing(self.db.session(autocommit=False)) as connection, connection.cursor() as cursor:
            cursor.execute("START TRANSACTION")
            late = self.insert("late-1", cursor=cursor)
            after = self.insert("other-1")
            eventually(lambda: after in {e["eventId"] for e in sunk.streamed(self.redis)}, 10, "the later id is sent")
            self.assertNotIn(late, {e["eventId"] for e in sunk.streamed(self.redis)})
            # longer than a hole is looked at before it is asked for with locks
            holes = lambda: self.db.value("SELECT MAX(holes) FROM outbox_parts")
            self.assertTrue(holes())
            eventually(lambda: self.service.metric("lockstock_outbox_backlog_age_milliseconds") > 6500, 20,
                       "the hole outlived its looks")
            self.assertTrue(holes())
            connection.commit()
        self.arrived()
        self.until_published()

    def test_hole__when_its_transaction_is_rolled_back__then_it_closes(self):
        with contextlib.closing(self.db.session(autocommit=False)) as connection, connection.cursor() as cursor:
            cursor.execute("START TRANSACTION")
            self.insert("gone-1", cursor=cursor)
            self.insert("other-2")
            connection.rollback()
        self.arrived()
        eventually(lambda: self.db.value("SELECT MAX(holes) FROM outbox_parts") == "", 20, "no hole is left")
        self.until_published()


class Refused(RelayCase):
    """One stream's key is no stream: Redis refuses events of that type, and no others."""

    def setUp(self):
        super().setUp()
        self.key = sunk.stream_key("payment.failed")
        self.redis.call("SET", self.key, "no stream")
        self.addCleanup(self.redis.call, "DEL", self.key)

    def test_event__when_refused__then_its_own_order_waits_and_others_do_not(self):
        bad, worse, good = "bad-1", "bad-2", "good-1"
        first, second = self.insert(bad, "payment.failed"), self.insert(bad, "order.cancelled")
        self.insert(worse, "payment.failed")
        other = self.insert(good, "order.cancelled")
        has = lambda event_id: event_id in {e["eventId"] for e in sunk.streamed(self.redis)}
        eventually(lambda: has(other), 10, "another order goes on")
        eventually(lambda: self.db.value("SELECT COUNT(*) FROM outbox_failures WHERE attempts > 1") == 2, 10,
                   "refused twice")
        self.assertFalse(has(second), "an event overtook the refused one before it")
        third = self.insert(bad, "order.created")
        eventually(lambda: self.db.value("SELECT COUNT(*) FROM outbox_failures WHERE aggregate_id = %s", bad) == 3, 10,
                   "the next one waits, too")
        self.redis.call("DEL", self.key)
        received = self.arrived()
        mine = [e["eventId"] for e in received if e["aggregateId"] == bad]
        self.assertEqual(mine, [first, second, third])
        self.until_published()
        self.assertEqual(self.db.count("outbox_failures"), 0)


class Outage(RelayCase):
    """A Redis of its own that goes away."""

    def test_events__when_redis_is_away__then_no_attempt_is_burnt_and_all_arrive(self):
        product = self.product(stock=1000)
        self.arrived()
        self.until_published()
        self.db.run("DELETE FROM outbox_events")  # this Redis keeps nothing when it stops
        self.redis.stop()
        orders = [self.ordered((product, 1)) for _ in range(20)]
        eventually(lambda: self.service.metric("lockstock_outbox_outages_total", sink="redis-stream") >= 1, 10,
                   "the outage is noticed")
        eventually(lambda: self.service.metric("lockstock_outbox_backlog_age_milliseconds", sink="redis-stream") > 3000,
                   20, "it lasts")
        self.assertEqual(self.db.count("outbox_failures"), 0)
        self.redis.start()
        self.assertEqual(sunk.out_of_order(self.db, self.arrived()), [])
        self.assertEqual(len(orders), 20)
        self.assertEqual(self.db.count("outbox_failures"), 0)
        self.assertEqual(len(self.service.log("relay.sink_away")), 1)


    def test_stop__when_redis_is_frozen__then_it_is_not_held_up_and_nothing_is_lost(self):
        product = self.product(stock=1000)
        self.arrived()
        self.redis.freeze()
        self.addCleanup(self.redis.thaw)
        self.ordered((product, 1))
        eventually(lambda: self.service.metric("lockstock_outbox_outages_total", sink="redis-stream") >= 1, 10,
                   "the outage is noticed")
        self.assertEqual(self.service.stop(), 0)
        self.redis.thaw()
        self.service.start()
        self.assertEqual(sunk.out_of_order(self.db, self.arrived()), [])


class Shared(RelayCase):
    """Two relays of one sink."""

    INSTANCES = 2

    def parts(self):
        return [int(one.metric("lockstock_outbox_parts", sink="redis-stream")) for one in self.services]

    def test_parts__when_relays_come_and_go__then_they_are_shared(self):
        eventually(lambda: self.parts() == [32, 32], 20, "each has its half")
        product = self.product(stock=1000)
        for n in range(40):
            self.ordered((product, 1), http=self.client(n))
        received = self.arrived()
        self.assertEqual(sunk.out_of_order(self.db, received), [])
        self.assertEqual(len(received), len(sunk.first_arrivals(received)), "nothing was sent twice")
        self.assertEqual(self.services[1].stop(), 0)
        eventually(lambda: int(self.services[0].metric("lockstock_outbox_parts")) == 64, 20, "the other takes all")
        self.services[1].start()
        eventually(lambda: self.parts() == [32, 32], 20, "and shares again")


if __name__ == "__main__":
    main()
