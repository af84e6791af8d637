"""What a sink has received, and what the outbox says should have come."""

import json

from .wait import eventually

TYPES = ("order.created", "order.cancelled", "order.payment_requested", "order.status_changed", "payment.completed",
         "payment.failed", "payment.refund_required", "stock.changed", "stock.reservation.result")


def stream_key(event_type):
    return "lockstock:events:" + event_type


def streamed(redis, types=TYPES):
    """Envelopes of all streams in the order of their arrival, each with `at` (the entry's id) and its other fields."""
    found = []
    for event_type in types:
        if redis.call("TYPE", stream_key(event_type)) != "stream":
            continue
        for entry, pairs in redis.call("XRANGE", stream_key(event_type), "-", "+"):
            fields = dict(zip(pairs[::2], pairs[1::2]))
            envelope = json.loads(fields["event"])
            found.append(dict(envelope, at=tuple(int(n) for n in entry.split("-")), fields=fields))
    return sorted(found, key=lambda e: e["at"])


def outbox(db):
    """(event id, aggregate type, aggregate id, id, version) of all rows, in id order."""
    return [(r["event_id"], r["aggregate_type"], r["aggregate_id"], r["id"], r["aggregate_version"])
            for r in db.rows("SELECT id, event_id, aggregate_type, aggregate_id, aggregate_version FROM outbox_events"
                             " ORDER BY id")]


def missing(db, received):
    """Event ids of the outbox that did not arrive."""
    have = {e["eventId"] for e in received}
    return [event_id for event_id, *_ in outbox(db) if event_id not in have]


def first_arrivals(received):
    """Each event once, where it came first: what a consumer that knows event ids applies."""
    seen, order = set(), []
    for event in received:
        if event["eventId"] not in seen:
            seen.add(event["eventId"])
            order.append(event)
    return order


def is_before(one, other):
    """The first came before the second for sure. Numbers within a millisecond compare within one stream alone."""
    alike = one["eventType"] == other["eventType"]
    return one["at"] < other["at"] if alike else one["at"][0] < other["at"][0]


def out_of_order(db, received):
    """Pairs of event ids of one aggregate that arrived the other way round, by their first arrivals."""
    first = {event["eventId"]: event for event in first_arrivals(received)}
    last, wrong = {}, []
    for event_id, kind, aggregate, *_ in outbox(db):
        event = first.get(event_id)
        if event is None:
            continue
        before = last.get((kind, aggregate))
        if before and is_before(event, before):
            wrong.append((before["eventId"], event_id))
        last[kind, aggregate] = event
    return wrong


def until_all_streamed(case, timeout_s=20):
    """Every event of the case's outbox has arrived; the arrivals of this database."""
    own = lambda: {event_id for event_id, *_ in outbox(case.db)}
    eventually(lambda: not missing(case.db, streamed(case.redis)), timeout_s, "every event is in its stream")
    ids = own()
    return [e for e in streamed(case.redis) if e["eventId"] in ids]
