"""Relays killed at work, and each of their mechanisms taken out: what is lost, doubled or turned round without it."""

import contextlib
import os
import sys
import uuid

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support import sunk  # pylint: disable=wrong-import-position
from support.case import Case, main
from support.load import Driver
from support.wait import RANDOM, eventually, holds_for

FULL = bool(os.environ.get("LOCKSTOCK_TEST_FULL"))
KILLS = 10 if FULL else 3


class RelayChaos(Case):
    def ids(self):
        return {event_id for event_id, *_ in sunk.outbox(self.db)}

    def received(self):
        ids = self.ids()
        return [e for e in sunk.streamed(self.redis) if e["eventId"] in ids]

    def insert(self, aggregate_id, event_type="order.created", cursor=None):
        event_id = str(uuid.uuid4())
        sql = ("INSERT INTO outbox_events (event_id, aggregate_type, aggregate_id, aggregate_version, event_type, payload,"
               " part, created_at) VALUES (%s, 'order', %s, 0, %s, '{}', CRC32(%s) %% 64, UTC_TIMESTAMP(6))")
        values = (event_id, aggregate_id, event_type, aggregate_id)
        if cursor:
            cursor.execute(sql, values)
        else:
            self.db.run(sql, *values)
        return event_id

    def has(self, event_id):
        return event_id in {e["eventId"] for e in sunk.streamed(self.redis)}

    def doubled(self):
        received = self.received()
        return len(received) - len(sunk.first_arrivals(received))


class Kills(RelayChaos):
    INSTANCES = 2

    def test_events__when_instances_are_killed__then_all_arrive_in_order(self):
        products = [self.product(stock=10**6) for _ in range(3)]
        bodies = [{"userId": "u", "items": [{"productId": p, "quantity": 1}]} for p in products]
        driver = Driver(self.services, bodies, connections=8, seconds=120)
        for number in range(KILLS):
            at = len(sunk.outbox(self.db))
            eventually(lambda: len(sunk.outbox(self.db)) > at + 100 + RANDOM.randrange(200), 30, "orders go on")
            victim = self.services[number % 2]
            victim.kill()
            victim.start()
        result = driver.stop()
        eventually(lambda: not sunk.missing(self.db, self.received()), 40, "every event arrived")
        received = self.received()
        self.assertEqual(sunk.out_of_order(self.db, received), [])
        self.assertGreaterEqual(len(self.ids()), len(result["orders"]))
        print(f"    {len(self.ids())} events, {self.doubled()} sent twice", file=sys.stderr)
        self.assertEqual(self.db.count("outbox_failures"), 0)


class Restart(RelayChaos):
    """How far a relay has come stands in the database."""

    def again(self):
        for _ in range(5):
            self.insert("again-1")
        eventually(lambda: not sunk.missing(self.db, self.received()), 10, "all arrived")
        eventually(lambda: self.service.metric("lockstock_outbox_backlog_age_milliseconds") == 0, 10, "written down")
        self.assertEqual(self.service.stop(), 0)
        self.service.start()
        last = self.insert("again-2")
        eventually(lambda: self.has(last), 20, "it goes on")

    def test_restart__when_all_was_sent__then_nothing_is_sent_twice(self):
        self.again()
        self.assertEqual(self.doubled(), 0)


class RestartWithoutMark(Restart):
    FAULTS = "no-relay-mark"

    def test_restart__when_all_was_sent__then_nothing_is_sent_twice(self):
        for _ in range(5):
            self.insert("again-1")
        eventually(lambda: not sunk.missing(self.db, self.received()), 10, "all arrived")
        self.assertEqual(self.service.stop(), 0)
        self.service.start()
        eventually(lambda: self.doubled() > 0, 20, "without the mechanism everything is sent again")


class WithoutHoles(RelayChaos):
    FAULTS = "no-holes"

    def test_hole__when_it_is_forgotten__then_its_event_is_lost(self):
        with contextlib.closing(self.db.session(autocommit=False)) as session, session.cursor() as cursor:
            cursor.execute("START TRANSACTION")
            late, after = self.insert("late", cursor=cursor), self.insert("after")
            eventually(lambda: self.has(after), 10, "the later id is sent")
            session.commit()
        next_one = self.insert("next")
        eventually(lambda: self.has(next_one), 10, "what follows is sent")
        holds_for(lambda: not self.has(late), 2, "without the mechanism the event is lost")


class WithoutParking(RelayChaos):
    FAULTS = "no-parking"

    def test_event__when_the_one_before_is_refused__then_it_overtakes(self):
        key = sunk.stream_key("payment.failed")
        self.redis.call("SET", key, "no stream")
        self.addCleanup(self.redis.call, "DEL", key)
        first, second = self.insert("one", "payment.failed"), self.insert("one", "order.cancelled")
        eventually(lambda: self.has(second), 10, "without the mechanism it overtakes")
        self.assertFalse(self.has(first))


class WithoutClaims(RelayChaos):
    """Two relays that both believe a part is theirs."""

    INSTANCES = 2
    FAULTS = "no-claim-update,no-part-claim"

    def test_parts__when_nobody_claims_them__then_events_are_sent_twice(self):
        def twice():
            for number in range(64):
                self.insert(f"k-{number}")
            return self.doubled() > 0

        eventually(twice, 20, "without the mechanism events are sent twice")


if __name__ == "__main__":
    main()
