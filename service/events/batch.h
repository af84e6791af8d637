/* The rows one cycle has read, in id order, the events among them that are ours to send, and in which wave each goes.

   A wave holds at most one event of each aggregate id; the next wave goes when this one has been answered. So whatever
   a sink does with some of the events, no aggregate's order is turned round. For a sink that keeps the order by itself
   a wave holds events of one aggregate and type that follow each other. Pure. */
#pragma once

#include "events/keys.h"
#include "events/sink.h"
#include "store/outbox.h"

#define BATCH_ROWS_MAX (SINK_EVENTS_MAX / 2) /* new ones, and as many late ones */
#define BATCH_BYTES_MAX ((size_t)8 << 20)    /* of envelopes; one event may be larger by itself */

enum item_state {
    ITEM_NOT_OURS, /* of a part that we do not own: passed over */
    ITEM_TO_SEND,
    ITEM_SENT,
    ITEM_REFUSED,
    ITEM_HELD, /* an earlier event of its aggregate is not through */
    ITEM_AWAY,
};

struct item {
    struct sink_event event;
    enum item_state state;
    bool late; /* it came in a hole */
    unsigned wave, part, attempts;
    size_t body_at; /* in bodies */
    char event_id[TEXT_UUID_SIZE], type[OUTBOX_TYPE_SIZE], aggregate_id[OUTBOX_AGGREGATE_SIZE];
    char traceparent[OUTBOX_TRACE_SIZE];
};

struct batch {
    struct item *items;
    size_t count, room;
    struct text bodies;
    uint64_t parts; /* what is ours */
    bool late;      /* what is added now comes in holes */
    bool cut;       /* full before all new rows were in it … */
    bool late_cut;  /* … and before all late ones were: then no new one may go */
    size_t late_count;
    unsigned wave_max; /* after batch_plan */
    struct keys waves;
};

void batch_init(struct batch *batch);
void batch_done(struct batch *batch);
/* Empties it for the next cycle. */
void batch_begin(struct batch *batch, uint64_t parts);
/* outbox_row_fn: takes a copy of the row. */
void batch_add(void *batch, const struct outbox_row *row);
/* Everything was added: sorts, leaves the new rows out when late ones had no room, since those may come
   first, and gives each event its wave. Events whose aggregate id is in `parked` are held. */
void batch_plan(struct batch *batch, const struct keys *parked, bool in_order);
/* The events of a wave that are still to be sent; out has room for all. */
size_t batch_wave(struct batch *batch, unsigned wave, struct sink_event **out);
/* Takes over what the sink said of a wave. Events behind a refused one are held. False: some are AWAY. */
bool batch_note_wave(struct batch *batch, unsigned wave);
/* The least id that was neither sent nor refused nor held; INT64_MAX when there is none. */
int64_t batch_end(const struct batch *batch);
