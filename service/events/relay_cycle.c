/* One cycle: read what is new and what came late, send it, write down how far that goes.

   Invariants
   1. New rows are read before late ones, each in one snapshot: whoever sees a row sees the earlier ones of its
   aggregate, in this batch or below.
   2. The frontier moves only to ids whose events are sent, or written down as failures in the same transaction. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "events/relay_internal.h"
#include "metrics/metrics.h"

#include <stdlib.h>

#define HOLE_LOOK_MS 500  /* between two looks at an empty hole */
#define HOLE_LOOKS_MAX 10 /* then it is asked for with locks. An id is drawn and its row written in one statement */

/* -- reading */

static RESULT read_late(struct relay *relay, const struct frontier *frontier) {
    struct batch *batch = &relay->batch;
    if (frontier->hole_count == 0 || fault_on(FAULT_NO_HOLES)) return OK;
    AUTO_FREE struct outbox_span *spans = mem_array(frontier->hole_count, sizeof spans[0]);
    for (size_t i = 0; i < frontier->hole_count; i++) spans[i] = frontier->holes[i].span;
    batch->late = true;
    return outbox_read_spans(relay->db, spans, frontier->hole_count, frontier->parts, batch_add, batch);
}

/* A frontier that lags behind stops where the next one stands, so that they can join. */
static int64_t upto_of(const struct relay *relay, const struct frontier *frontier) {
    int64_t upto = INT64_MAX;
    for (size_t i = 0; i < relay->frontier_count; i++) {
        int64_t last = relay->frontiers[i].last;
        if (last > frontier->last && last < upto) upto = last;
    }
    return upto;
}

/* What is behind more gaps than a frontier can remember has to wait until one of them is closed. */
static void leave_out(struct batch *batch, const struct frontier *frontier) {
    struct frontier ahead = frontier_copy(frontier);
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->items[i].late || frontier_pass(&ahead, batch->items[i].event.id)) continue;
        batch->count = i;
        break;
    }
    frontier_done(&ahead);
}

static RESULT read_batch(struct relay *relay, const struct frontier *frontier, int64_t upto, bool *ret_full) {
    struct outbox_range range = {frontier->last, upto, frontier->parts, BATCH_ROWS_MAX};
    batch_begin(&relay->batch, frontier->parts);
    TRY(outbox_read(relay->db, &range, batch_add, &relay->batch));
    *ret_full = relay->batch.cut || relay->batch.count == BATCH_ROWS_MAX;
    TRY(read_late(relay, frontier));
    *ret_full = *ret_full || relay->batch.late_cut;
    batch_plan(&relay->batch, &relay->parked, relay->sink.in_order);
    leave_out(&relay->batch, frontier);
    return OK;
}

/* -- sending */

static const char *reason_of(const struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++)
        if (batch->items[i].state == ITEM_AWAY && batch->items[i].event.reason[0] != '\0')
            return batch->items[i].event.reason;
    return "unknown";
}

/* Each wave is answered before the next goes; the first that is not answered whole is the last. */
int64_t relay_send(struct relay *relay) {
    struct batch *batch = &relay->batch;
    AUTO_FREE struct sink_event **wave = mem_array(batch->count + 1, sizeof wave[0]);
    for (unsigned number = 0; number <= batch->wave_max; number++) {
        size_t count = batch_wave(batch, number, wave);
        if (count > 0 && !relay_may_send(relay)) break;
        if (count > 0) relay->sink.send(relay->sink.self, relay->db, wave, count);
        if (!batch_note_wave(batch, number)) {
            relay_note_away(relay, reason_of(batch));
            break;
        }
        if (count > 0) relay_note_back(relay);
    }
    return batch_end(batch);
}

static void count_sent(struct relay *relay) {
    int64_t sent = 0, refused = 0;
    for (size_t i = 0; i < relay->batch.count; i++) {
        sent += relay->batch.items[i].state == ITEM_SENT;
        refused += relay->batch.items[i].state == ITEM_REFUSED;
    }
    metric_add(METRIC_RELAY_SENT, relay->sink.label, sent);
    metric_add(METRIC_RELAY_REFUSED, relay->sink.label, refused);
}

/* -- writing down */

/* Everything before `end` is handled. Stops where there is no room for one more hole. */
static void move(struct frontier *frontier, const struct batch *batch, int64_t end, int64_t upto) {
    for (size_t i = 0; i < batch->count; i++) {
        const struct item *item = &batch->items[i];
        if (item->event.id >= end) break;
        if (item->late)
            frontier_fill(frontier, item->event.id);
        else if (!frontier_pass(frontier, item->event.id))
            return;
    }
    if (end == INT64_MAX && upto != INT64_MAX) (void)frontier_pass_empty(frontier, upto);
}

static size_t list_failures(const struct batch *batch, const struct frontier *moved, int64_t end,
                            struct outbox_failure *out) {
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const struct item *item = &batch->items[i];
        bool stays = item->event.id >= end || (!item->late && item->event.id > moved->last);
        if (!stays && (item->state == ITEM_REFUSED || item->state == ITEM_HELD)) out[count++] = relay_failure_of(item);
    }
    return count;
}

static RESULT write_both(struct relay *relay, const struct frontier *moved, const struct outbox_failure *failures,
                         size_t count) {
    TRY(db_begin(relay->db));
    struct result result = outbox_failures_put(relay->db, relay->sink.name, failures, count);
    if (!failed(result)) result = relay_advance(relay, moved);
    if (failed(result)) {
        db_rollback(relay->db);
        return result;
    }
    TRY(db_commit(relay->db));
    return relay_read_parked(relay);
}

static RESULT write_down(struct relay *relay, const struct frontier *moved, int64_t end) {
    AUTO_FREE struct outbox_failure *failures = mem_array(relay->batch.count + 1, sizeof failures[0]);
    size_t count = list_failures(&relay->batch, moved, end, failures);
    if (count == 0) return relay_advance(relay, moved);
    return write_both(relay, moved, failures, count);
}

static void replace(struct frontier *frontier, struct frontier *moved) {
    frontier_done(frontier);
    *frontier = *moved;
    *moved = (struct frontier){0};
}

RESULT relay_cycle(struct relay *relay, struct frontier *frontier, bool *ret_more) {
    bool full = false;
    int64_t upto = upto_of(relay, frontier);
    TRY(read_batch(relay, frontier, upto, &full));
    if (relay->batch.count == 0 && upto == INT64_MAX) return OK;
    int64_t end = relay_send(relay);
    struct frontier moved = frontier_copy(frontier);
    move(&moved, &relay->batch, end, full ? INT64_MAX : upto);
    struct result result = write_down(relay, &moved, end);
    if (failed(result)) {
        frontier_done(&moved);
        return result;
    }
    count_sent(relay);
    *ret_more = *ret_more || (end == INT64_MAX && (full || upto != INT64_MAX) && moved.last > frontier->last);
    replace(frontier, &moved);
    return OK;
}

/* -- holes */

/* A hole that stays empty belongs to a transaction that was rolled back, or to one that is still open: that one holds a
 * lock on its row. */
static RESULT look_at(struct relay *relay, struct frontier *frontier, size_t index, bool *ret_closed) {
    struct hole *hole = &frontier->holes[index];
    *ret_closed = false;
    if (++hole->looks < HOLE_LOOKS_MAX) return OK;
    TRY(outbox_span_is_empty(relay->db, hole->span, ret_closed));
    if (*ret_closed) frontier_close(frontier, index);
    return OK;
}

static RESULT look_at_all(struct relay *relay, struct frontier *frontier) {
    bool closed, any = false;
    for (size_t i = 0; i < frontier->hole_count;) {
        TRY(look_at(relay, frontier, i, &closed));
        any = any || closed;
        i += !closed;
    }
    return any ? relay_advance(relay, frontier) : OK;
}

RESULT relay_look_at_holes(struct relay *relay) {
    int64_t now_ms = clock_mono_ms();
    if (now_ms < relay->holes_at_ms) return OK;
    relay->holes_at_ms = now_ms + HOLE_LOOK_MS;
    for (size_t i = 0; i < relay->frontier_count; i++) TRY(look_at_all(relay, &relay->frontiers[i]));
    return OK;
}
