"""Rows about the relay: how fast a backlog of events goes to a sink, and what it costs the order path.

rate = events per second that the sink has acknowledged. The outbox is filled by the database before the service starts;
an event is one of order.created of an order with one line. Kafka is a real broker when `make test-interop` has fetched
one (build/interop/kafka), on the same two cores like everything else; without it there is no such row."""

import os
import sys
import time

from stand import ROOT, Cpu, children_s

BACKLOG = 400000
PAYLOAD = ('{"orderId":42,"orderNumber":"ORD-20261130-1A","userId":"u-1","totalAmount":1000,"items":[{"productId":1,'
           '"quantity":1,"unitPrice":1000}],"expiresAt":"2026-11-30T12:30:00.000Z"}')
LOOK_S = 0.05
BROKER = os.path.join(ROOT, "build", "interop", "kafka", "made")


def fill(database):
    """Ids are given and ascending: an INSERT … SELECT draws more than it needs, and gaps are looked at."""
    database.run("INSERT INTO outbox_events (id, event_id, aggregate_type, aggregate_id, event_type, payload, part,"
                 " created_at) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
                 " SELECT (a.i - 1) * 1000 + b.i, UUID(), 'order', (a.i - 1) * 1000 + b.i, 'order.created', %s,"
                 " CRC32(CAST((a.i - 1) * 1000 + b.i AS CHAR)) %% 64, UTC_TIMESTAMP(6) FROM n a JOIN n b"
                 " WHERE a.i <= %s ORDER BY 1", PAYLOAD, BACKLOG // 1000)


def drain(stand, service, sink):
    """Events acknowledged in the time from the first one seen to the last."""
    sent = lambda: service.metric("lockstock_outbox_sent_total", sink=sink)
    cpu, before = Cpu({**stand.pids(), "service": service.pid}), children_s()
    first, begun = sent(), time.monotonic()
    while (now := sent()) < BACKLOG:
        if time.monotonic() - begun > 120:
            raise AssertionError(f"{now} of {BACKLOG} events after two minutes")
        time.sleep(LOOK_S)
    seconds = time.monotonic() - begun
    return {"rate": (BACKLOG - first) / seconds, "p50": 0, "p99": 0, "cores": cpu.cores(children_s() - before)}


def relay(with_service, sink, settings):
    def measure(stand, times):
        def body(service, database):
            service.stop()
            fill(database)
            service.start()
            return drain(stand, service, sink)
        return with_service(stand, settings(), 1, body)
    return measure


def kafka(with_service):
    def measure(stand, times):
        sys.path.insert(0, os.path.join(ROOT, "tests", "interop"))
        from broker import Broker  # pylint: disable=import-outside-toplevel
        broker = Broker(stand.folder).start()
        try:
            settings = {"LOCKSTOCK_SINKS": "kafka", "LOCKSTOCK_KAFKA_BROKERS": broker.brokers}
            return relay(with_service, "kafka", lambda: settings)(stand, times)
        finally:
            broker.kill()
    return measure


def relay_rows(with_service):
    rows = {"relay, backlog to Redis Streams": relay(with_service, "redis-stream", dict)}
    if os.path.exists(BROKER):
        rows["relay, backlog to Kafka"] = kafka(with_service)
    return rows
