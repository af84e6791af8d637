/* Where a relay sends events. A sink belongs to one thread, the relay's.

   What a sink promises
   1. It says of each event what became of it. SENT: acknowledged, durable as far as this sink keeps anything. REFUSED:
      this event will not be taken as it is; others may be. AWAY: nobody takes anything now, or it is not known.
   2. It answers within SINK_SEND_MS_MAX, whatever the network does.
   3. No two events of one call have the same aggregate id (the relay sees to it), so that nothing the sink does in
      between can turn their order round. Unless it says in_order: then a call may bring several events of one aggregate
      and type, in the order of their ids, and once one of these is not SENT, none behind it is. */
#pragma once

#include "base/text.h"
#include "store/db.h"

#define SINK_SEND_MS_MAX 4000 /* of one call; a relay's lease is longer than a cycle */
#define SINK_EVENTS_MAX 2000  /* of one call */
#define SINK_REASON_SIZE 160

enum sink_outcome { SINK_SENT, SINK_REFUSED, SINK_AWAY };

struct sink_event {
    int64_t id; /* in the outbox; grows with each event of an aggregate */
    const char *event_id, *type, *aggregate_id;
    const char *traceparent; /* "" = none */
    const char *body;        /* the envelope, JSON */
    size_t body_len;
    enum sink_outcome outcome;     /* set by send */
    char reason[SINK_REASON_SIZE]; /* set by send unless SENT */
};

struct sink {
    const char *name; /* as in LOCKSTOCK_SINKS and outbox_parts */
    unsigned label;   /* of the metrics: its place in their "redis-stream|kafka|webhook" */
    bool in_order;
    void *self;
    /* db: the relay's connection, no transaction open. */
    void (*send)(void *self, struct db *db, struct sink_event *const *events, size_t count);
    void (*free)(void *self);
};
