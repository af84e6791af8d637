/* A reply that goes on: its headers go out at once, its bytes as they come, until one of the sides ends it. Loop
   thread.

   Invariants
   1. Between request_stream and the end (stream_end, or on_gone) the request lives, and the writer may write.
   2. on_gone is called at most once, and never after stream_end; the request dies after it returns.
   3. A reader that does not keep up is cut off: when more than STREAM_BACKLOG_MAX bytes wait for it at the next write,
   or when it took nothing of what waits for as long as any reply may take. Nobody else waits for it. */
#pragma once

#include "http/request.h"

#define STREAM_BACKLOG_MAX ((size_t)32768) /* so one write of any length reaches a reader that keeps up */

struct stream_options {
    const char *idle_text; /* written when nothing else was for idle_ms: proxies and readers see that it lives */
    int64_t idle_ms;
    void (*on_gone)(void *arg); /* the client hung up or was cut off, or the server is freed */
    void *arg;
};

/* Instead of request_reply, of a GET; the reply has no body. (A HEAD is a plain reply: MHD 0.9.75 would end a stream's
 * head with the end of chunks that never were.) */
void request_stream(struct request *request, struct reply reply, const struct stream_options *options);
/* Appends. Nothing after the end. */
void stream_write(struct request *request, const char *data, size_t len);
/* What was written still goes out, then the reply ends in order. */
void stream_end(struct request *request);
