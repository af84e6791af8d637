/* Redis Streams: `lockstock:events:<type>`, one entry for each event, with the fields event (the envelope), key (the
   aggregate id) and, when there is one, traceparent. As durable as that Redis. */
#include "base/clock.h"
#include "base/memory.h"
#include "events/sinks.h"
#include "redis/streams.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KEY_PREFIX "lockstock:events:"
#define KEEP_MS (INT64_C(7) * 24 * 3600 * 1000)
#define TIMEOUT_MS 600 /* of one step: connecting, AUTH, SELECT, a read or write */
#define BEGIN_MS 1500  /* no pipeline begins later in a call */
#define PIPELINE 250   /* entries whose answers are awaited together */
#define KEY_SIZE 96

/* Three steps to connect, two for the answers of a pipeline as a whole, one more for its last. */
static_assert(BEGIN_MS + 3 * TIMEOUT_MS <= SINK_SEND_MS_MAX && 6 * TIMEOUT_MS <= SINK_SEND_MS_MAX,
              "a call ends in time");

struct redis_sink {
    struct streams *stream;
    struct stream_entry entries[PIPELINE];
    char keys[PIPELINE][KEY_SIZE];
};

static void fill_entry(struct redis_sink *sink, size_t at, const struct sink_event *event) {
    struct stream_entry *entry = &sink->entries[at];
    (void)text_format(sink->keys[at], KEY_SIZE, KEY_PREFIX "%s", event->type);
    entry->key = sink->keys[at];
    entry->fields[0] = (struct stream_field){"event", event->body, event->body_len};
    entry->fields[1] = (struct stream_field){"key", event->aggregate_id, strlen(event->aggregate_id)};
    entry->fields[2] = (struct stream_field){"traceparent", event->traceparent, strlen(event->traceparent)};
    entry->field_count = event->traceparent[0] != '\0' ? 3 : 2;
}

static void take_outcome(struct sink_event *event, const struct stream_entry *entry) {
    event->outcome = entry->outcome == STREAM_ADDED     ? SINK_SENT
                     : entry->outcome == STREAM_REFUSED ? SINK_REFUSED
                                                        : SINK_AWAY;
    if (event->outcome != SINK_SENT) (void)text_copy(event->reason, sizeof event->reason, entry->reason);
}

static bool send_some(struct redis_sink *sink, struct sink_event *const *events, size_t count) {
    bool away = false;
    for (size_t i = 0; i < count; i++) fill_entry(sink, i, events[i]);
    streams_add(sink->stream, sink->entries, count, KEEP_MS);
    for (size_t i = 0; i < count; i++) {
        take_outcome(events[i], &sink->entries[i]);
        away = away || events[i]->outcome == SINK_AWAY;
    }
    return !away;
}

/* Once Redis is away the rest is not tried: each try would wait for the timeout. */
static void send_events(void *self, struct db *db, struct sink_event *const *events, size_t count) {
    struct redis_sink *sink = self;
    int64_t begin_until_ms = clock_mono_ms() + BEGIN_MS;
    bool up = true;
    for (size_t done = 0, some; done < count; done += some) {
        some = count - done < PIPELINE ? count - done : PIPELINE;
        if (up) {
            up = send_some(sink, events + done, some) && clock_mono_ms() < begin_until_ms;
            continue;
        }
        for (size_t i = 0; i < some; i++) events[done + i]->outcome = SINK_AWAY;
    }
}

static void free_sink(void *self) {
    struct redis_sink *sink = self;
    sink->stream = streams_free(sink->stream);
    free(sink);
}

RESULT sink_redis_new(const struct config *config, struct sink *ret) {
    struct streams *stream;
    TRY(streams_new(config->redis_url, TIMEOUT_MS, &stream));
    struct redis_sink *sink = mem_new(sizeof *sink);
    sink->stream = stream;
    *ret = (struct sink){.self = sink, .send = send_events, .free = free_sink};
    return OK;
}
