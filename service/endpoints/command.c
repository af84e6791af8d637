/* A command from its endpoint to the facade and its answer back. */
#include "base/memory.h"
#include "endpoints/common.h"

#include <stdlib.h>
#include <string.h>

struct errand {
    struct service *service;
    struct request *request;
    struct rider *rider;
};

static int retry_after(const struct answer *answer) {
    bool again = answer->error == ERROR_UNAVAILABLE || answer->error == ERROR_OUTCOME_UNKNOWN ||
                 answer->error == ERROR_IN_PROGRESS || answer->error == ERROR_STOCK_BUSY;
    return again ? 1 : -1;
}

static void on_done(void *arg, struct answer *answer) {
    struct errand *errand = arg;
    struct reply reply = reply_new(answer->status);
    reply.body = TAKE_TEXT(answer->body);
    if (answer->status >= 400) reply.content_type = "application/problem+json";
    (void)text_copy(reply.location, sizeof reply.location, answer->location);
    (void)text_copy(reply.etag, sizeof reply.etag, answer->etag);
    reply.retry_after_s = retry_after(answer);
    reply.replayed = answer->replayed;
    reply.degraded = answer->degraded;
    request_reply(errand->request, reply);
    free(errand);
}

static void on_gone(void *arg) {
    struct errand *errand = arg;
    facade_abandon(errand->service->facade, errand->rider);
    free(errand);
}

void command_start(struct request *request, struct rider *rider) {
    char key[IDEMPOTENCY_KEY_MAX + 1];
    if (!read_idempotency_key(request, key)) {
        rider_free(rider);
        return;
    }
    rider_set_key(rider, request_credential(request)->name, request_route(request), key[0] != '\0' ? key : NULL);
    (void)text_copy(rider->request_id, sizeof rider->request_id, request_id(request));
    (void)text_copy(rider->command.traceparent, sizeof rider->command.traceparent, request_traceparent(request));
    struct errand *errand = mem_new(sizeof *errand);
    *errand = (struct errand){service_of(request), request, rider};
    rider->done = on_done;
    rider->arg = errand;
    request_park(request, on_gone, errand);
    facade_submit(errand->service->facade, rider);
}
