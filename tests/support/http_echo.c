/* http_echo LISTEN [ADMIN_LISTEN [TOKENS_FILE [IDLE_S [BODY_MS [CONNECTIONS]]]]]
 *
 * The HTTP layer with endpoints that do nothing but answer in each of the ways there are: at once, later, never, with a
 * problem, twice, not at all. tests/integration/test_http_limits.py talks to it. Prints its port.
 * SIGUSR1 quiesces; SIGTERM quiesces and ends when nothing is active, or at once when sent again; SIGHUP reads the
 * tokens again. HTTP_ECHO_REUSE_PORT lets several share a port, HTTP_ECHO_DEBUG makes it talkative. */
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "codec/json.h"
#include "http/server.h"
#include "http/stream.h"
#include "metrics/metrics.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_PERIOD_MS 10

struct echo {
    struct loop *loop;
    struct http *http;
    struct access *access;
    struct loop_timer *ending;
    struct loop_wake *soon;
    struct list soon_list; /* struct waiting, answered at the next wake */
    int64_t parked, gone, terms, headers_calls;
};

struct waiting {
    struct list node;
    struct echo *echo;
    struct request *request;
    struct loop_timer *timer;
};

static void reply_text(struct request *request, int status, struct text body) {
    struct reply reply = reply_new(status);
    reply.body = body;
    request_reply(request, reply);
}

static struct text ok_text(void) {
    struct text body = text_new(0);
    text_add_str(&body, "{\"ok\":true}");
    return body;
}

/* -- at once */

static void get_now(struct request *request) { reply_text(request, 200, ok_text()); }

static void post_echo(struct request *request) {
    size_t len;
    const char *sent = request_body(request, &len);
    struct text body = text_new(0);
    text_add(&body, sent, len);
    reply_text(request, 200, body);
}

static void delete_nothing(struct request *request) { request_reply(request, reply_new(204)); }

static void field(struct text *body, const char *name, const char *value) {
    text_add_str(body, body->len == 0 ? "{" : ",");
    json_write_key(body, name);
    if (value)
        json_write_string(body, value);
    else
        text_add_str(body, "null");
}

static void get_params(struct request *request) {
    struct text body = text_new(0);
    field(&body, "a", request_param(request, 0));
    field(&body, "b", request_param(request, 1));
    field(&body, "q", request_query(request, "q"));
    field(&body, "r", request_query(request, "r"));
    field(&body, "trace", request_traceparent(request));
    field(&body, "route", request_route(request));
    field(&body, "who", request_credential(request)->name);
    field(&body, "method", request_method(request) == HTTP_HEAD ? "HEAD" : "GET");
    text_add_char(&body, '}');
    reply_text(request, 200, body);
}

static void get_headers(struct request *request) {
    struct echo *echo = request_app(request);
    struct reply reply = reply_new(201);
    echo->headers_calls++;
    reply.body = ok_text();
    text_format(reply.location, sizeof reply.location, "/v1/headers/1");
    text_format(reply.etag, sizeof reply.etag, "\"7\"");
    reply.retry_after_s = 0;
    reply.replayed = reply.degraded = true;
    request_reply(request, reply);
}

static void get_problem(struct request *request) {
    request_problem(request, ERROR_PRODUCT_NOT_FOUND, "none such", "\"productId\":7");
}

static void get_busy(struct request *request) { request_problem_after(request, ERROR_REDIS_DOWN, NULL, NULL, 7); }

static void get_silent(struct request *request) { (void)request; }

static void get_twice(struct request *request) {
    reply_text(request, 200, ok_text());
    request_problem(request, ERROR_INTERNAL, NULL, NULL);
}

static void get_stats(struct request *request) {
    struct echo *echo = request_app(request);
    struct text body = text_new(0);
    text_addf(&body, "{\"parked\":%" PRId64 ",\"gone\":%" PRId64 ",\"active\":%zu,\"connections\":%" PRId64,
              echo->parked, echo->gone, http_active(echo->http), metric_get(METRIC_CONNECTIONS, 0));
    text_addf(&body, ",\"headersCalls\":%" PRId64 "}", echo->headers_calls);
    reply_text(request, 200, body);
}

static void get_metrics(struct request *request) {
    struct reply reply = reply_new(200);
    reply.content_type = "text/plain; version=0.0.4";
    metrics_write(&reply.body);
    request_reply(request, reply);
}

static void get_overflow(struct request *request) {
    struct text body = text_new(8);
    text_add_str(&body, "{\"long\":1}");
    reply_text(request, 200, body);
}

/* -- later */

static struct waiting *waiting_free(struct waiting *waiting) {
    waiting->echo->parked--;
    list_remove(&waiting->node);
    loop_timer_free(waiting->timer);
    free(waiting);
    return NULL;
}

static void on_gone(void *arg) {
    struct waiting *waiting = arg;
    waiting->echo->gone++;
    waiting_free(waiting);
}

static struct waiting *park(struct request *request) {
    struct waiting *waiting = mem_new(sizeof *waiting);
    waiting->echo = request_app(request);
    waiting->request = request;
    waiting->echo->parked++;
    list_init(&waiting->node);
    request_park(request, on_gone, waiting);
    return waiting;
}

static void answer(void *arg) {
    struct waiting *waiting = arg;
    struct request *request = waiting->request;
    waiting_free(waiting);
    reply_text(request, 200, ok_text());
}

static void get_later(struct request *request) {
    int64_t after_ms;
    const char *sent = request_param(request, 0);
    if (!text_parse_i64(sent, strlen(sent), &after_ms)) {
        request_problem(request, ERROR_INVALID_REQUEST, "milliseconds", NULL);
        return;
    }
    struct waiting *waiting = park(request);
    waiting->timer = loop_timer_new(waiting->echo->loop, answer, waiting);
    loop_timer_start(waiting->timer, after_ms, 0);
}

static void get_hold(struct request *request) { park(request); }

/* Parks, and is answered before it returns. */
static void get_parked_now(struct request *request) { answer(park(request)); }

static void get_soon(struct request *request) {
    struct waiting *waiting = park(request);
    list_push(&waiting->echo->soon_list, &waiting->node);
    loop_wake_send(waiting->echo->soon);
}

static void answer_soon(void *arg) {
    struct echo *echo = arg;
    for (struct list *node; (node = list_pop(&echo->soon_list));) answer(CONTAINER_OF(node, struct waiting, node));
}

/* -- without an end: /v1/stream/{n} writes n blocks, one a millisecond, and ends; 0: nothing, until somebody ends it */

#define BLOCK_LEN 8192
#define STREAM_IDLE_MS 200

struct streaming {
    struct waiting *waiting;
    int64_t blocks;
};

static void stream_over(void *arg) {
    struct streaming *streaming = arg;
    on_gone(streaming->waiting);
    free(streaming);
}

static void write_block(void *arg) {
    static char block[BLOCK_LEN];
    struct streaming *streaming = arg;
    struct request *request = streaming->waiting->request;
    memset(block, 'x', sizeof block);
    stream_write(request, block, sizeof block);
    if (--streaming->blocks > 0) return;
    stream_end(request);
    waiting_free(streaming->waiting);
    free(streaming);
}

static void get_stream(struct request *request) {
    struct streaming *streaming = mem_new(sizeof *streaming);
    const struct stream_options options = {": idle\n\n", STREAM_IDLE_MS, stream_over, streaming};
    const char *sent = request_param(request, 0);
    (void)text_parse_i64(sent, strlen(sent), &streaming->blocks);
    streaming->waiting = park(request);
    request_stream(request, reply_new(200), &options);
    if (streaming->blocks == 0) return;
    streaming->waiting->timer = loop_timer_new(streaming->waiting->echo->loop, write_block, streaming);
    loop_timer_start(streaming->waiting->timer, 1, 1);
}

static const struct route routes[] = {
    {HTTP_GET, "/v1/now", get_now, SCOPE_ORDERS, 0},
    {HTTP_POST, "/v1/echo", post_echo, SCOPE_ORDERS, 0},
    {HTTP_PUT, "/v1/echo", post_echo, SCOPE_ORDERS, 0},
    {HTTP_DELETE, "/v1/things/{id}", delete_nothing, SCOPE_ADMIN, 0},
    {HTTP_GET, "/v1/params/{a}/{b}", get_params, SCOPE_ORDERS, ROUTE_QUERY},
    {HTTP_GET, "/v1/params/{a}/literal", get_now, SCOPE_ORDERS, 0},
    {HTTP_GET, "/v1/headers", get_headers, SCOPE_ORDERS, 0},
    {HTTP_GET, "/v1/problem", get_problem, SCOPE_ORDERS, 0},
    {HTTP_GET, "/v1/busy", get_busy, SCOPE_ORDERS, 0},
    {HTTP_GET, "/v1/silent", get_silent, SCOPE_ORDERS, 0},
    {HTTP_GET, "/v1/twice", get_twice, SCOPE_ORDERS, 0},
    {HTTP_GET, "/v1/later/{ms}", get_later, SCOPE_ORDERS, 0},
    {HTTP_POST, "/v1/later/{ms}", get_later, SCOPE_ORDERS, 0},
    {HTTP_GET, "/v1/hold", get_hold, SCOPE_ORDERS, 0},
    {HTTP_GET, "/v1/parked-now", get_parked_now, SCOPE_ORDERS, 0},
    {HTTP_GET, "/v1/soon", get_soon, SCOPE_ORDERS, 0},
    {HTTP_POST, "/v1/soon", get_soon, SCOPE_ORDERS, 0},
    {HTTP_GET, "/v1/stream/{blocks}", get_stream, SCOPE_ORDERS, 0},
    {HTTP_GET, "/v1/overflow", get_overflow, SCOPE_ORDERS, 0},
    {HTTP_GET, "/metrics", get_metrics, 0, ROUTE_OPEN | ROUTE_ADMIN_PORT},
    {HTTP_GET, "/stats", get_stats, 0, ROUTE_OPEN | ROUTE_ADMIN_PORT},
};

/* -- life */

static void end_when_idle(void *arg) {
    struct echo *echo = arg;
    if (echo->terms > 1 || http_active(echo->http) == 0) loop_stop(echo->loop);
}

static void on_signal(void *arg, int signum) {
    struct echo *echo = arg;
    char error[256];
    if (signum == SIGHUP) {
        struct result result = access_reload(echo->access, error, sizeof error);
        if (failed(result)) LOG(LOG_ERROR, "reload", LOGR(result), LOGS("text", error));
        return;
    }
    http_quiesce(echo->http);
    if (signum == SIGTERM && echo->terms++ == 0) loop_timer_start(echo->ending, 0, CHECK_PERIOD_MS);
}

static const char *argument(int argc, char **argv, int index, const char *absent) {
    return index < argc ? argv[index] : absent;
}

static int64_t number(int argc, char **argv, int index, int64_t absent) {
    int64_t value;
    const char *sent = argument(argc, argv, index, "");
    return text_parse_i64(sent, strlen(sent), &value) ? value : absent;
}

static RESULT start(struct echo *echo, int argc, char **argv) {
    char error[256] = "";
    struct result result = access_new(argument(argc, argv, 3, ""), error, sizeof error, &echo->access);
    if (failed(result)) fprintf(stderr, "http_echo: %s\n", error);
    TRY(result);
    const struct http_options options = {
        .listen = argument(argc, argv, 1, "127.0.0.1:0"),
        .admin_listen = argument(argc, argv, 2, ""),
        .reuse_port = getenv("HTTP_ECHO_REUSE_PORT"),
        .routes = routes,
        .route_count = sizeof routes / sizeof *routes,
        .access = echo->access,
        .app = echo,
        .idle_timeout_s = (int)number(argc, argv, 4, 60),
        .body_timeout_ms = number(argc, argv, 5, 10000),
        .connections_max = (unsigned)number(argc, argv, 6, 15000),
    };
    return http_new(echo->loop, &options, &echo->http);
}

static void serve(struct echo *echo) {
    static const int signals[] = {SIGTERM, SIGUSR1, SIGHUP};
    struct loop_signal *handlers[3];
    for (int i = 0; i < 3; i++) handlers[i] = loop_signal_new(echo->loop, signals[i], on_signal, echo);
    printf("port %u\n", http_port(echo->http));
    fflush(stdout);
    loop_run(echo->loop);
    echo->http = http_free(echo->http);
    for (int i = 0; i < 3; i++) loop_signal_free(handlers[i]);
    printf("parked %" PRId64 " connections %" PRId64 "\n", echo->parked, metric_get(METRIC_CONNECTIONS, 0));
}

int main(int argc, char **argv) {
    struct echo echo = {.parked = 0};
    log_start(getenv("HTTP_ECHO_DEBUG") ? LOG_DEBUG : LOG_INFO, "echo");
    json_start();
    signal(SIGPIPE, SIG_IGN);
    list_init(&echo.soon_list);
    echo.loop = loop_new();
    echo.ending = loop_timer_new(echo.loop, end_when_idle, &echo);
    echo.soon = loop_wake_new(echo.loop, answer_soon, &echo);
    struct result result = start(&echo, argc, argv);
    if (failed(result))
        LOG(LOG_ERROR, "start", LOGR(result));
    else
        serve(&echo);
    access_free(echo.access);
    loop_wake_free(echo.soon);
    loop_timer_free(echo.ending);
    loop_free(echo.loop);
    return failed(result);
}
