/* GET /v1/locks/{name}/events: what happens to a lock, as server-sent events. */
#include "base/memory.h"
#include "codec/event_stream.h"
#include "endpoints/lock_reply.h"
#include "endpoints/routes.h"
#include "http/stream.h"
#include "locks/watch.h"
#include "metrics/metrics.h"

#include <stdlib.h>

#define STATUS_OK 200
#define RETRY_MS 1000   /* a client whose stream ended comes back after it */
#define RETRY_FULL_S 10 /* Retry-After when as many watch as may */

/* One watching client, from its request to its end. */
struct lock_stream {
    struct request *request;
    struct watcher *watcher;
    bool begun; /* the headers went out */
};

static void stop_counting(const struct lock_stream *stream) {
    if (stream->begun) metric_add(METRIC_STREAMS, 0, -1);
}

static void on_gone(void *arg) {
    struct lock_stream *stream = arg;
    stop_counting(stream);
    watcher_free(stream->watcher);
    free(stream);
}

/* -- one event */

static void write_event(struct text *out, enum lock_event event, const struct lock_status *status,
                        const struct lock_holder *holder) {
    AUTO_TEXT data = text_new(0);
    struct lock_holder_view view = {0};
    if (holder != NULL) view = lock_holder_view_of(holder);
    const struct lock_event_view of_event = {.name = status->name,
                                             .kind = status->kind,
                                             .held = status->held,
                                             .holder = holder != NULL ? &view : NULL,
                                             .waiters = status->waiters};
    if (event == LOCK_EVENT_STATE)
        lock_write_status(&data, status, false);
    else if (event == LOCK_EVENT_UNKNOWN)
        document_lock_unknown(&data, status->name);
    else
        document_lock_event(&data, &of_event);
    event_stream_add(out, lock_event_name(event), status->fence, text_str(&data));
}

/* -- the stream */

static struct reply stream_reply(void) {
    struct reply reply = reply_new(STATUS_OK);
    reply.content_type = EVENT_STREAM_TYPE;
    reply.cache_control = "no-cache";
    return reply;
}

static void begin(struct lock_stream *stream) {
    const struct service *service = service_of(stream->request);
    const struct stream_options options = {.idle_text = EVENT_STREAM_COMMENT,
                                           .idle_ms = service->config->stream_idle_ms,
                                           .on_gone = on_gone,
                                           .arg = stream};
    AUTO_TEXT retry = text_new(0);
    request_stream(stream->request, stream_reply(), &options);
    event_stream_retry(&retry, RETRY_MS);
    stream_write(stream->request, retry.data, retry.len);
    metric_add(METRIC_STREAMS, 0, 1);
    stream->begun = true;
}

static void on_events(void *arg, const char *events, size_t len) {
    struct lock_stream *stream = arg;
    if (!stream->begun) begin(stream);
    stream_write(stream->request, events, len);
}

static void refuse_draining(struct request *request) {
    request_problem_after(request, ERROR_UNAVAILABLE, "this instance is stopping: ask again, another will answer", NULL,
                          0);
}

static void on_end(void *arg, enum error why) {
    struct lock_stream *stream = arg;
    stop_counting(stream);
    if (stream->begun)
        stream_end(stream->request);
    else if (why == ERROR_LOCK_STORE_DOWN)
        request_problem(stream->request, why, "nobody can say who holds what", NULL);
    else
        refuse_draining(stream->request);
    free(stream);
}

static void watch(struct request *request, const char *name) {
    struct lock_stream *stream = mem_new(sizeof *stream);
    const struct watcher_options options = {.write = write_event, .tell = on_events, .end = on_end, .arg = stream};
    stream->request = request;
    stream->watcher = watcher_new(service_of(request)->locks, name, &options);
    if (stream->watcher != NULL) {
        request_park(request, on_gone, stream);
        return;
    }
    free(stream);
    request_problem_after(request, ERROR_RATE_LIMITED, "as many streams are open here as may be", NULL, RETRY_FULL_S);
}

void locks_events(struct request *request) {
    const char *name = lock_read_name(request, NULL);
    if (name == NULL) return;
    if (request_method(request) == HTTP_HEAD)
        request_reply(request, stream_reply());
    else if (service_of(request)->draining)
        refuse_draining(request);
    else
        watch(request, name);
}
