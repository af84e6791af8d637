/* Streams: MHD asks for bytes when it can send; when there are none the connection is suspended, as a parked request's
 * is, and its socket watched with theirs. A write resumes it. */
#include "http/stream.h"
#include "http/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BLOCK_SIZE 2048 /* MHD's room for a reply that is not chunked: to HTTP/1.0 */

struct stream {
    struct list node; /* in http.streams */
    struct request *request;
    struct stream_options options;
    struct text unsent; /* its first `taken` bytes are MHD's already */
    size_t taken;
    int64_t written_ms, moved_ms; /* last write; MHD took something, or nothing was there to take */
    bool waits;                   /* suspended until there is something */
    bool ended, cut;
};

static size_t backlog(const struct stream *stream) { return stream->unsent.len - stream->taken; }

void request_stream(struct request *request, struct reply reply, const struct stream_options *options) {
    struct stream *stream = mem_new(sizeof *stream);
    stream->request = request;
    stream->options = *options;
    stream->unsent = text_new(0);
    stream->written_ms = stream->moved_ms = clock_mono_ms();
    list_push(&request->http->streams, &stream->node);
    request->stream = stream;
    request->on_gone = options->on_gone;
    request->gone_arg = options->arg;
    request_reply(request, reply);
}

struct stream *stream_free(struct stream *stream) {
    if (stream == NULL) return NULL;
    list_remove(&stream->node);
    text_done(&stream->unsent);
    free(stream);
    return NULL;
}

bool stream_is_open(const struct request *request) {
    return request->stream != NULL && !request->stream->ended && request->stage != STAGE_GONE;
}

/* -- writing */

static void wake(struct stream *stream) {
    if (!stream->waits) return;
    stream->waits = false;
    parking_end(stream->request);
}

/* Called while the writer is at work: it learns of it when MHD has seen the end of the socket. */
static void cut_off(struct stream *stream, const char *why) {
    const struct request *request = stream->request;
    stream->cut = true;
    metric_add(METRIC_STREAMS_CUT, 0, 1);
    LOG(LOG_INFO, "http.stream-cut", LOGS("requestId", request->id), LOGS("route", request->match.label),
        LOGS("detail", why), LOGI("bytes", backlog(stream)));
    shutdown(request->client->fd, SHUT_RDWR);
    wake(stream);
}

void stream_write(struct request *request, const char *data, size_t len) {
    struct stream *stream = request->stream;
    if (!stream_is_open(request) || stream->cut) return;
    if (backlog(stream) > STREAM_BACKLOG_MAX) {
        cut_off(stream, "too much waits for it");
        return;
    }
    stream->written_ms = clock_mono_ms();
    if (backlog(stream) == 0) stream->moved_ms = stream->written_ms;
    text_add(&stream->unsent, data, len);
    if (stream->unsent.overflow)
        cut_off(stream, "one write is too long");
    else
        wake(stream);
}

void stream_end(struct request *request) {
    request->stream->ended = true;
    wake(request->stream);
}

/* -- what MHD takes */

static size_t take(struct stream *stream, char *out, size_t room) {
    size_t len = backlog(stream) < room ? backlog(stream) : room;
    memcpy(out, stream->unsent.data + stream->taken, len);
    stream->taken += len;
    stream->moved_ms = clock_mono_ms();
    if (backlog(stream) > 0) return len;
    text_done(&stream->unsent);
    stream->unsent = text_new(0);
    stream->taken = 0;
    return len;
}

static ssize_t on_room(void *cls, uint64_t position, char *out, size_t room) {
    struct request *request = cls;
    struct stream *stream = request->stream;
    if (request->stage == STAGE_GONE || stream->cut || request->http->stopping)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (backlog(stream) > 0) return (ssize_t)take(stream, out, room);
    if (stream->ended) {
        request->stage = STAGE_SENT;
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    MHD_suspend_connection(request->connection);
    stream->waits = true;
    parking_begin(request);
    return 0;
}

struct MHD_Response *stream_response(struct request *request) {
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, on_room, request, NULL);
}

/* -- time */

void streams_patrol(struct http *http, int64_t now_ms) {
    LIST_FOR_SAFE(node, &http->streams) {
        struct stream *stream = CONTAINER_OF(node, struct stream, node);
        const struct stream_options *options = &stream->options;
        if (stream->cut || stream->request->stage != STAGE_STREAMING) continue;
        if (backlog(stream) > 0 && now_ms - stream->moved_ms >= http->phase_max_ms[PHASE_SENDING])
            cut_off(stream, "it takes nothing");
        else if (now_ms - stream->written_ms >= options->idle_ms)
            stream_write(stream->request, options->idle_text, strlen(options->idle_text));
    }
}
