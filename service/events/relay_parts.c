/* Which parts a relay owns. Relays that live share them evenly: who has more than its share gives parts back between
   two cycles, who has less claims what is free. Nothing is sent for a part whose lease may be over. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "events/relay_internal.h"
#include "metrics/metrics.h"

#include <string.h>

uint64_t relay_owned(const struct relay *relay) {
    uint64_t parts = 0;
    for (size_t i = 0; i < relay->hold_count; i++) parts |= relay->holds[i].parts;
    return parts;
}

static struct outbox_hold hold_of(const struct relay *relay, const struct hold *hold, uint64_t parts) {
    return (struct outbox_hold){relay->sink.name, hold->owner, hold->parts & parts};
}

/* -- taking */

/* Parts that have come equally far go on together. */
static void join_frontier(struct relay *relay, struct frontier *frontier) {
    for (size_t i = 0; i < relay->frontier_count; i++) {
        if (!frontier_is_level(&relay->frontiers[i], frontier)) continue;
        relay->frontiers[i].parts |= frontier->parts;
        frontier_done(frontier);
        return;
    }
    relay->frontiers[relay->frontier_count++] = *frontier;
}

static void on_part(void *arg, const struct outbox_part *part) {
    struct relay *relay = arg;
    struct frontier frontier = {.parts = UINT64_C(1) << part->part, .last = part->frontier};
    if (!frontier_read_holes(&frontier, part->holes))
        LOG(LOG_ERROR, "relay.holes_unreadable", LOGS("sink", relay->sink.name), LOGI("part", part->part));
    struct hold *hold = &relay->holds[relay->hold_count];
    hold->parts |= frontier.parts;
    join_frontier(relay, &frontier);
}

static void drop_parts(struct relay *relay, uint64_t parts) {
    size_t kept = 0;
    for (size_t i = 0; i < relay->hold_count; i++) {
        relay->holds[i].parts &= ~parts;
        if (relay->holds[i].parts != 0) relay->holds[kept++] = relay->holds[i];
    }
    relay->hold_count = kept;
    kept = 0;
    for (size_t i = 0; i < relay->frontier_count; i++) {
        relay->frontiers[i].parts &= ~parts;
        if (relay->frontiers[i].parts != 0)
            relay->frontiers[kept++] = relay->frontiers[i];
        else
            frontier_done(&relay->frontiers[i]);
    }
    relay->frontier_count = kept;
}

static RESULT take(struct relay *relay, size_t limit) {
    if (relay->hold_count == RELAY_HOLDS_MAX) return OK;
    struct hold *hold = &relay->holds[relay->hold_count];
    *hold = (struct hold){0};
    text_uuid(hold->owner);
    struct outbox_take ask = {.sink = relay->sink.name,
                              .owner = hold->owner,
                              .lease_ms = RELAY_LEASE_MS,
                              .limit = limit,
                              .fn = on_part,
                              .arg = relay};
    size_t count = 0;
    int64_t began_ms = clock_mono_ms();
    TRY(outbox_parts_take(relay->db, &ask, &count));
    if (count == 0) return OK;
    if (relay->hold_count++ == 0 || began_ms + RELAY_LEASE_MS < relay->lease_until_ms)
        relay->lease_until_ms = began_ms + RELAY_LEASE_MS;
    LOG(LOG_INFO, "relay.parts_taken", LOGS("sink", relay->sink.name), LOGI("parts", count));
    return relay_read_parked(relay);
}

/* -- giving back */

static uint64_t lowest_bits(uint64_t parts, int count) {
    uint64_t chosen = 0;
    for (; count > 0 && parts != 0; count--) {
        uint64_t bit = parts & -parts;
        chosen |= bit;
        parts ^= bit;
    }
    return chosen;
}

static RESULT release(struct relay *relay, uint64_t parts) {
    for (size_t i = 0; i < relay->hold_count; i++) {
        struct outbox_hold hold = hold_of(relay, &relay->holds[i], parts);
        if (hold.parts != 0) TRY(outbox_parts_release(relay->db, &hold));
    }
    return OK;
}

void relay_forget(struct relay *relay) {
    if (relay->db != NULL && db_is_usable(relay->db)) {
        struct result result = release(relay, OUTBOX_ALL_PARTS);
        if (failed(result)) LOG(LOG_WARN, "relay.release_failed", LOGS("sink", relay->sink.name), LOGR(result));
    }
    drop_parts(relay, OUTBOX_ALL_PARTS);
}

/* -- keeping */

static RESULT lost(struct relay *relay) {
    LOG(LOG_WARN, "relay.parts_lost", LOGS("sink", relay->sink.name));
    metric_add(METRIC_RELAY_LOST, relay->sink.label, 1);
    FAIL(CLAIM_LOST, 0);
}

RESULT relay_renew(struct relay *relay) {
    int64_t began_ms = clock_mono_ms();
    for (size_t i = 0; i < relay->hold_count; i++) {
        struct outbox_hold hold = hold_of(relay, &relay->holds[i], OUTBOX_ALL_PARTS);
        bool ours;
        TRY(outbox_parts_renew(relay->db, &hold, RELAY_LEASE_MS, &ours));
        if (!ours) return lost(relay);
    }
    relay->lease_until_ms = began_ms + RELAY_LEASE_MS;
    return OK;
}

RESULT relay_advance(struct relay *relay, const struct frontier *frontier) {
    char holes[OUTBOX_HOLES_SIZE];
    struct outbox_progress progress = {frontier->last, frontier_low(frontier), holes};
    if (!frontier_write_holes(frontier, holes, sizeof holes)) { /* rather again than not at all */
        progress.frontier = progress.low;
        holes[0] = '\0';
    }
    for (size_t i = 0; i < relay->hold_count; i++) {
        struct outbox_hold hold = hold_of(relay, &relay->holds[i], frontier->parts);
        bool ours;
        if (hold.parts == 0 || fault_on(FAULT_NO_RELAY_MARK)) continue;
        TRY(outbox_parts_advance(relay->db, &hold, &progress, &ours));
        if (!ours) return lost(relay);
    }
    return OK;
}

bool relay_may_send(const struct relay *relay) {
    if (thread_is_stopping(relay->self)) return false;
    return fault_on(FAULT_NO_PART_CLAIM) || clock_mono_ms() + SINK_SEND_MS_MAX < relay->lease_until_ms;
}

RESULT relay_look(struct relay *relay) {
    int64_t living;
    if (relay->hold_count > 0) TRY(relay_renew(relay));
    TRY(outbox_relays_beat(relay->db, relay->sink.name, relay->name, RELAY_LIFE_MS, &living));
    int share = (int)((OUTBOX_PARTS + living - 1) / (living > 0 ? living : 1));
    int owned = __builtin_popcountll(relay_owned(relay));
    if (owned > share) {
        uint64_t parts = lowest_bits(relay_owned(relay), owned - share);
        TRY(release(relay, parts));
        drop_parts(relay, parts);
        LOG(LOG_INFO, "relay.parts_given_back", LOGS("sink", relay->sink.name), LOGI("parts", owned - share));
    }
    if (owned < share) TRY(take(relay, (size_t)(share - owned)));
    metric_set(METRIC_RELAY_PARTS, relay->sink.label, __builtin_popcountll(relay_owned(relay)));
    return OK;
}
