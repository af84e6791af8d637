/* POST /v1/events: the inbox over HTTP. The event has its effect, and is known to have had it, in one transaction. */
#include "base/memory.h"
#include "endpoints/inbound.h"
#include "endpoints/routes.h"
#include "metrics/metrics.h"

#include <stdlib.h>

#define STATUS_OK 200

struct event_errand {
    struct service *service;
    struct request *request;
    struct rider *rider;
    char event_id[EVENT_ID_MAX + 1];
};

struct event_terms inbound_terms(const struct service *service, const char *credential, const char *traceparent) {
    return (struct event_terms){.credential = credential,
                                .group = service->config->inbox_group,
                                .traceparent = traceparent,
                                .ttl_ms = service->config->reservation_ttl};
}

const char *inbound_code(const struct answer *answer) { return error_info(answer->error)->code; }

void inbound_reply_problem(struct request *request, struct answer *answer) {
    struct reply reply = reply_new(answer->status);
    reply.body = TAKE_TEXT(answer->body);
    reply.content_type = "application/problem+json";
    if (event_fate_of(answer) == EVENT_FATE_BUSY) reply.retry_after_s = 1;
    reply.degraded = answer->degraded;
    request_reply(request, reply);
}

static void reply_event(struct request *request, const char *event_id, bool duplicate, const char *reason) {
    struct reply reply = reply_new(STATUS_OK);
    reply.body = text_new(0);
    document_event_answer(&reply.body, event_id, duplicate, reason);
    request_reply(request, reply);
}

static void on_done(void *arg, struct answer *answer) {
    struct event_errand *errand = arg;
    enum event_fate fate = event_fate_of(answer);
    if (fate == EVENT_FATE_APPLIED || fate == EVENT_FATE_DUPLICATE)
        reply_event(errand->request, errand->event_id, fate == EVENT_FATE_DUPLICATE, NULL);
    else if (fate == EVENT_FATE_REFUSED)
        reply_event(errand->request, errand->event_id, false, inbound_code(answer));
    else
        inbound_reply_problem(errand->request, answer);
    metric_add(METRIC_INBOX_EVENTS, (unsigned)fate, 1);
    free(errand);
}

static void on_gone(void *arg) {
    struct event_errand *errand = arg;
    facade_abandon(errand->service->facade, errand->rider);
    free(errand);
}

static void start(struct request *request, const struct event_body *event) {
    struct service *service = service_of(request);
    struct event_terms terms = inbound_terms(service, request_credential(request)->name, request_traceparent(request));
    struct event_errand *errand = mem_new(sizeof *errand);
    errand->service = service;
    errand->request = request;
    errand->rider = rider_for_event(event, &terms);
    (void)text_copy(errand->event_id, sizeof errand->event_id, event->event_id);
    (void)text_copy(errand->rider->request_id, sizeof errand->rider->request_id, request_id(request));
    errand->rider->done = on_done;
    errand->rider->arg = errand;
    request_park(request, on_gone, errand);
    facade_submit(service->facade, errand->rider);
}

void events_post(struct request *request) {
    struct field_errors errors = {0};
    struct event_body event;
    size_t len;
    const char *body = request_body(request, &len);
    if (failed(body_event(body, len, &errors, &event)))
        reply_invalid(request, &errors);
    else if (event.effect == INBOX_NOTHING)
        reply_event(request, event.event_id, false, "own-event");
    else
        start(request, &event);
}
