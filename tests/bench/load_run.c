/* The connections of the load driver.
   Invariants: a connection is in one state; it waits for one reply at most; what is counted as answered was read to its
   last byte. After the last moment of the window nothing is sent any more, and what is on its way is read to the end.
 */
#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "bench/load.h"
#include "bench/random.h"
#include "bench/reply.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX 256
#define READ_MAX 65536
#define DRAIN_US INT64_C(10000000)       /* how long the last replies may take */
#define RECONNECT_REST_US INT64_C(20000) /* after an error, lest a dead server makes a busy loop */
#define SWEEP_US INT64_C(250000)         /* how often time-outs are looked for */

enum state { CLOSED, IDLE, WAITING }; /* IDLE: on its way up, or up and nothing asked */

struct connection {
    int fd;
    enum state state;
    bool wants_write;
    struct text request;
    size_t sent;
    int64_t started_us, rest_until_us;
    struct list rest; /* in load.resting */
    struct reply reply;
    size_t step;          /* the next to send, or the one on its way */
    int64_t cycle_us;     /* when the first step was sent */
    struct text received; /* of a reply that is to be read, and of Redis */
    char taken[STEP_TAKEN_MAX], kept[STEP_TAKEN_MAX];
};

struct load {
    const struct load_options *options;
    struct load_result *result;
    struct connection *connections;
    struct list resting; /* each until its rest_until_us */
    struct random random;
    int epoll;
    int64_t open_us, close_us; /* the measured window */
    int64_t sweep_us, number;
    uint64_t waiting, answered;
    bool ending;
    char buffer[READ_MAX];
};

static void watch(struct load *load, struct connection *c, int operation, bool write) {
    struct epoll_event event = {.events = write ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = c};
    c->wants_write = write;
    epoll_ctl(load->epoll, operation, c->fd, &event);
}

static void rest(struct load *load, struct connection *c, int64_t us) {
    c->rest_until_us = clock_mono_us() + us;
    list_push(&load->resting, &c->rest);
}

static void drop(struct load *load, struct connection *c) {
    if (c->state == WAITING) load->waiting--;
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
    c->state = CLOSED;
    c->step = 0;
    list_remove(&c->rest);
}

static void fail(struct load *load, struct connection *c, enum load_error error) {
    load->result->errors[error]++;
    drop(load, c);
    if (!load->ending) rest(load, c, RECONNECT_REST_US);
}

static void connect_start(struct load *load, struct connection *c) {
    int on = 1;
    const struct sockaddr *address = (const struct sockaddr *)&load->options->address;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) return fail(load, c, LOAD_CONNECT);
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(c->fd, address, sizeof load->options->address) != 0 && errno != EINPROGRESS)
        return fail(load, c, LOAD_CONNECT);
    c->state = IDLE;
    watch(load, c, EPOLL_CTL_ADD, true);
}

static void send_rest(struct load *load, struct connection *c) {
    ssize_t n = send(c->fd, c->request.data + c->sent, c->request.len - c->sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) return fail(load, c, LOAD_CLOSED);
    if (n > 0) c->sent += (size_t)n;
    bool more = c->sent < c->request.len;
    if (more != c->wants_write) watch(load, c, EPOLL_CTL_MOD, more);
}

static const struct step *step_of(const struct load *load, const struct connection *c) {
    const struct steps *steps = &load->options->steps;
    return steps->count > 0 ? &steps->list[c->step] : NULL;
}

static void send_next(struct load *load, struct connection *c) {
    if (load->ending) return;
    const struct load_options *options = load->options;
    const struct step_values values = {.connection = c - load->connections,
                                       .number = ++load->number,
                                       .product = 1 + (int64_t)random_below(&load->random, (uint64_t)options->products),
                                       .quantity = options->quantity,
                                       .taken = c->taken,
                                       .kept = c->kept};
    text_clear(&c->request);
    text_clear(&c->received);
    load_request(options, step_of(load, c), &values, &c->request);
    c->sent = 0;
    c->state = WAITING;
    c->started_us = clock_mono_us();
    if (c->step == 0) c->cycle_us = c->started_us;
    load->waiting++;
    reply_reset(&c->reply);
    send_rest(load, c);
}

static void count(struct load *load, const struct connection *c, int64_t now_us) {
    struct load_result *result = load->result;
    int status = c->reply.status;
    result->total[status]++;
    load->answered++;
    if (now_us < load->open_us || now_us >= load->close_us) return;
    result->statuses[status]++;
    latency_add(&result->all, now_us - c->started_us);
    latency_add(&result->by_class[status / 100], now_us - c->started_us);
}

/* A cycle whose step failed begins anew. */
static void end_step(struct load *load, struct connection *c) {
    bool good = c->reply.status / 100 == 2;
    if (load->options->steps.count == 0) return;
    if (good && ++c->step < load->options->steps.count) return;
    int64_t now_us = clock_mono_us();
    c->step = 0;
    if (good && now_us >= load->open_us && now_us < load->close_us)
        latency_add(&load->result->cycles, now_us - c->cycle_us);
}

static void answered(struct load *load, struct connection *c) {
    const struct load_options *options = load->options;
    bool refused = c->reply.status == 429 || c->reply.status == 503;
    count(load, c, clock_mono_us());
    end_step(load, c);
    if (options->requests > 0 && load->answered + load->waiting > (uint64_t)options->requests) load->ending = true;
    if (c->reply.closes) {
        load->result->reconnects++;
        drop(load, c);
    } else {
        load->waiting--;
        c->state = IDLE;
    }
    if (load->ending) return;
    if (refused && options->backoff_ms > 0) return rest(load, c, options->backoff_ms * 1000);
    if (c->state == CLOSED) return connect_start(load, c);
    send_next(load, c);
}

static enum reply_state feed_resp(struct load *load, struct connection *c, size_t n) {
    text_add(&c->received, load->buffer, n);
    int64_t len = resp_length(c->received.data, c->received.len);
    c->reply.status = len < 0 ? 500 : 200;
    if (len == 0) return REPLY_MORE;
    return len < 0 || (size_t)len == c->received.len ? REPLY_DONE : REPLY_BAD;
}

static bool take(struct connection *c, const char *member) {
    bool keeps = *member == '=';
    return step_take(c->received.data, c->received.len, member + keeps, keeps ? c->kept : c->taken);
}

/* One reply per request: bytes after it answer nothing. */
static enum reply_state feed_http(struct load *load, struct connection *c, size_t n) {
    size_t used = 0;
    const struct step *step = step_of(load, c);
    const char *member = step != NULL ? step->fields[4] : "";
    if (member[0]) text_add(&c->received, load->buffer, n);
    enum reply_state state = reply_feed(&c->reply, load->buffer, n, &used);
    if (state == REPLY_DONE && used != n) return REPLY_BAD;
    if (state == REPLY_DONE && member[0] && c->reply.status / 100 == 2 && !take(c, member)) return REPLY_BAD;
    return state;
}

static void read_ready(struct load *load, struct connection *c) {
    ssize_t n = recv(c->fd, load->buffer, sizeof load->buffer, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return fail(load, c, c->state == IDLE && n < 0 ? LOAD_CONNECT : LOAD_CLOSED);
    if (c->state != WAITING) return fail(load, c, LOAD_PROTOCOL);
    const struct step *step = step_of(load, c);
    enum reply_state state = step != NULL && step->resp ? feed_resp(load, c, (size_t)n) : feed_http(load, c, (size_t)n);
    if (state == REPLY_BAD) return fail(load, c, LOAD_PROTOCOL);
    if (state == REPLY_DONE) answered(load, c);
}

static void write_ready(struct load *load, struct connection *c) {
    int error = 0;
    socklen_t len = sizeof error;
    if (c->state == WAITING) return send_rest(load, c);
    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error) return fail(load, c, LOAD_CONNECT);
    watch(load, c, EPOLL_CTL_MOD, false);
    send_next(load, c);
}

static void handle(struct load *load, const struct epoll_event *event) {
    struct connection *c = event->data.ptr;
    if (event->events & EPOLLOUT) write_ready(load, c);
    if (c->fd >= 0 && event->events & (EPOLLIN | EPOLLERR | EPOLLHUP)) read_ready(load, c);
}

/* All rest for one of two times only, so the list is nearly in order: those not yet due are skipped. */
static void wake_rested(struct load *load, int64_t now_us) {
    LIST_FOR_SAFE(node, &load->resting) {
        struct connection *c = CONTAINER_OF(node, struct connection, rest);
        if (c->rest_until_us > now_us) continue;
        list_remove(&c->rest);
        if (c->state == CLOSED)
            connect_start(load, c);
        else
            send_next(load, c);
    }
}

static void sweep(struct load *load, int64_t now_us) {
    if (now_us < load->sweep_us) return;
    load->sweep_us = now_us + SWEEP_US;
    for (int64_t i = 0; i < load->options->connections; i++) {
        struct connection *c = &load->connections[i];
        if (c->state == WAITING && now_us - c->started_us > load->options->timeout_ms * 1000)
            fail(load, c, LOAD_TIMEOUT);
    }
}

static void turn(struct load *load) {
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(load->epoll, events, EVENTS_MAX, list_empty(&load->resting) ? 20 : 1);
    for (int i = 0; i < n; i++) handle(load, &events[i]);
    int64_t now_us = clock_mono_us();
    if (!load->ending && !list_empty(&load->resting)) wake_rested(load, now_us);
    sweep(load, now_us);
}

static double cpu_seconds(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static void run_window(struct load *load) {
    const struct load_options *options = load->options;
    int64_t start_us = clock_mono_us();
    load->open_us = start_us + options->warmup_s * 1000000;
    load->close_us = options->requests > 0 ? INT64_MAX : load->open_us + options->seconds * 1000000;
    while (!load->ending && clock_mono_us() < load->open_us) turn(load);
    double cpu = cpu_seconds();
    while (!load->ending && clock_mono_us() < load->close_us) turn(load);
    int64_t end_us = clock_mono_us();
    load->result->cpu_seconds = cpu_seconds() - cpu;
    load->result->seconds = (double)(end_us - load->open_us) / 1e6;
    load->ending = true;
    while (load->waiting > 0 && clock_mono_us() < end_us + DRAIN_US) turn(load);
    load->result->errors[LOAD_TIMEOUT] += load->waiting;
}

static void connections_start(struct load *load) {
    load->connections = mem_array((size_t)load->options->connections, sizeof *load->connections);
    for (int64_t i = 0; i < load->options->connections; i++) {
        struct connection *c = &load->connections[i];
        c->fd = -1;
        c->request = text_new(LOAD_REQUEST_MAX);
        c->received = text_new(LOAD_REQUEST_MAX);
        list_init(&c->rest);
        connect_start(load, c);
    }
}

bool load_run(const struct load_options *options, struct load_result *ret) {
    static struct load load; /* 64 KiB of buffer: not on the stack; main runs one load only */
    load.options = options;
    load.result = ret;
    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (load.epoll < 0) {
        perror("epoll_create1");
        return false;
    }
    list_init(&load.resting);
    random_init(&load.random, (uint64_t)options->seed);
    connections_start(&load);
    run_window(&load);
    for (int64_t i = 0; i < options->connections; i++) {
        drop(&load, &load.connections[i]);
        text_done(&load.connections[i].request);
        text_done(&load.connections[i].received);
    }
    free(load.connections);
    close(load.epoll);
    return true;
}
