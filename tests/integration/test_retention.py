"""retentionJob: old rows go in small statements, beside orders, and it ends when it is told to."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.case import Case, main  # pylint: disable=wrong-import-position
from support.load import Driver
from support.schedules import period
from support.wait import SLOW, eventually

FULL = bool(os.environ.get("LOCKSTOCK_TEST_FULL"))
ROWS = 1000000 if FULL else 30000
OLD = "UTC_TIMESTAMP(6) - INTERVAL 8 DAY"


class RetentionCase(Case):
    ENV = period("retentionJob", "PT0.3S") | {"LOCKSTOCK_SINKS": ""}
    FAULTS = "job-at-least=100"  # a round every 0.3 s

    def events(self, count, status="PUBLISHED", created=OLD, published=OLD):
        """Rows of the outbox, made by the database itself."""
        self.db.run("INSERT INTO outbox_events (event_id, aggregate_type, aggregate_id, event_type, payload, part, status,"
                    " created_at, published_at) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE"
                    f" i < 1000) SELECT UUID(), 'order', a.i, 'order.created', REPEAT('x', 300), 1, '{status}', {created},"
                    f" {published} FROM n a JOIN n b WHERE (a.i - 1) * 1000 + b.i <= {count}")

    def counts_of(self, table, column="status"):
        return {r["k"]: r["n"] for r in self.db.rows(f"SELECT {column} k, COUNT(*) n FROM {table} GROUP BY {column}")}


class Rows(RetentionCase):
    ENV = RetentionCase.ENV | {"LOCKSTOCK_SINKS": "redis-stream"}

    def test_rows__when_old__then_gone_and_the_others_stay(self):
        young = "UTC_TIMESTAMP(6) - INTERVAL 6 DAY"
        for status, published in (("FAILED", "NULL"), ("DISCARDED", "NULL"), ("PUBLISHED", OLD)):
            self.events(3, status, published=published)
        self.events(2, created=OLD, published=young)
        self.events(2, created=young, published=young)
        self.db.run("INSERT INTO processed_events (event_id, consumer_group, processed_at) VALUES ('a', 'g', " + OLD + "),"
                    " ('b', 'g', " + young + ")")
        key = ("INSERT INTO idempotency_keys (key_hash, fingerprint, status, body, created_at) VALUES (REPEAT(%s, 32),"
               " REPEAT('f', 32), 200, '{}', UTC_TIMESTAMP(6) - INTERVAL %s HOUR)")
        self.db.run(key, "a", 25)
        self.db.run(key, "b", 23)
        done = ("INSERT INTO jobs (queue, status, payload, max_attempts, created_at, done_at) VALUES ('q', 'DONE', '{}', 1,"
                " UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) - INTERVAL %s DAY)")
        self.db.run(done, 30)
        self.db.run(done, 0)
        left = lambda: (self.counts_of("outbox_events"), self.counts_of("processed_events", "event_id"),
                        self.db.count("idempotency_keys"), self.db.count("jobs"))
        expected = ({"FAILED": 3, "PUBLISHED": 4}, {"b": 1}, 1, 1)
        eventually(lambda: left() == expected, 15, f"{expected} is left")
        eventually(lambda: self.service.metric("lockstock_job_items_total", job="retentionJob") >= 9, 10, "counted")
        self.assertEqual(left(), expected)


class NoSink(RetentionCase):
    def test_events__when_nobody_sends_them__then_they_go_by_age(self):
        self.events(5, "PENDING", published="NULL")
        self.events(5, "PENDING", created="UTC_TIMESTAMP(6)", published="NULL")
        eventually(lambda: self.counts_of("outbox_events") == {"PENDING": 5}, 15, "the old ones are gone")


class Beside(RetentionCase):
    ENV = period("retentionJob", "PT10M") | {"LOCKSTOCK_SINKS": "redis-stream"}

    def test_orders__when_retention_runs_beside_them__then_no_lock_is_waited_for_and_it_stops_when_told(self):
        product = self.product(stock=10**9)
        self.events(ROWS)
        other = self.instance("keeper", faults="job-at-least=100", env=period("retentionJob", "PT0.3S"))
        other.start()
        old = lambda: self.db.count("outbox_events", "status = 'PUBLISHED' AND created_at < " + OLD)
        driver = Driver(self.services[:1], [{"userId": "u", "items": [{"productId": product, "quantity": 1}]}],
                        connections=2, seconds=300)
        eventually(lambda: old() <= ROWS // 2, 250, "half of them are gone")
        self.assertEqual(other.stop(), 0)
        left = old()
        self.assertGreater(left, 0, "it was told while it worked")
        self.assertLess(other.stopped_in_s, 3 * SLOW, "a second for the job, and the drain")
        result = driver.stop()
        print(f"    {ROWS} rows, {left} left; {result['answered']} orders, p99 {result['p99']} ms", file=sys.stderr)
        self.assertEqual(set(result["status"]), {"201"}, result["codes"])
        self.assertEqual(self.services[0].metric("lockstock_transaction_retries_total", cause="lock-wait"), 0)
        self.assertEqual([line for line in other.log() if line.get("level") in ("warn", "error")], [])


if __name__ == "__main__":
    main()
