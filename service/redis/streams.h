/* Redis Streams for background threads: one blocking connection, opened when it is needed and again after it was lost.
   A stream belongs to one thread. Every call is bounded by timeout_ms (a blocking read by block_ms more); the host name
   is looked up in the calling thread. Failures are REDIS_DOWN, with streams_error as the sentence; nothing is logged
   here. Needs Redis 6.2 (MINID, XAUTOCLAIM). */
#pragma once

#include "base/result.h"

#include <stddef.h>

struct streams;

/* url as of redis_url.h. INVALID_REQUEST when it cannot be used. Does not connect. */
RESULT streams_new(const char *url, int64_t timeout_ms, struct streams **ret);
/* Takes NULL, returns NULL. */
struct streams *streams_free(struct streams *stream);
/* Why the last call failed; "" when it did not. Valid until the next call. */
const char *streams_error(const struct streams *stream);
/* Drops the connection; the next call opens one. */
void streams_disconnect(struct streams *stream);

/* -- writing (streams.c) */

enum stream_outcome {
    STREAM_ADDED,
    STREAM_REFUSED, /* by this key: it is not a stream */
    STREAM_AWAY,    /* not done, or not known to be done: Redis is away, full, starting, read-only */
};
struct stream_field {
    const char *name, *value;
    size_t len; /* of value */
};
#define STREAM_FIELDS_MAX 8
#define STREAM_REASON_SIZE 160
struct stream_entry {
    const char *key;
    struct stream_field fields[STREAM_FIELDS_MAX];
    size_t field_count;
    enum stream_outcome outcome;     /* set by streams_add */
    char reason[STREAM_REASON_SIZE]; /* "" when added */
};
/* XADD of all entries in one pipeline, in their order. Of their streams what is older than keep_ms goes (MINID, about,
   and not with each entry). Says by itself what became of each entry; AWAY also for those behind a lost connection. */
void streams_add(struct streams *stream, struct stream_entry *entries, size_t count, int64_t keep_ms);

/* -- reading as a consumer group (streams_read.c) */

struct stream_message; /* valid during the callback */
const char *stream_message_key(const struct stream_message *message);
const char *stream_message_id(const struct stream_message *message);
/* NULL when there is no such field. Ends with a NUL that ret_len does not count. */
const char *stream_message_field(const struct stream_message *message, const char *name, size_t *ret_len);
typedef void (*stream_message_fn)(void *arg, const struct stream_message *message);

struct stream_reader {
    const char *group, *consumer;
    int64_t limit; /* messages of one call (of each key) */
    stream_message_fn fn;
    void *arg;
};
/* The group begins at the first entry that is kept. What stands already is fine, and the stream need not be there. */
RESULT streams_group_make(struct streams *stream, const char *key, const char *group);
/* New messages of these streams; waits up to block_ms for one. Each is pending until it is acknowledged. */
RESULT streams_read(struct streams *stream, const char *const *keys, size_t key_count,
                    const struct stream_reader *reader, int64_t block_ms);
/* Messages that have been pending for idle_ms_min, whoever had them, become this consumer's. Begins at *cursor ("0-0")
   and leaves there where to go on; "0-0" again at the end. cursor has STREAM_ID_SIZE bytes. */
#define STREAM_ID_SIZE 48
RESULT streams_reclaim(struct streams *stream, const char *key, const struct stream_reader *reader, int64_t idle_ms_min,
                       char *cursor);
RESULT streams_ack(struct streams *stream, const char *key, const char *group, const char *id);
