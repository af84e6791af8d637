/* Reads HTTP/1.1 replies out of a stream that arrives in any pieces. Knows Content-Length only: a reply in chunks or
   without a length is BAD, since the service never sends one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLY_HEAD_MAX 8192

enum reply_state { REPLY_MORE, REPLY_DONE, REPLY_BAD };

/* Zeroed memory waits for a first reply. */
struct reply {
    char head[REPLY_HEAD_MAX + 1];
    size_t head_len;
    bool in_body;
    int64_t body_left;
    int status;  /* valid when DONE */
    bool closes; /* valid when DONE: Connection: close */
};

/* Takes bytes of the stream up to the end of one reply; *ret_used says how many. After DONE call reply_reset. */
enum reply_state reply_feed(struct reply *reply, const char *data, size_t len, size_t *ret_used);
void reply_reset(struct reply *reply);
