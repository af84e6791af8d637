/* The loop over libuv. Invariants:
   - libuv runs timers, prepare, poll, closes in a circle. The turn callbacks hang on prepare, the last step before the
     poll that may sleep: whatever a descriptor, a wake or a timer has done since the previous poll is seen by them
     before the loop can sleep again. One place is enough, and nothing runs twice a turn.
   - loop_spin keeps an idle handle active for one round; with an active idle handle the poll does not wait.
   - A handle is freed by libuv's close callback, so a callback may free what it was called for.
   - No foreign call here fails in a service that is set up rightly; one that does ends the process with a log line. */
#include "loop/loop.h"

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"

#include <stddef.h>
#include <stdlib.h>
#include <uv.h>

struct turn {
    void (*fn)(void *);
    void *arg;
};

struct loop {
    uv_loop_t uv;
    uv_prepare_t prepare;
    uv_idle_t idle;
    struct turn turns[LOOP_TURN_CALLBACKS_MAX];
    size_t turn_count;
    bool spin;      /* a turn callback of this round asked not to sleep */
    bool in_timers; /* libuv is walking its due timers */
};

/* A handle whose signal is on its way closes a few rounds later; more rounds than this mean that it never will. */
enum { CLOSE_ROUNDS_MAX = 1000 };

static void must(int status, const char *call) {
    if (status >= 0) return;
    LOG(LOG_ERROR, "loop-failed", LOGS("call", call), LOGS("err", uv_err_name(status)));
    abort();
}

static void on_closed(uv_handle_t *handle) { free(handle->data); }

/* owner holds the handle and is freed with it. */
static void close_later(void *handle, void *owner) {
    uv_handle_t *h = handle;
    h->data = owner;
    uv_close(h, on_closed);
}

static void on_idle(uv_idle_t *idle) { (void)idle; }

static void run_turns(struct loop *loop) {
    loop->spin = false;
    for (size_t i = 0; i < loop->turn_count; i++) loop->turns[i].fn(loop->turns[i].arg);
}

static void on_prepare(uv_prepare_t *prepare) {
    struct loop *loop = CONTAINER_OF(prepare, struct loop, prepare);
    run_turns(loop);
    if (loop->spin)
        must(uv_idle_start(&loop->idle, on_idle), "uv_idle_start");
    else
        uv_idle_stop(&loop->idle);
}

struct loop *loop_new(void) {
    struct loop *loop = mem_new(sizeof *loop);
    must(uv_loop_init(&loop->uv), "uv_loop_init");
    must(uv_prepare_init(&loop->uv, &loop->prepare), "uv_prepare_init");
    must(uv_idle_init(&loop->uv, &loop->idle), "uv_idle_init");
    must(uv_prepare_start(&loop->prepare, on_prepare), "uv_prepare_start");
    return loop;
}

struct loop *loop_free(struct loop *loop) {
    if (!loop) return NULL;
    uv_close((uv_handle_t *)&loop->prepare, NULL);
    uv_close((uv_handle_t *)&loop->idle, NULL);
    int status = UV_EBUSY;
    for (int i = 0; i < CLOSE_ROUNDS_MAX && status == UV_EBUSY; i++) {
        uv_run(&loop->uv, UV_RUN_NOWAIT);
        status = uv_loop_close(&loop->uv);
    }
    must(status, "uv_loop_close");
    free(loop);
    return NULL;
}

void loop_run(struct loop *loop) {
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    run_turns(loop); /* for what the last poll brought */
}

void loop_stop(struct loop *loop) { uv_stop(&loop->uv); }

void loop_on_turn(struct loop *loop, void (*fn)(void *), void *arg) {
    if (loop->turn_count == LOOP_TURN_CALLBACKS_MAX) must(UV_ENOBUFS, "loop_on_turn");
    loop->turns[loop->turn_count++] = (struct turn){fn, arg};
}

void loop_off_turn(struct loop *loop, void (*fn)(void *), void *arg) {
    size_t kept = 0;
    for (size_t i = 0; i < loop->turn_count; i++)
        if (loop->turns[i].fn != fn || loop->turns[i].arg != arg) loop->turns[kept++] = loop->turns[i];
    loop->turn_count = kept;
}

void loop_spin(struct loop *loop) { loop->spin = true; }

struct loop_timer {
    uv_timer_t uv;
    struct loop *loop;
    void (*fn)(void *);
    void *arg;
};

/* The callback may free its timer: afterwards only the loop is touched. */
static void on_timer(uv_timer_t *uv) {
    struct loop_timer *timer = CONTAINER_OF(uv, struct loop_timer, uv);
    struct loop *loop = timer->loop;
    loop->in_timers = true;
    timer->fn(timer->arg);
    loop->in_timers = false;
}

struct loop_timer *loop_timer_new(struct loop *loop, void (*fn)(void *), void *arg) {
    struct loop_timer *timer = mem_new(sizeof *timer);
    *timer = (struct loop_timer){.loop = loop, .fn = fn, .arg = arg};
    must(uv_timer_init(&loop->uv, &timer->uv), "uv_timer_init");
    return timer;
}

/* How far the loop's time, read once a round, is behind. */
static int64_t lag_ms(struct loop *loop) {
    int64_t lag = (int64_t)(uv_hrtime() / 1000000) - (int64_t)uv_now(&loop->uv);
    return lag > 0 ? lag : 0;
}

/* Counted from now, not from the start of the round, so that no timer fires early. Started by a timer's callback it is
   due in the next round at the soonest: otherwise a timer that starts itself with 0 would starve the descriptors. */
void loop_timer_start(struct loop_timer *timer, int64_t after_ms, int64_t repeat_ms) {
    int64_t wait_ms = (after_ms > 0 ? after_ms : 0) + lag_ms(timer->loop);
    if (wait_ms == 0 && timer->loop->in_timers) wait_ms = 1;
    must(uv_timer_start(&timer->uv, on_timer, (uint64_t)wait_ms, (uint64_t)(repeat_ms > 0 ? repeat_ms : 0)),
         "uv_timer_start");
}

void loop_timer_stop(struct loop_timer *timer) { uv_timer_stop(&timer->uv); }

bool loop_timer_is_active(const struct loop_timer *timer) { return uv_is_active((const uv_handle_t *)&timer->uv) != 0; }

struct loop_timer *loop_timer_free(struct loop_timer *timer) {
    if (timer) close_later(&timer->uv, timer);
    return NULL;
}

struct loop_watch {
    uv_poll_t uv;
    void (*fn)(void *, int events);
    void *arg;
    int events; /* what is asked; 0 while paused */
};

static int to_uv(int events) {
    return (events & LOOP_READ ? UV_READABLE : 0) | (events & LOOP_WRITE ? UV_WRITABLE : 0) |
           (events & LOOP_HANGUP ? UV_DISCONNECT : 0);
}

static int from_uv(int events) {
    return (events & UV_READABLE ? LOOP_READ : 0) | (events & UV_WRITABLE ? LOOP_WRITE : 0) |
           (events & UV_DISCONNECT ? LOOP_HANGUP : 0);
}

static void on_poll(uv_poll_t *uv, int status, int uv_events) {
    struct loop_watch *watch = CONTAINER_OF(uv, struct loop_watch, uv);
    int events = from_uv(uv_events);
    if (status < 0) { /* libuv has stopped the handle */
        events = watch->events;
        watch->events = 0;
    }
    watch->fn(watch->arg, events);
}

struct loop_watch *loop_watch_new(struct loop *loop, int fd, void (*fn)(void *, int events), void *arg) {
    struct loop_watch *watch = mem_new(sizeof *watch);
    *watch = (struct loop_watch){.fn = fn, .arg = arg};
    must(uv_poll_init(&loop->uv, &watch->uv, fd), "uv_poll_init");
    return watch;
}

void loop_watch_set(struct loop_watch *watch, int events) {
    if (events == watch->events) return;
    watch->events = events;
    if (events)
        must(uv_poll_start(&watch->uv, to_uv(events), on_poll), "uv_poll_start");
    else
        must(uv_poll_stop(&watch->uv), "uv_poll_stop");
}

struct loop_watch *loop_watch_free(struct loop_watch *watch) {
    if (watch) close_later(&watch->uv, watch);
    return NULL;
}

struct loop_wake {
    uv_async_t uv;
    void (*fn)(void *);
    void *arg;
};

static void on_wake(uv_async_t *uv) {
    struct loop_wake *wake = CONTAINER_OF(uv, struct loop_wake, uv);
    wake->fn(wake->arg);
}

struct loop_wake *loop_wake_new(struct loop *loop, void (*fn)(void *), void *arg) {
    struct loop_wake *wake = mem_new(sizeof *wake);
    wake->fn = fn;
    wake->arg = arg;
    must(uv_async_init(&loop->uv, &wake->uv, on_wake), "uv_async_init");
    return wake;
}

void loop_wake_send(struct loop_wake *wake) { must(uv_async_send(&wake->uv), "uv_async_send"); }

struct loop_wake *loop_wake_free(struct loop_wake *wake) {
    if (wake) close_later(&wake->uv, wake);
    return NULL;
}

struct loop_signal {
    uv_signal_t uv;
    void (*fn)(void *, int signum);
    void *arg;
};

static void on_signal(uv_signal_t *uv, int signum) {
    struct loop_signal *sig = CONTAINER_OF(uv, struct loop_signal, uv);
    sig->fn(sig->arg, signum);
}

struct loop_signal *loop_signal_new(struct loop *loop, int signum, void (*fn)(void *, int signum), void *arg) {
    struct loop_signal *sig = mem_new(sizeof *sig);
    sig->fn = fn;
    sig->arg = arg;
    must(uv_signal_init(&loop->uv, &sig->uv), "uv_signal_init");
    must(uv_signal_start(&sig->uv, on_signal, signum), "uv_signal_start");
    return sig;
}

struct loop_signal *loop_signal_free(struct loop_signal *sig) {
    if (sig) close_later(&sig->uv, sig);
    return NULL;
}
