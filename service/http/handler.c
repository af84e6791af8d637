/* What MHD calls, in this order: connection started; then for each request its target, access (once with the headers,
 * once for each piece of the body, once at its end, and again after a resume), completed; at last connection closed. */
#include "http/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

/* -- connections */

static void connection_started(struct listener *listener, struct MHD_Connection *connection, void **ret_client) {
    struct client *client = mem_new(sizeof *client);
    client->listener = listener;
    client->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    list_init(&client->node);
    client_enter(client, PHASE_WAITING);
    metric_add(METRIC_CONNECTIONS, 0, 1);
    *ret_client = client;
}

static void connection_closed(struct client *client) {
    list_remove(&client->node);
    client->listener->closed = true;
    metric_add(METRIC_CONNECTIONS, 0, -1);
    free(client);
}

void handler_on_connection(void *cls, struct MHD_Connection *connection, void **client,
                           enum MHD_ConnectionNotificationCode what) {
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        connection_started(cls, connection, client);
    else
        connection_closed(*client);
}

/* -- requests */

/* MHD would decode the path and the query with rules of its own; target.c does it from the raw bytes. */
size_t handler_on_unescape(void *cls, struct MHD_Connection *connection, char *text) { return strlen(text); }

/* Next MHD would make a record of each query parameter, and when its pool is full 0.9.75 leaves the connection without
 * an answer. There is no option against it; but the text is in MHD's own receive buffer, so an empty query can be put
 * there once ours is copied. */
static void hide_query(const char *raw_target) {
    char *query = (char *)strchr(raw_target, '?');
    if (query) query[1] = '\0';
}

void *handler_on_target(void *cls, const char *raw_target, struct MHD_Connection *connection) {
    struct client *client = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    client_enter(client, PHASE_RECEIVING);
    struct request *request = request_new(client, connection, raw_target);
    hide_query(raw_target);
    return request;
}

static enum MHD_Result send_reply(struct request *request) {
    client_enter(request->client, request->stream != NULL ? PHASE_HANDLING : PHASE_SENDING);
    return response_send(request) ? MHD_YES : MHD_NO;
}

/* Answering this early makes MHD close the connection after the reply. */
static enum MHD_Result admit(struct request *request, const char *method) {
    return request_admit(request, method) ? MHD_YES : send_reply(request);
}

static enum MHD_Result take_body(struct request *request, const char *data, size_t *data_len) {
    size_t len = *data_len;
    *data_len = 0;
    if (!request->refusal) text_add(&request->body, data, len);
    if (request->body.overflow) {
        request->refusal = ERROR_BODY_TOO_LARGE;
        text_done(&request->body);
    }
    if (request->refusal) request->drained += len;
    return request->drained <= DRAIN_MAX ? MHD_YES : MHD_NO;
}

/* Many requests are read in one run of MHD: without this Redis would rest as long, and then we while it works. */
static void end_batch(struct http *http) {
    if (http->options.batch == NULL || ++http->batch < HTTP_BATCH) return;
    http->batch = 0;
    http->options.batch(http->options.app);
}

static enum MHD_Result run(struct request *request) {
    client_enter(request->client, PHASE_HANDLING);
    request_run(request);
    if (request->stage == STAGE_REPLIED) return send_reply(request);
    MHD_suspend_connection(request->connection);
    parking_begin(request);
    end_batch(request->http);
    return MHD_YES;
}

enum MHD_Result handler_on_access(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *data_len, void **request_slot) {
    struct request *request = *request_slot;
    switch (request->stage) {
    case STAGE_HEADERS:
        return admit(request, method);
    case STAGE_BODY:
        return *data_len ? take_body(request, data, data_len) : run(request);
    case STAGE_REPLIED:
        return send_reply(request);
    case STAGE_RUNNING:
    case STAGE_PARKED:
    case STAGE_STREAMING:
    case STAGE_SENT:
        return MHD_YES;
    case STAGE_GONE:
        return MHD_NO;
    }
    return MHD_NO;
}

static void log_request(const struct request *request, int64_t micros) {
    int status = request->reply->status;
    LOG(status >= 500 ? LOG_INFO : LOG_DEBUG, "http.request", LOGS("requestId", request->id),
        LOGS("route", request->match.label), LOGI("status", status),
        LOGS("err", request->error ? error_info(request->error)->name : NULL), LOGI("ms", micros / 1000));
}

void handler_on_completed(void *cls, struct MHD_Connection *connection, void **request_slot,
                          enum MHD_RequestTerminationCode why) {
    struct request *request = *request_slot;
    if (!request) return;
    *request_slot = NULL;
    bool answered = request->stage == STAGE_SENT || request->streamed_us > 0;
    if (request->stage == STAGE_PARKED || stream_is_open(request)) request_gone(request);
    if (request->on_sent != NULL)
        request->on_sent(request->sent_arg, request->stage == STAGE_SENT && why == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    if (answered) {
        int64_t end_us = request->streamed_us > 0 ? request->streamed_us : clock_mono_us();
        int64_t micros = end_us - request->received_us;
        metric_request(request->match.label, request->reply->status, micros);
        log_request(request, micros);
    }
    client_enter(request->client, PHASE_WAITING);
    request_free(request);
}
