/* Where the inbox reads events of others. A source belongs to one thread.

   What a source promises
   1. A message that was read and not acknowledged comes again, to this process or another.
   2. read and ack end within SOURCE_MS_MAX and the time they were given, whatever the network does. */
#pragma once

#include "base/result.h"
#include "config/config.h"
#include "domain/dead_letter.h"

#define SOURCE_BATCH 64    /* messages of one read */
#define SOURCE_MS_MAX 5000 /* beyond the wait */
#define SOURCE_TOPICS_MAX 32
#define SOURCE_TROUBLE_SIZE 200

struct source_message {
    char topic[DEAD_LETTER_TOPIC_MAX + 1];
    char position[DEAD_LETTER_POSITION_MAX + 1];
    char traceparent[65]; /* "" = none */
    char *body;           /* the reader's to free; ends with a NUL that body_len does not count */
    size_t body_len;
};

struct source {
    const char *name;
    void *self;
    char trouble[SOURCE_TROUBLE_SIZE]; /* why the last call failed */
    /* Up to SOURCE_BATCH messages, each topic's in its order; waits up to wait_ms for one. Not before all of the batch
     * before was acknowledged, or is given up: then it comes again. */
    struct result (*read)(struct source *source, struct source_message *messages, size_t *ret_count, int64_t wait_ms);
    /* done[i] of the last read are durable, or need nothing. */
    struct result (*ack)(struct source *source, const bool *done);
    /* Called at least every second while a batch is worked on; may be NULL. */
    void (*idle)(struct source *source);
    void (*free)(struct source *source);
};

/* The names behind `prefix` ("kafka:") in LOCKSTOCK_INBOX_TOPICS; each has DEAD_LETTER_TOPIC_MAX + 1 bytes. */
size_t source_topics(const struct config *config, const char *prefix, char (*topics)[DEAD_LETTER_TOPIC_MAX + 1]);
/* INVALID_REQUEST with a sentence when the settings of the inbox cannot be used. */
RESULT sources_check(const struct config *config, char *error_text, size_t error_size);

/* *ret->self NULL: no topic of this kind. Made in the thread that reads. */
RESULT source_redis_new(const struct config *config, struct source *ret);
RESULT source_kafka_new(const struct config *config, struct source *ret);
/* As sources_check, for the settings of Kafka, when it is used. */
RESULT source_kafka_check(const struct config *config, char *error_text, size_t error_size);
