/* Time on connections: limits for slow and silent clients, and clients that hang up while their request is parked.
 *
 * 1 A phase has one limit for all connections, so its list is in the order in which the limits strike; the patrol looks
 *   at heads only. Every byte that comes or goes leaves the limit as it is: dripping does not help.
 * 2 A connection is cut by shutting its socket down; MHD sees the end and closes it in its own way.
 * 3 MHD does not look at suspended connections at all, so the sockets of parked requests are watched here, but only
 *   from HANGUP_WATCH_AFTER_MS on: most are answered before, and pay nothing. */
#include "http/internal.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "metrics/metrics.h"

#include <sys/socket.h>

/* -- time limits */

void client_enter(struct client *client, enum phase phase) {
    list_remove(&client->node);
    if (phase == PHASE_HANDLING) return;
    client->since_ms = clock_mono_ms();
    list_push(&client->listener->http->phases[phase], &client->node);
}

static void cut_overdue(struct http *http, enum phase phase, int64_t now_ms) {
    LIST_FOR_SAFE(node, &http->phases[phase]) {
        struct client *client = CONTAINER_OF(node, struct client, node);
        if (now_ms - client->since_ms < http->phase_max_ms[phase]) return;
        list_remove(&client->node);
        shutdown(client->fd, SHUT_RDWR);
    }
}

static void patrol(void *arg) {
    struct http *http = arg;
    int64_t now_ms = clock_mono_ms();
    for (int phase = 0; phase < PHASE_COUNT; phase++) cut_overdue(http, phase, now_ms);
    streams_patrol(http, now_ms);
}

/* -- parked requests */

void request_gone(struct request *request) {
    void (*on_gone)(void *) = request->on_gone;
    request->stage = STAGE_GONE;
    if (on_gone) on_gone(request->gone_arg);
}

static void on_hangup(void *arg, int events) {
    struct request *request = arg;
    metric_add(METRIC_CLIENT_GONE, 0, 1);
    LOG(LOG_DEBUG, "http.client-gone", LOGS("requestId", request->id), LOGS("route", request->match.label));
    request_gone(request);
    parking_end(request);
}

static void watch_old(void *arg) {
    struct http *http = arg;
    int64_t now_ms = clock_mono_ms();
    LIST_FOR_SAFE(node, &http->parked) {
        struct request *request = CONTAINER_OF(node, struct request, node);
        if (now_ms - request->parked_ms < HANGUP_WATCH_AFTER_MS) break;
        list_remove(&request->node);
        list_push(&http->watched, &request->node);
        request->watch = loop_watch_new(http->loop, request->client->fd, on_hangup, request);
        loop_watch_set(request->watch, LOOP_HANGUP);
    }
    if (!list_empty(&http->parked)) loop_timer_start(http->parking, HANGUP_WATCH_AFTER_MS, 0);
}

void parking_begin(struct request *request) {
    struct http *http = request->http;
    request->parked_ms = clock_mono_ms();
    list_push(&http->parked, &request->node);
    if (fault_on(FAULT_NO_HANGUP_WATCH)) return;
    if (!loop_timer_is_active(http->parking)) loop_timer_start(http->parking, HANGUP_WATCH_AFTER_MS, 0);
}

void parking_end(struct request *request) {
    request->watch = loop_watch_free(request->watch);
    list_remove(&request->node);
    list_push(&request->http->ready, &request->node);
}

bool parking_resume(struct http *http, size_t max) {
    size_t count = 0;
    for (struct list *node; count < max && (node = list_pop(&http->ready)); count++)
        MHD_resume_connection(CONTAINER_OF(node, struct request, node)->connection);
    return count > 0;
}

/* -- start and stop */

static void gone_all(struct list *requests) {
    LIST_FOR_SAFE(node, requests) {
        struct request *request = CONTAINER_OF(node, struct request, node);
        request_gone(request);
        parking_end(request);
    }
}

void patrol_start(struct http *http) {
    int64_t idle_ms = (int64_t)http->options.idle_timeout_s * 1000;
    http->phase_max_ms[PHASE_WAITING] = idle_ms;
    http->phase_max_ms[PHASE_RECEIVING] = http->options.body_timeout_ms;
    http->phase_max_ms[PHASE_SENDING] = idle_ms;
    for (int phase = 0; phase < PHASE_COUNT; phase++) list_init(&http->phases[phase]);
    list_init(&http->parked);
    list_init(&http->watched);
    list_init(&http->ready);
    list_init(&http->streams);
    http->patrol = loop_timer_new(http->loop, patrol, http);
    http->parking = loop_timer_new(http->loop, watch_old, http);
    loop_timer_start(http->patrol, PATROL_PERIOD_MS, PATROL_PERIOD_MS);
}

void patrol_stop(struct http *http) {
    http->stopping = true;
    gone_all(&http->parked);
    gone_all(&http->watched);
    http->parking = loop_timer_free(http->parking);
    http->patrol = loop_timer_free(http->patrol);
}
