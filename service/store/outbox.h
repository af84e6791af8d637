/* What a relay asks of the database: the rows of the outbox, the parts it owns, and what a sink refused. On a
   background thread, autocommit unless said otherwise; rows of one sink's parts are written by their owner alone.

   Ids are drawn before their transaction commits, so that a row can appear below ids that were read already. A relay
   that only remembered the last id would lose it. Hence: */
#pragma once

#include "base/text.h"
#include "domain/limits.h"
#include "store/db.h"

#define OUTBOX_AGGREGATE_SIZE 257 /* VARCHAR(64) of utf8mb4 */
#define OUTBOX_TYPE_SIZE 51
#define OUTBOX_TRACE_SIZE 65
#define OUTBOX_HOLES_SIZE 12001
#define OUTBOX_ALL_PARTS UINT64_MAX

/* One event. */
struct outbox_row {
    int64_t id, version, created_ms;
    unsigned part;
    unsigned attempts; /* refusals so far; 0 unless it comes from outbox_due */
    char event_id[TEXT_UUID_SIZE];
    char type[OUTBOX_TYPE_SIZE];
    char aggregate_id[OUTBOX_AGGREGATE_SIZE];
    char traceparent[OUTBOX_TRACE_SIZE]; /* "" = none */
    const char *payload;                 /* valid during the call; "" for parts that were not asked for */
    size_t payload_len;
};
typedef void (*outbox_row_fn)(void *arg, const struct outbox_row *row);

/* Committed rows of all parts with after < id ≤ upto, in id order, at most limit; payloads of `parts` (a bit each)
   alone. One snapshot: who sees a row sees all of the same aggregate that were committed before it. */
struct outbox_range {
    int64_t after, upto;
    uint64_t parts;
    int64_t limit;
};
RESULT outbox_read(struct db *db, const struct outbox_range *range, outbox_row_fn fn, void *arg);
/* The same with from ≤ id ≤ to for each of count ascending spans, in id order; of each DB_CHUNK_MAX spans at most
   OUTBOX_SPAN_ROWS, the first ones. */
#define OUTBOX_SPAN_ROWS 1001
struct outbox_span {
    int64_t from, to;
};
RESULT outbox_read_spans(struct db *db, const struct outbox_span *spans, size_t count, uint64_t parts, outbox_row_fn fn,
                         void *arg);
/* Nobody holds an uncommitted row in the span, and none stands there: asked with locks, without waiting. */
RESULT outbox_span_is_empty(struct db *db, struct outbox_span span, bool *ret);
/* When the first row above `low` was created; 0 = there is none. */
RESULT outbox_oldest_after(struct db *db, int64_t low, int64_t *ret_created_ms);

/* -- outbox_parts.c */
struct outbox_part {
    unsigned part;
    int64_t frontier;
    char holes[OUTBOX_HOLES_SIZE];
};
/* The rows of this sink, where they are missing. */
RESULT outbox_parts_make(struct db *db, const char *sink);
/* Claims up to limit parts for lease_ms; fn is called for each when they are. `owner` is a name nobody has used before:
 * it tells this call from every other. */
struct outbox_take {
    const char *sink, *owner;
    int64_t lease_ms;
    size_t limit;
    void (*fn)(void *arg, const struct outbox_part *part);
    void *arg;
};
RESULT outbox_parts_take(struct db *db, const struct outbox_take *take, size_t *ret_count);
/* Parts that were claimed by one call. */
struct outbox_hold {
    const char *sink, *owner;
    uint64_t parts;
};
struct outbox_progress {
    int64_t frontier, low;
    const char *holes;
};
/* All of the parts, or *ret_ours false: then (some of) the claims are lost and the caller's transaction must go. */
RESULT outbox_parts_advance(struct db *db, const struct outbox_hold *hold, const struct outbox_progress *progress,
                            bool *ret_ours);
RESULT outbox_parts_renew(struct db *db, const struct outbox_hold *hold, int64_t lease_ms, bool *ret_ours);
/* Others may claim them at once. What is lost already is no error. */
RESULT outbox_parts_release(struct db *db, const struct outbox_hold *hold);
/* Parts whose lease is over show no owner; whoever claims next takes them in any case. */
RESULT outbox_parts_free_expired(struct db *db, uint64_t *ret_freed);
/* This relay lives for life_ms more (0: it ends); *ret_living counts those that live. */
RESULT outbox_relays_beat(struct db *db, const char *sink, const char *relay, int64_t life_ms, int64_t *ret_living);

/* -- outbox_failures.c */
struct outbox_failure {
    int64_t id;
    unsigned part;
    const char *aggregate_id;
    bool failed;       /* nobody tries again by itself */
    unsigned attempts; /* 0: it only waits behind another one */
    int64_t delay_ms;
    const char *error;
};
/* Writes the failure down or changes it. In the caller's transaction. */
RESULT outbox_failures_put(struct db *db, const char *sink, const struct outbox_failure *failures, size_t count);
/* The sink has it now. In the caller's transaction. */
RESULT outbox_failures_remove(struct db *db, const char *sink, int64_t id);
/* Aggregate ids of these parts that have a failure which is not discarded: their events wait. At most limit. */
RESULT outbox_failures_keys(struct db *db, const char *sink, uint64_t parts, int64_t limit,
                            void (*fn)(void *arg, const char *aggregate_id), void *arg);
/* Failures of these parts that may be tried now, the first of each aggregate, in id order. */
RESULT outbox_due(struct db *db, const char *sink, uint64_t parts, int64_t limit, outbox_row_fn fn, void *arg);
/* How many are FAILED, over all parts. */
RESULT outbox_failures_count(struct db *db, const char *sink, int64_t *ret);

/* -- outbox_marks.c: the status of the rows, for those who look; relays do not read it. */
/* PENDING rows that all `sinks` have become PUBLISHED, at most limit. */
RESULT outbox_mark(struct db *db, const char *const *sinks, size_t sink_count, int64_t limit, uint64_t *ret_marked);
