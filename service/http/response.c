/* A request's answer: kept in the request when the endpoint gives it, handed to MHD when the connection is its turn. */
#include "http/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "codec/documents.h"

#include <stdlib.h>
#include <string.h>

enum { STATUS_NO_CONTENT = 204, STATUS_NOT_MODIFIED = 304, STATUS_UNAUTHORIZED = 401, STATUS_UNAVAILABLE = 503 };

struct reply reply_new(int status) {
    return (struct reply){.status = status, .retry_after_s = -1};
}

void reply_done(struct reply *reply) { text_done(&reply->body); }

/* -- problems */

static int retry_after_default(enum error error, int status) {
    return status == STATUS_UNAVAILABLE || error == ERROR_IN_PROGRESS ? 1 : -1;
}

struct reply problem_reply(const struct request *request, enum error error, const char *detail, const char *extras) {
    enum error public = error_public(error);
    struct reply reply = reply_new(error_info(public)->status);
    reply.content_type = "application/problem+json";
    reply.retry_after_s = retry_after_default(public, reply.status);
    reply.body = text_new(0);
    document_problem(&reply.body, public, detail, request->id, extras);
    if (public == ERROR_METHOD_NOT_ALLOWED) router_allow_text(request->match.allowed, reply.allow, sizeof reply.allow);
    return reply;
}

void request_problem_after(struct request *request, enum error error, const char *detail, const char *extras,
                           int retry_after_s) {
    struct reply reply = problem_reply(request, error, detail, extras);
    if (retry_after_s >= 0) reply.retry_after_s = retry_after_s;
    request->error = error;
    request_reply(request, reply);
}

void request_problem(struct request *request, enum error error, const char *detail, const char *extras) {
    request_problem_after(request, error, detail, extras, -1);
}

/* -- giving the answer */

static bool may_be_answered(const struct request *request) {
    return request->stage == STAGE_BODY || request->stage == STAGE_RUNNING || request->stage == STAGE_PARKED;
}

static void log_fault(const struct request *request, const char *event) {
    LOG(LOG_ERROR, event, LOGS("requestId", request->id), LOGS("route", request->match.label));
}

void request_reply(struct request *request, struct reply reply) {
    if (!may_be_answered(request)) {
        log_fault(request, "http.reply-twice");
        reply_done(&reply);
        return;
    }
    if (reply.body.overflow) { /* half a document is worse than none */
        log_fault(request, "http.reply-too-large");
        reply_done(&reply);
        request->error = ERROR_INTERNAL;
        reply = problem_reply(request, ERROR_INTERNAL, NULL, NULL);
    }
    request->reply = mem_new(sizeof reply);
    *request->reply = reply;
    request->stage = STAGE_REPLIED;
    /* Parked by an endpoint that is still running: the connection is not suspended yet, and need not be. */
    if (request->parked_ms) parking_end(request);
}

void request_park(struct request *request, void (*on_gone)(void *arg), void *arg) {
    if (request->stage != STAGE_RUNNING) return; /* answered already */
    request->stage = STAGE_PARKED;
    request->on_gone = on_gone;
    request->gone_arg = arg;
}

void request_on_sent(struct request *request, void (*fn)(void *arg, bool whole), void *arg) {
    request->on_sent = fn;
    request->sent_arg = arg;
}

/* -- handing it to MHD */

static bool may_have_body(int status) { return status != STATUS_NO_CONTENT && status != STATUS_NOT_MODIFIED; }

/* MHD takes the body's memory. */
static struct MHD_Response *response_of(struct request *request) {
    static char empty[1];
    struct reply *reply = request->reply;
    if (request->stream != NULL) return stream_response(request);
    size_t len = reply->body.len;
    if (!len || !may_have_body(reply->status)) return MHD_create_response_from_buffer(0, empty, MHD_RESPMEM_PERSISTENT);
    char *data = TAKE(reply->body.data);
    struct MHD_Response *response = MHD_create_response_from_buffer(len, data, MHD_RESPMEM_MUST_FREE);
    if (!response) free(data);
    return response;
}

static void header_add(struct MHD_Response *response, const char *name, const char *value) {
    if (MHD_add_response_header(response, name, value) != MHD_YES)
        LOG(LOG_WARN, "http.header-refused", LOGS("name", name));
}

static void header_add_text(struct MHD_Response *response, const char *name, const char *value) {
    if (*value) header_add(response, name, value);
}

static void headers_add(struct MHD_Response *response, const struct request *request) {
    const struct reply *reply = request->reply;
    char seconds[12];
    if (may_have_body(reply->status))
        header_add(response, "Content-Type", reply->content_type ? reply->content_type : "application/json");
    header_add(response, "X-Request-Id", request->id);
    header_add(response, "Cache-Control", reply->cache_control ? reply->cache_control : "no-store");
    header_add(response, "X-Content-Type-Options", "nosniff");
    header_add_text(response, "Location", reply->location);
    header_add_text(response, "ETag", reply->etag);
    header_add_text(response, "Lock-Token", reply->lock_token);
    header_add_text(response, "Allow", reply->allow);
    if (reply->retry_after_s >= 0 && text_format(seconds, sizeof seconds, "%d", reply->retry_after_s))
        header_add(response, "Retry-After", seconds);
    if (reply->replayed) header_add(response, "Idempotency-Replayed", "true");
    if (reply->degraded) header_add(response, "Lockstock-Degraded", "redis");
    if (reply->status == STATUS_UNAUTHORIZED) header_add(response, "WWW-Authenticate", "Bearer");
    if (request->http->quiescing) header_add(response, "Connection", "close");
}

bool response_send(struct request *request) {
    struct MHD_Response *response = response_of(request);
    if (!response) return false;
    headers_add(response, request);
    bool queued = MHD_queue_response(request->connection, (unsigned)request->reply->status, response) == MHD_YES;
    MHD_destroy_response(response);
    if (queued && request->stream != NULL) request->streamed_us = clock_mono_us();
    if (queued) request->stage = request->stream != NULL ? STAGE_STREAMING : STAGE_SENT;
    return queued;
}
