"""The Kafka sink, against librdkafka's mock cluster."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support import service, sunk  # pylint: disable=wrong-import-position
from support.case import Case, main
from support.kafka import Mock, Tail
from support.wait import eventually

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class KafkaCase(Case):
    ENV = {"LOCKSTOCK_SINKS": "kafka"}

    @classmethod
    def setUpClass(cls):
        cls.mock = Mock()
        cls.addClassCleanup(cls.mock.end)
        cls.ENV = dict(cls.ENV, LOCKSTOCK_KAFKA_BROKERS=cls.mock.brokers)
        super().setUpClass()
        cls.tail = Tail(cls.mock.brokers)
        cls.addClassCleanup(cls.tail.end)

    def arrived(self):
        eventually(lambda: not sunk.missing(self.db, self.tail.received()), 40, "every event is in its topic")
        return self.tail.received()

    def cancelled(self, count):
        product = self.product(stock=1000)
        for _ in range(count):
            order = self.ordered((product, 1), headers=[("traceparent", TRACE)])
            self.assertEqual(self.http.post(f"/v1/orders/{order['id']}/cancel", {"reason": "USER_REQUESTED"}).status, 200)


class Sink(KafkaCase):
    def test_events__when_sent__then_topic_key_headers_and_value(self):
        self.cancelled(5)
        received = self.arrived()
        self.assertEqual(sunk.out_of_order(self.db, received), [])
        for event in received:
            self.assertEqual((event["topic"], event["key"]), (event["eventType"], event["aggregateId"]))
            self.assertEqual((event["headers"]["eventId"], event["headers"]["source"]), (event["eventId"], "lockstock"))
        created = [e for e in received if e["eventType"] == "order.created"]
        self.assertEqual({e["headers"].get("traceparent") for e in created}, {TRACE})
        eventually(lambda: self.db.count("outbox_events", "status <> 'PUBLISHED'") == 0, 20, "all rows are PUBLISHED")

    def test_event__when_too_large__then_it_alone_is_failed_at_the_end(self):
        sql = ("INSERT INTO outbox_events (event_id, aggregate_type, aggregate_id, aggregate_version, event_type, payload,"
               " part, created_at) VALUES (UUID(), 'order', %s, 0, 'order.created', %s, CRC32(%s) %% 64, UTC_TIMESTAMP(6))")
        self.db.run(sql, "large", '"' + 1100000 * "x" + '"', "large")
        self.db.run(sql, "large", "{}", "large")
        self.cancelled(1)
        eventually(lambda: self.db.count("outbox_failures", "status = 'FAILED'") == 1, 40, "FAILED after its refusals")
        row = self.db.rows("SELECT * FROM outbox_failures WHERE status = 'FAILED'")[0]
        self.assertEqual((row["aggregate_id"], row["attempts"]), ("large", 5))
        self.assertIn("too large", row["error"])
        self.assertEqual(self.db.count("outbox_failures", "status = 'PENDING'"), 1, "the next one of its aggregate waits")
        self.assertEqual(self.db.value("SELECT status FROM outbox_events WHERE aggregate_id='large' ORDER BY id LIMIT 1"),
                         "FAILED")
        missing = set(sunk.missing(self.db, self.tail.received()))
        held = {r["event_id"] for r in self.db.rows("SELECT event_id FROM outbox_events WHERE aggregate_id='large'")}
        self.assertEqual(missing, held, "nothing but that aggregate is missing")
        self.db.run("DELETE FROM outbox_failures")
        self.db.run("DELETE FROM outbox_events WHERE aggregate_id='large'")


class Outage(KafkaCase):
    def test_events__when_the_broker_is_down__then_no_attempt_is_burnt_and_all_arrive(self):
        self.cancelled(1)
        self.arrived()
        self.mock.down()
        self.cancelled(5)
        eventually(lambda: self.service.metric("lockstock_outbox_outages_total", sink="kafka") >= 1, 20, "it is noticed")
        eventually(lambda: self.service.metric("lockstock_outbox_backlog_age_milliseconds", sink="kafka") > 6000, 30,
                   "it lasts")
        self.assertEqual(self.db.count("outbox_failures"), 0)
        self.mock.up()
        self.assertEqual(sunk.out_of_order(self.db, self.arrived()), [])
        self.assertEqual(self.db.count("outbox_failures"), 0)
        self.assertEqual(self.db.count("outbox_events", "status = 'FAILED'"), 0)


class Settings(unittest.TestCase):
    """Sinks that cannot be used end the start with a sentence, and without the secret."""

    def refused(self, **settings):
        done = service.run(["serve"], {"LOCKSTOCK_LISTEN": "127.0.0.1:1", **settings}, timeout_s=10)
        self.assertEqual(done.returncode, 2, done)
        self.assertNotIn("s3cret", done.stdout + done.stderr)
        return done.stderr

    def test_sinks__when_they_cannot_be_used__then_status_2_and_a_sentence(self):
        brokers = {"LOCKSTOCK_SINKS": "kafka", "LOCKSTOCK_KAFKA_BROKERS": "127.0.0.1:1"}
        for settings, sentence in (
                ({"LOCKSTOCK_SINKS": "redis-stream,nats"}, "LOCKSTOCK_SINKS=redis-stream,nats"),
                ({"LOCKSTOCK_SINKS": "kafka"}, "LOCKSTOCK_KAFKA_BROKERS is empty"),
                (brokers | {"LOCKSTOCK_KAFKA_PROPERTIES": "acks=1"}, "acks is set by the service"),
                (brokers | {"LOCKSTOCK_KAFKA_PROPERTIES": "sasl.passwort=s3cret"}, "sasl.passwort is unknown"),
                (brokers | {"LOCKSTOCK_KAFKA_PROPERTIES": "s3cret"}, "must look like name=value")):
            with self.subTest(sentence):
                self.assertIn(sentence, self.refused(**settings))


class BothSinks(KafkaCase):
    """A dead sink holds back no other."""

    ENV = {"LOCKSTOCK_SINKS": "redis-stream,kafka"}

    def test_sinks__when_one_is_dead__then_the_other_goes_on(self):
        self.mock.down()
        self.cancelled(5)
        sunk.until_all_streamed(self)
        self.assertEqual(self.db.count("outbox_events", "status = 'PUBLISHED'"), 0, "not all sinks have them")
        self.mock.up()
        self.arrived()
        eventually(lambda: self.db.count("outbox_events", "status <> 'PUBLISHED'") == 0, 20, "now they have")


if __name__ == "__main__":
    main()
