#include "events/batch.h"

#include "base/fault.h"
#include "base/memory.h"
#include "codec/event_envelope.h"

#include <stdlib.h>
#include <string.h>

#define BODIES_MAX ((size_t)64 << 20) /* a MEDIUMTEXT of a foreign writer, and what stood before it */
#define REFUSED_BEFORE INT64_MIN      /* number of a key in `waves` */

void batch_init(struct batch *batch) { *batch = (struct batch){.bodies = text_new(BODIES_MAX)}; }

void batch_done(struct batch *batch) {
    free(batch->items);
    text_done(&batch->bodies);
    keys_done(&batch->waves);
}

void batch_begin(struct batch *batch, uint64_t parts) {
    batch->count = 0;
    batch->parts = parts;
    batch->late = batch->cut = batch->late_cut = false;
    batch->late_count = 0;
    batch->wave_max = 0;
    text_clear(&batch->bodies);
    keys_clear(&batch->waves);
}

static struct item *next_item(struct batch *batch) {
    if (batch->count == batch->room) {
        batch->room = batch->room * 2 + 64;
        batch->items = mem_grow(batch->items, batch->room, sizeof batch->items[0]);
    }
    struct item *item = &batch->items[batch->count++];
    memset(item, 0, sizeof *item);
    return item;
}

static void write_body(struct batch *batch, struct item *item, const struct outbox_row *row) {
    struct envelope envelope = {.event_id = row->event_id,
                                .event_type = row->type,
                                .aggregate_id = row->aggregate_id,
                                .timestamp_ms = row->created_ms,
                                .aggregate_version = row->version,
                                .payload = row->payload,
                                .payload_len = row->payload_len};
    item->body_at = batch->bodies.len;
    document_envelope(&batch->bodies, &envelope);
    item->event.body_len = batch->bodies.len - item->body_at;
}

/* Rows come in id order, so that what is left out is always the end. */
static bool has_room(struct batch *batch, const struct outbox_row *row) {
    bool *cut = batch->late ? &batch->late_cut : &batch->cut;
    if (batch->late && batch->late_count == BATCH_ROWS_MAX) *cut = true;
    if (batch->bodies.len > 0 && batch->bodies.len + row->payload_len > BATCH_BYTES_MAX) *cut = true;
    if (!*cut) batch->late_count += batch->late;
    return !*cut;
}

void batch_add(void *arg, const struct outbox_row *row) {
    struct batch *batch = arg;
    if (!has_room(batch, row)) return;
    struct item *item = next_item(batch);
    item->event.id = row->id;
    item->late = batch->late;
    item->part = row->part;
    item->attempts = row->attempts;
    if (row->part >= OUTBOX_PARTS || (batch->parts >> row->part & 1) == 0) return;
    item->state = ITEM_TO_SEND;
    memcpy(item->event_id, row->event_id, sizeof item->event_id);
    memcpy(item->type, row->type, sizeof item->type);
    memcpy(item->aggregate_id, row->aggregate_id, sizeof item->aggregate_id);
    memcpy(item->traceparent, row->traceparent, sizeof item->traceparent);
    write_body(batch, item, row);
}

static int by_id(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    return (x->event.id > y->event.id) - (x->event.id < y->event.id);
}

/* The arrays stand still from here on: events may point into them. */
static void point(struct batch *batch, struct item *item) {
    item->event.event_id = item->event_id;
    item->event.type = item->type;
    item->event.aggregate_id = item->aggregate_id;
    item->event.traceparent = item->traceparent;
    item->event.body = text_str(&batch->bodies) + item->body_at;
}

static void leave_out_new(struct batch *batch) {
    size_t kept = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->items[i].late) batch->items[kept++] = batch->items[i];
    batch->count = kept;
}

/* The number of a key in `waves` is the place of its last event, plus one. */
static unsigned wave_of(struct batch *batch, size_t place, bool in_order) {
    const struct item *item = &batch->items[place];
    int64_t *last = keys_add(&batch->waves, item->aggregate_id);
    int64_t before = *last;
    *last = (int64_t)place + 1;
    if (before == 0) return 0;
    const struct item *previous = &batch->items[before - 1];
    return previous->wave + !(in_order && strcmp(previous->type, item->type) == 0);
}

void batch_plan(struct batch *batch, const struct keys *parked, bool in_order) {
    if (batch->late_cut) leave_out_new(batch);
    if (batch->count > 1) qsort(batch->items, batch->count, sizeof batch->items[0], by_id);
    for (size_t i = 0; i < batch->count; i++) {
        struct item *item = &batch->items[i];
        if (item->state != ITEM_TO_SEND) continue;
        point(batch, item);
        if (!fault_on(FAULT_NO_PARKING) && keys_find(parked, item->aggregate_id) != NULL) {
            item->state = ITEM_HELD;
            continue;
        }
        item->wave = wave_of(batch, i, in_order);
        if (item->wave > batch->wave_max) batch->wave_max = item->wave;
    }
}

size_t batch_wave(struct batch *batch, unsigned wave, struct sink_event **out) {
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        struct item *item = &batch->items[i];
        if (item->state != ITEM_TO_SEND || item->wave != wave) continue;
        if (!fault_on(FAULT_NO_PARKING) && *keys_find(&batch->waves, item->aggregate_id) == REFUSED_BEFORE)
            item->state = ITEM_HELD;
        else
            out[count++] = &item->event;
    }
    return count;
}

static enum item_state state_of(enum sink_outcome outcome) {
    if (outcome == SINK_SENT) return ITEM_SENT;
    return outcome == SINK_REFUSED ? ITEM_REFUSED : ITEM_AWAY;
}

bool batch_note_wave(struct batch *batch, unsigned wave) {
    bool through = true;
    for (size_t i = 0; i < batch->count; i++) {
        struct item *item = &batch->items[i];
        if (item->state != ITEM_TO_SEND || item->wave != wave) continue;
        int64_t *key = keys_find(&batch->waves, item->aggregate_id);
        item->state = state_of(item->event.outcome);
        if (item->state == ITEM_AWAY && *key == REFUSED_BEFORE) item->state = ITEM_HELD;
        if (item->state == ITEM_REFUSED) *key = REFUSED_BEFORE;
        if (item->state == ITEM_AWAY) through = false;
    }
    return through;
}

int64_t batch_end(const struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++)
        if (batch->items[i].state == ITEM_TO_SEND || batch->items[i].state == ITEM_AWAY)
            return batch->items[i].event.id;
    return INT64_MAX;
}
