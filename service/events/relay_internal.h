/* What the files of the relay share. Relay thread. */
#pragma once

#include "base/thread.h"
#include "events/batch.h"
#include "events/frontier.h"
#include "events/relay.h"
#include "events/sinks.h"
#include "store/claims.h"

#include <assert.h>
#include <stdatomic.h>

#define RELAY_LEASE_MS 12000   /* of a part; after a kill another relay takes it then */
#define RELAY_LIFE_MS 6000     /* without a sign of life it counts no longer when parts are shared */
#define RELAY_LOOK_MS 2000     /* shares, leases, failures that are due */
#define RELAY_POLL_MS 500      /* commits of other instances */
#define RELAY_PACE_MS 50       /* between cycles that were not full: one commit for many events */
#define RELAY_HOLDS_MAX 64     /* calls that claimed: at most one for each part */
#define RELAY_PARKED_MAX 10000 /* aggregate ids that wait; more, and this relay sends nothing but those */
#define RELAY_AWAY_MS_MIN 100  /* an outage is looked at again after this, doubling */
#define RELAY_AWAY_MS_MAX 5000
#define RELAY_ATTEMPTS_MAX 5 /* refusals of one event, then it is FAILED */
#define RELAY_RETRY_MS 1000  /* after the first refusal, doubling */

static_assert(RELAY_LEASE_MS > 2 * RELAY_LOOK_MS + SINK_SEND_MS_MAX,
              "a lease outlives a cycle begun just before a look");

struct hold {
    char owner[TEXT_UUID_SIZE];
    uint64_t parts;
};

struct relay {
    struct relay_options options;
    struct thread *thread; /* the owner's */
    struct thread *self;   /* the same, the thread's own */
    atomic_bool woken;     /* since the last turn began */
    struct db *db;
    struct sink sink;
    char name[TEXT_UUID_SIZE];

    /* relay_parts.c: what it owns. Each part is in one hold and in one frontier. */
    struct hold holds[RELAY_HOLDS_MAX];
    size_t hold_count;
    struct frontier frontiers[OUTBOX_PARTS];
    size_t frontier_count;
    int64_t lease_until_ms; /* monotonic; counted from before the statement */
    int64_t look_at_ms;     /* monotonic */

    struct keys parked; /* aggregate ids whose events wait behind a failure */
    int64_t retry_at_ms;
    int64_t holes_at_ms, mark_at_ms;

    int64_t away_ms; /* back-off of an outage; 0 = none */
    int64_t away_until_ms;
    int64_t store_away_ms; /* the same of MySQL */

    struct batch batch;
};

/* relay_parts.c */
uint64_t relay_owned(const struct relay *relay);
/* Sign of life, leases, its fair share of the parts. */
RESULT relay_look(struct relay *relay);
/* In the caller's transaction or by itself: all holds on `parts` advance with the frontier. CLAIM_LOST when one is
 * lost. */
RESULT relay_advance(struct relay *relay, const struct frontier *frontier);
/* Renews all holds. CLAIM_LOST when one is lost. */
RESULT relay_renew(struct relay *relay);
/* Gives back what can be given back and forgets all. */
void relay_forget(struct relay *relay);
/* Time for one call of the sink within the lease. */
bool relay_may_send(const struct relay *relay);

/* relay_cycle.c */
/* One cycle of a frontier: read, send, write down how far. *ret_more: there is more to do at once. */
RESULT relay_cycle(struct relay *relay, struct frontier *frontier, bool *ret_more);
/* Sends what the batch holds, wave by wave; the least id that did not go, INT64_MAX when all did. */
int64_t relay_send(struct relay *relay);
/* Holes in which no row will come any more. */
RESULT relay_look_at_holes(struct relay *relay);

/* relay_retry.c */
/* Failures that are due; *ret_more: there may be more. */
RESULT relay_retry(struct relay *relay, bool *ret_more);
/* Reads anew which aggregate ids wait. */
RESULT relay_read_parked(struct relay *relay);
struct outbox_failure relay_failure_of(const struct item *item);

/* relay.c */
void relay_note_away(struct relay *relay, const char *reason);
void relay_note_back(struct relay *relay);
