/* The life of a relay's thread:

     connect ─▶ look (share, leases) ─▶ retry what is due ─▶ cycle for each frontier ─▶ sleep until a commit wakes it
        ▲                                                                               │
        └────── MySQL lost: back-off ◀───────────── sink away: back-off, no attempts ───┘

   Invariants: it sends only for parts whose lease it has; an outage of the sink or of MySQL changes nothing but time.
 */
#include "events/relay_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "metrics/metrics.h"

#include <stdlib.h>

#define STORE_AWAY_MS_MIN 200
#define STORE_AWAY_MS_MAX 5000
#define MARK_EVERY_MS 500 /* a small bite at a time: the sinks do not wait for it */
#define MARK_BUSY_MS 5000 /* the same while much is written: orders go first */
#define BUSY_ROWS 100     /* of one cycle, which is 2000 a second */
#define MARK_ROWS 1000

/* -- outages */

void relay_note_away(struct relay *relay, const char *reason) {
    if (relay->away_ms == 0) {
        metric_add(METRIC_RELAY_OUTAGES, relay->sink.label, 1);
        LOG(LOG_WARN, "relay.sink_away", LOGS("sink", relay->sink.name), LOGS("detail", reason));
    }
    relay->away_ms = relay->away_ms == 0 ? RELAY_AWAY_MS_MIN : relay->away_ms * 2;
    if (relay->away_ms > RELAY_AWAY_MS_MAX) relay->away_ms = RELAY_AWAY_MS_MAX;
    relay->away_until_ms = clock_mono_ms() + relay->away_ms;
}

void relay_note_back(struct relay *relay) {
    if (relay->away_ms == 0) return;
    relay->away_ms = relay->away_until_ms = 0;
    LOG(LOG_INFO, "relay.sink_back", LOGS("sink", relay->sink.name));
}

static bool sink_is_away(const struct relay *relay) { return clock_mono_ms() < relay->away_until_ms; }

static RESULT connect_store(struct relay *relay) {
    if (relay->db != NULL && db_is_usable(relay->db)) return OK;
    TRY(db_renew(&relay->options.db, &relay->db));
    relay_forget(relay); /* what was claimed before stands or not: claim anew */
    return outbox_parts_make(relay->db, relay->sink.name);
}

static void note_store_failure(struct relay *relay, struct result why) {
    if (relay->store_away_ms == 0 && why.code != ERROR_CLAIM_LOST)
        LOG(LOG_WARN, "relay.store_failed", LOGS("sink", relay->sink.name), LOGR(why));
    relay->store_away_ms = relay->store_away_ms == 0 ? STORE_AWAY_MS_MIN : relay->store_away_ms * 2;
    if (relay->store_away_ms > STORE_AWAY_MS_MAX) relay->store_away_ms = STORE_AWAY_MS_MAX;
    relay_forget(relay);
    relay->look_at_ms = 0;
}

/* -- beside the sending */

static int64_t low_of(const struct relay *relay) {
    int64_t low = INT64_MAX;
    for (size_t i = 0; i < relay->frontier_count; i++) {
        int64_t one = frontier_low(&relay->frontiers[i]);
        if (one < low) low = one;
    }
    return low;
}

static RESULT measure(struct relay *relay) {
    int64_t created_ms = 0;
    if (relay->frontier_count > 0) TRY(outbox_oldest_after(relay->db, low_of(relay), &created_ms));
    int64_t age_ms = created_ms > 0 ? clock_wall_ms() - created_ms : 0;
    metric_set(METRIC_RELAY_BACKLOG_AGE, relay->sink.label, age_ms > 0 ? age_ms : 0);
    return OK;
}

static RESULT look_when_due(struct relay *relay) {
    int64_t now_ms = clock_mono_ms();
    if (now_ms < relay->look_at_ms) return OK;
    relay->look_at_ms = now_ms + RELAY_LOOK_MS;
    TRY(relay_look(relay));
    return measure(relay);
}

/* One relay of all does it: the one with part 0 of the first sink. */
static RESULT mark_when_due(struct relay *relay, bool *ret_more) {
    const struct relay_options *options = &relay->options;
    int64_t now_ms = clock_mono_ms();
    uint64_t marked = 0;
    if (now_ms < relay->mark_at_ms || relay->sink.name != options->sinks[0] || (relay_owned(relay) & 1) == 0) return OK;
    TRY(outbox_mark(relay->db, options->sinks, options->sink_count, MARK_ROWS, &marked));
    bool busy = *ret_more || relay->batch.count >= BUSY_ROWS;
    bool again = marked == MARK_ROWS && !busy;
    relay->mark_at_ms = again ? now_ms : now_ms + (busy ? MARK_BUSY_MS : MARK_EVERY_MS);
    *ret_more = *ret_more || again;
    return OK;
}

static RESULT retry_when_due(struct relay *relay, bool *ret_more) {
    int64_t now_ms = clock_mono_ms();
    if (now_ms < relay->retry_at_ms || relay->hold_count == 0) return OK;
    bool more = false;
    TRY(relay_retry(relay, &more));
    relay->retry_at_ms = more ? now_ms : now_ms + (relay->parked.count > 0 ? RELAY_POLL_MS : RELAY_LOOK_MS);
    *ret_more = *ret_more || more;
    return OK;
}

static void join_level(struct relay *relay) {
    for (size_t i = 0; i < relay->frontier_count; i++) {
        for (size_t j = relay->frontier_count - 1; j > i; j--) {
            if (!frontier_is_level(&relay->frontiers[i], &relay->frontiers[j])) continue;
            relay->frontiers[i].parts |= relay->frontiers[j].parts;
            frontier_done(&relay->frontiers[j]);
            relay->frontiers[j] = relay->frontiers[--relay->frontier_count];
        }
    }
}

/* -- a turn */

static RESULT send_all(struct relay *relay, bool *ret_more) {
    if (sink_is_away(relay)) return OK;
    TRY(retry_when_due(relay, ret_more));
    if (relay->parked.count >= RELAY_PARKED_MAX) return OK; /* who else waits cannot be told any more */
    for (size_t i = 0; i < relay->frontier_count && !sink_is_away(relay); i++)
        TRY(relay_cycle(relay, &relay->frontiers[i], ret_more));
    join_level(relay);
    return relay_look_at_holes(relay);
}

static RESULT work(struct relay *relay, bool *ret_more) {
    TRY(connect_store(relay));
    TRY(look_when_due(relay));
    TRY(send_all(relay, ret_more));
    return mark_when_due(relay, ret_more);
}

/* How long to sleep then. */
static int64_t turn(struct relay *relay) {
    bool more = false;
    atomic_store(&relay->woken, false);
    struct result result = work(relay, &more);
    if (failed(result)) {
        note_store_failure(relay, result);
        return relay->store_away_ms;
    }
    relay->store_away_ms = 0;
    if (more) return 0;
    int64_t away_ms = relay->away_until_ms - clock_mono_ms();
    return away_ms > 0 && away_ms < RELAY_POLL_MS ? away_ms : RELAY_POLL_MS;
}

/* Commits in the first moments only gather: one write of ours for many of theirs. */
static bool rest(struct relay *relay, struct thread *self, int64_t ms) {
    int64_t until_ms = clock_mono_ms() + (ms < RELAY_PACE_MS ? ms : RELAY_PACE_MS);
    for (int64_t left = until_ms - clock_mono_ms(); left > 0; left = until_ms - clock_mono_ms())
        if (!thread_sleep(self, left)) return false;
    return ms <= RELAY_PACE_MS || atomic_load(&relay->woken) || thread_sleep(self, ms - RELAY_PACE_MS);
}

static void end(struct relay *relay) {
    int64_t living;
    struct result result = OK;
    relay_forget(relay);
    if (relay->db != NULL && db_is_usable(relay->db))
        result = outbox_relays_beat(relay->db, relay->sink.name, relay->name, 0, &living);
    if (failed(result)) LOG(LOG_WARN, "relay.leave_failed", LOGS("sink", relay->sink.name), LOGR(result));
    relay->db = db_close(relay->db);
}

static void run(struct thread *self, void *arg) {
    struct relay *relay = arg;
    relay->self = self;
    db_thread_start();
    do
        if (thread_is_stopping(self)) break;
    while (rest(relay, self, turn(relay)));
    end(relay);
    db_thread_end();
}

/* -- from outside */

struct relay *relay_new(const struct relay_options *options) {
    struct relay *relay = mem_new(sizeof *relay);
    relay->options = *options;
    text_uuid(relay->name);
    batch_init(&relay->batch);
    struct result result = sink_new(options->config, options->sink, &relay->sink);
    if (failed(result)) {
        LOG(LOG_ERROR, "relay.no_sink", LOGS("sink", options->sink), LOGR(result));
        return relay;
    }
    struct thread_options thread = {.name = options->sink, .run = run, .arg = relay};
    relay->thread = thread_new(&thread);
    return relay;
}

void relay_stop(struct relay *relay) {
    if (relay->thread != NULL) thread_stop(relay->thread);
}

bool relay_is_stopped(const struct relay *relay) { return thread_is_over(relay->thread); }

void relay_wake(struct relay *relay) {
    if (relay->thread != NULL && !atomic_exchange(&relay->woken, true)) thread_wake(relay->thread);
}

struct relay *relay_free(struct relay *relay) {
    if (relay == NULL) return NULL;
    relay->thread = thread_free(relay->thread);
    if (relay->sink.free != NULL) relay->sink.free(relay->sink.self);
    batch_done(&relay->batch);
    keys_done(&relay->parked);
    free(relay);
    return NULL;
}
