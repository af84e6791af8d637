/* Redis Streams, read as a consumer group. An entry's field `event` is the envelope, as our own sink writes it. What a
   consumer that died had in its hands is taken over after RECLAIM_IDLE_MS; one that is merely slow is then handled
   twice, which processed_events makes harmless. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "events/source.h"
#include "redis/streams.h"

#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 2000
#define RECLAIM_IDLE_MS 15000
#define RECLAIM_FIRST_MS 1000 /* at the start: what this very consumer had before it ended comes back soon */
#define RECLAIM_EVERY_MS 2000

struct redis_source {
    struct streams *streams;
    const struct config *config;
    char topics[SOURCE_TOPICS_MAX][DEAD_LETTER_TOPIC_MAX + 1];
    size_t topic_count, turn;
    bool groups_made, started;
    int64_t reclaim_at_ms;
    char cursors[SOURCE_TOPICS_MAX][STREAM_ID_SIZE];

    struct source_message *messages; /* of the read that is under way */
    struct {
        size_t topic;
        char id[STREAM_ID_SIZE];
    } taken[SOURCE_BATCH];
    size_t count;
};

static size_t topic_of(const struct redis_source *redis, const char *key) {
    size_t i = 0;
    while (i + 1 < redis->topic_count && strcmp(redis->topics[i], key) != 0) i++;
    return i;
}

static void take(void *arg, const struct stream_message *message) {
    struct redis_source *redis = arg;
    size_t len = 0, trace_len = 0;
    if (redis->count == SOURCE_BATCH) return; /* stays pending, and is reclaimed */
    const char *body = stream_message_field(message, "event", &len);
    const char *trace = stream_message_field(message, "traceparent", &trace_len);
    size_t i = redis->count++;
    struct source_message *out = &redis->messages[i];
    *out = (struct source_message){.body = mem_copy(body != NULL ? body : "", len), .body_len = len};
    (void)text_copy(out->topic, sizeof out->topic, stream_message_key(message));
    (void)text_format(out->position, sizeof out->position, "%s@%s", out->topic, stream_message_id(message));
    if (trace != NULL && text_is_printable_utf8(trace, trace_len))
        (void)text_copy(out->traceparent, sizeof out->traceparent, trace);
    redis->taken[i].topic = topic_of(redis, out->topic);
    (void)text_copy(redis->taken[i].id, STREAM_ID_SIZE, stream_message_id(message));
}

static RESULT make_groups(struct redis_source *redis) {
    for (size_t i = 0; i < redis->topic_count && !redis->groups_made; i++)
        TRY(streams_group_make(redis->streams, redis->topics[i], redis->config->inbox_group));
    redis->groups_made = true;
    return OK;
}

static struct stream_reader reader_of(struct redis_source *redis, size_t keys) {
    const struct config *config = redis->config;
    return (struct stream_reader){.group = config->inbox_group,
                                  .consumer = config->instance_id[0] != '\0' ? config->instance_id : "lockstock",
                                  .limit = (int64_t)(SOURCE_BATCH / keys),
                                  .fn = take,
                                  .arg = redis};
}

/* One topic at a time, each in its turn. */
static RESULT reclaim(struct redis_source *redis) {
    struct stream_reader reader = reader_of(redis, 1);
    if (clock_mono_ms() < redis->reclaim_at_ms) return OK;
    size_t topic = redis->turn++ % redis->topic_count;
    int64_t idle_ms = redis->started ? RECLAIM_IDLE_MS : RECLAIM_FIRST_MS;
    TRY(streams_reclaim(redis->streams, redis->topics[topic], &reader, idle_ms, redis->cursors[topic]));
    bool is_over = redis->turn % redis->topic_count == 0 && strcmp(redis->cursors[topic], "0-0") == 0;
    if (!is_over || redis->count > 0) return OK;
    redis->started = true;
    redis->reclaim_at_ms = clock_mono_ms() + RECLAIM_EVERY_MS;
    return OK;
}

static RESULT read_new(struct redis_source *redis, int64_t wait_ms) {
    const char *keys[SOURCE_TOPICS_MAX];
    struct stream_reader reader = reader_of(redis, redis->topic_count);
    for (size_t i = 0; i < redis->topic_count; i++) keys[i] = redis->topics[i];
    return streams_read(redis->streams, keys, redis->topic_count, &reader, wait_ms);
}

static RESULT read_some(struct redis_source *redis, int64_t wait_ms) {
    TRY(make_groups(redis));
    TRY(reclaim(redis));
    return redis->count > 0 ? OK : read_new(redis, wait_ms);
}

/* A group can be lost with everything else: it is made again before the next read. */
static struct result with_trouble(struct source *source, struct result result) {
    struct redis_source *redis = source->self;
    if (!failed(result)) return OK;
    (void)text_copy(source->trouble, sizeof source->trouble, streams_error(redis->streams));
    redis->groups_made = false;
    return result;
}

static struct result read_batch(struct source *source, struct source_message *messages, size_t *ret_count,
                                int64_t wait_ms) {
    struct redis_source *redis = source->self;
    redis->messages = messages;
    redis->count = 0;
    struct result result = with_trouble(source, read_some(redis, wait_ms));
    *ret_count = redis->count;
    return redis->count > 0 ? OK : result;
}

static struct result ack(struct source *source, const bool *done) {
    struct redis_source *redis = source->self;
    for (size_t i = 0; i < redis->count; i++) {
        if (!done[i]) continue;
        TRY(with_trouble(source, streams_ack(redis->streams, redis->topics[redis->taken[i].topic],
                                             redis->config->inbox_group, redis->taken[i].id)));
    }
    redis->count = 0;
    return OK;
}

static void free_source(struct source *source) {
    struct redis_source *redis = source->self;
    redis->streams = streams_free(redis->streams);
    free(redis);
}

RESULT source_redis_new(const struct config *config, struct source *ret) {
    *ret = (struct source){.name = "redis-stream", .read = read_batch, .ack = ack, .free = free_source};
    struct redis_source *redis = mem_new(sizeof *redis);
    redis->config = config;
    redis->topic_count = source_topics(config, "redis-stream:", redis->topics);
    for (size_t i = 0; i < redis->topic_count; i++) (void)text_copy(redis->cursors[i], STREAM_ID_SIZE, "0-0");
    struct result result = redis->topic_count > 0 ? streams_new(config->redis_url, TIMEOUT_MS, &redis->streams) : OK;
    if (failed(result) || redis->topic_count == 0)
        free(redis);
    else
        ret->self = redis;
    return result;
}
