/* Webhooks: an event becomes one row for each webhook that wants its type. Sent then means written down; the threads of
   the deliverer do the rest, and a slow receiver holds up nobody here. */
#include "base/clock.h"
#include "base/memory.h"
#include "events/sinks.h"
#include "store/webhooks.h"

#include <stdlib.h>

#define CHUNK 100      /* events of one transaction */
#define BUDGET_MS 2500 /* then the rest waits for the next call: a chunk and its statement may still take a while */

struct webhook_sink {
    struct delivery_event events[CHUNK];
};

static RESULT write_chunk(struct webhook_sink *sink, struct db *db, struct sink_event *const *events, size_t count) {
    size_t rows;
    for (size_t i = 0; i < count; i++)
        sink->events[i] = (struct delivery_event){.event_id = events[i]->event_id,
                                                  .event_type = events[i]->type,
                                                  .aggregate_id = events[i]->aggregate_id,
                                                  .traceparent = events[i]->traceparent,
                                                  .body = events[i]->body,
                                                  .body_len = events[i]->body_len};
    return deliveries_fan_out(db, sink->events, count, &rows);
}

static void mark(struct sink_event *const *events, size_t count, enum sink_outcome outcome, const char *reason) {
    for (size_t i = 0; i < count; i++) {
        events[i]->outcome = outcome;
        if (outcome != SINK_SENT) (void)text_copy(events[i]->reason, sizeof events[i]->reason, reason);
    }
}

/* What data the database refuses of a chunk, it refuses of one event alone. */
static bool write_each(struct webhook_sink *sink, struct db *db, struct sink_event *const *events, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct result result = write_chunk(sink, db, events + i, 1);
        bool refused = result.code == ERROR_BAD_DATA;
        mark(events + i, 1,
             !failed(result) ? SINK_SENT
             : refused       ? SINK_REFUSED
                             : SINK_AWAY,
             refused ? "the database refuses it" : "the database did not take it");
        if (failed(result) && !refused) {
            mark(events + i + 1, count - i - 1, SINK_AWAY, "the database did not take it");
            return false;
        }
    }
    return true;
}

/* False: the database is away, or too busy; the rest is not tried. */
static bool write_some(struct webhook_sink *sink, struct db *db, struct sink_event *const *events, size_t count) {
    struct result result = write_chunk(sink, db, events, count);
    if (result.code == ERROR_BAD_DATA) return write_each(sink, db, events, count);
    mark(events, count, failed(result) ? SINK_AWAY : SINK_SENT, "the database did not take it");
    return !failed(result);
}

static void send_events(void *self, struct db *db, struct sink_event *const *events, size_t count) {
    int64_t until_ms = clock_mono_ms() + BUDGET_MS;
    bool up = true;
    for (size_t done = 0, some; done < count; done += some) {
        some = count - done < CHUNK ? count - done : CHUNK;
        if (up && clock_mono_ms() <= until_ms)
            up = write_some(self, db, events + done, some);
        else
            mark(events + done, some, SINK_AWAY, up ? "no time was left" : "the database did not take it");
    }
}

RESULT sink_webhook_new(const struct config *config, struct sink *ret) {
    struct webhook_sink *sink = mem_new(sizeof *sink);
    *ret = (struct sink){.self = sink, .send = send_events, .free = free};
    return OK;
}
