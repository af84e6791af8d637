"""Events in a real Kafka: relays killed at work, and a broker that is away for a minute."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from broker import Broker  # pylint: disable=wrong-import-position
from support import sunk  # pylint: disable=wrong-import-position
from support.case import Case, main  # pylint: disable=wrong-import-position
from support.kafka import Tail  # pylint: disable=wrong-import-position
from support.load import Driver  # pylint: disable=wrong-import-position
from support.wait import eventually  # pylint: disable=wrong-import-position

ORDERS = 10000
KILLS = 5
AWAY_S = 60
BEFORE_S = 20


class KafkaCase(Case):
    INSTANCES = 2

    @classmethod
    def setUpClass(cls):
        cls.broker = None
        super().setUpClass()
        cls.tail = Tail(cls.broker.brokers)
        cls.addClassCleanup(cls.tail.end)

    @classmethod
    def migrate(cls):
        """The broker first: the instances are started next."""
        super().migrate()
        cls.broker = Broker(cls.stack.folder).start()
        cls.addClassCleanup(cls.broker.kill)
        cls.ENV = {"LOCKSTOCK_SINKS": "kafka", "LOCKSTOCK_KAFKA_BROKERS": cls.broker.brokers}

    def load(self, seconds, connections=8):
        if not hasattr(self, "bodies"):
            products = [self.product(stock=10**6) for _ in range(4)]
            self.bodies = [{"userId": "u", "items": [{"productId": p, "quantity": 1}]} for p in products]
        return Driver(self.services, self.bodies, connections=connections, seconds=seconds)

    def until_all_arrived(self, timeout_s):
        eventually(lambda: not sunk.missing(self.db, self.tail.received()), timeout_s, "every event is in its topic")
        return self.tail.received()

    def assert_in_order(self, received):
        """Of each order by the offsets of its topic; each event has one key, and so one partition."""
        self.assertEqual(sunk.out_of_order(self.db, received), [])
        self.assertEqual([e for e in received if e["key"] != e["aggregateId"]], [])

    def assert_nothing_failed(self):
        self.assertEqual(self.db.count("outbox_failures"), 0)
        self.assertEqual(self.db.count("outbox_events", "status = 'FAILED'"), 0)


class Kills(KafkaCase):
    def test_events__when_relays_are_killed__then_each_arrives_in_order_and_is_applied_once(self):
        driver = self.load(300)
        for number in range(KILLS):
            eventually(lambda: self.db.count("orders") > (number + 1) * ORDERS // (KILLS + 1), 120, "orders go on")
            victim = self.services[number % 2]
            victim.kill()
            victim.start()
        eventually(lambda: self.db.count("orders") >= ORDERS, 120, f"{ORDERS} orders")
        driver.stop()
        received = self.until_all_arrived(90)
        self.assert_in_order(received)
        applied = sunk.first_arrivals(received)
        self.assertEqual({e["eventId"] for e in applied}, {event_id for event_id, *_ in sunk.outbox(self.db)})
        self.assert_nothing_failed()
        print(f"    {self.db.count('orders')} orders, {len(applied)} events, {len(received) - len(applied)} of them twice",
              file=sys.stderr)


class Away(KafkaCase):
    INSTANCES = 1

    def test_orders__when_the_broker_is_away_for_a_minute__then_they_do_not_notice(self):
        self.load(2).result()
        before = self.load(BEFORE_S, 4).result()
        self.until_all_arrived(30)
        self.broker.stop()
        away = self.load(AWAY_S, 4).result()
        self.assertEqual(set(away["status"]), {"201"})
        self.assertGreaterEqual(self.service.metric("lockstock_outbox_outages_total", sink="kafka"), 1)
        self.assert_nothing_failed()
        self.broker.start()
        self.assert_in_order(self.until_all_arrived(120))
        self.assert_nothing_failed()
        print(f"    p99 {before['p99']} ms before, {away['p99']} ms while the broker was away: "
              f"{away['p99'] / before['p99']:.2f} ×; {len(away['orders'])} orders in that time", file=sys.stderr)


if __name__ == "__main__":
    main()
