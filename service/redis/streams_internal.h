/* What streams.c and streams_read.c share. */
#pragma once

#include "redis/redis_url.h"
#include "redis/streams.h"

#include <hiredis/hiredis.h>

struct streams {
    struct redis_url url;
    int64_t timeout_ms;
    redisContext *context; /* NULL = not connected */
    char error[STREAM_REASON_SIZE];
};

/* Opens the connection when there is none. */
RESULT streams_connect(struct streams *stream);
/* One command and its answer; the caller frees it. An error reply is REDIS_DOWN, with its text as streams_error. */
RESULT streams_call(struct streams *stream, int argc, const char **argv, const size_t *lens, redisReply **ret);
/* The connection's fault becomes streams_error, the connection goes. */
struct result streams_lose(struct streams *stream, const char *where);

static inline void stream_reply_free_p(redisReply **reply) {
    if (*reply != NULL) freeReplyObject(*reply);
}
#define AUTO_REPLY __attribute__((cleanup(stream_reply_free_p)))
