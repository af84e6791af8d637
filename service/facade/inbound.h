/* Events of others as commands, whatever they came by: HTTP, Kafka, Redis, a dead letter that is replayed. */
#pragma once

#include "codec/bodies_event.h"
#include "facade/rider.h"

struct event_terms {
    const char *credential;  /* whose reservations it speaks of */
    const char *group;       /* consumer group: an event has its effect once in each */
    const char *traceparent; /* "" = none */
    int64_t ttl_ms;          /* of a reservation */
};
/* The effect must not be INBOX_NOTHING. NULL: the group is no plain word. */
struct rider *rider_for_event(const struct event_body *event, const struct event_terms *terms);

/* What became of the event, by the answer to its rider. */
enum event_fate {
    EVENT_FATE_APPLIED,
    EVENT_FATE_DUPLICATE,
    EVENT_FATE_REFUSED, /* for good, and written down as processed; answer.error says why */
    EVENT_FATE_BUSY, /* not processed, for a reason that has nothing to do with it: busy, overloaded, away, unknown */
    EVENT_FATE_NOT_NOW, /* not processed: what it speaks of is not there, or something failed. It may be later */
};
enum event_fate event_fate_of(const struct answer *answer);
