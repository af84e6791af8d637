/* One hiredis async connection on our loop.

   Invariants
   1. hiredis frees its context by itself after an error. `context` is NULL from the moment we know that it will (the
      clean-up hook, a NULL reply, a failed connect) or that we asked for it: nothing touches the context after.
   2. hiredis calls back once for every command it accepted, with NULL when the context is freed. A call is answered
      once, by that or by us before (close); `fn` NULL means answered, its memory goes with hiredis' callback.
   3. Memory of a connection goes when the owner closed it, hiredis is done with it (dead) and no frame of ours or of
      hiredis' works on it (depth 0). hiredis 0.14 cleans up after the last callbacks, 1.2 before: both fit.
   4. `calls` is in the order sent, so its head is the oldest and the one that is answered next.

   Age. libuv runs timers before it polls, and a loop that was kept busy sees late timers and unread replies. So age is
   counted in ticks, between any two of which the loop has polled: a stall, however long, is one tick. And when a
   call is too old, one more poll must pass without a byte before it is held to be unanswered. */
#include "redis/connection.h"

#include "base/list.h"
#include "base/memory.h"

#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#include <stdlib.h>
#include <string.h>

enum { TICKS_PER_TIMEOUT = 10, PATIENCE_TIMEOUTS = 10, LAST_LOOK_MS = 1, REASON_SIZE = 160 };

struct call {
    struct list node; /* in connection->calls until answered */
    struct connection *connection;
    redis_fn fn; /* NULL = answered */
    void *arg;
    uint64_t born_tick;
    uint64_t born_flush;
};

struct connection {
    redisAsyncContext *context;
    struct loop_watch *watch;
    int events;
    struct loop_timer *timer;
    struct connection_events owner;
    struct list calls;
    size_t call_count;
    uint64_t tick, tick_max; /* a call is too old when nothing came, and it was born, more than tick_max ticks ago */
    uint64_t read_tick;      /* of the last bytes */
    uint64_t flushes;        /* times the connected socket took bytes: what was queued before may be on its way */
    uint64_t reads;          /* times the socket was readable */
    uint64_t reads_at_last_look;
    int64_t tick_ms;
    int depth;
    bool connected;
    bool lost;      /* the owner has been told */
    bool closed;    /* by the owner */
    bool dead;      /* hiredis is done with the socket */
    bool last_look; /* overdue; waiting for one more poll */
    char reason[REASON_SIZE];
};

static void enter(struct connection *connection) { connection->depth++; }

/* The connection may be gone when this returns. */
static void leave(struct connection *connection) {
    if (--connection->depth > 0 || !connection->closed || !connection->dead) return;
    loop_timer_free(connection->timer);
    free(connection);
}

static void set_reason(struct connection *connection, const char *reason) {
    if (reason == connection->reason) return;
    (void)text_copy(connection->reason, sizeof connection->reason, reason);
}

/* Tells the owner, once. */
static void lose(struct connection *connection, const char *reason) {
    if (connection->lost || connection->closed) return;
    connection->lost = true;
    set_reason(connection, reason);
    connection->owner.gone(connection->owner.arg, connection->reason);
}

/* hiredis is freeing the context on its own account (invariant 1). */
static void lose_context(struct connection *connection) {
    redisAsyncContext *context = TAKE(connection->context);
    if (context == NULL) return;
    const char *text = context->c.errstr;
    lose(connection, text[0] != '\0' ? text : "connection closed");
}

/* ---- the adapter: what hiredis asks of an event loop ---- */

static void want(struct connection *connection, int events) {
    if (connection->watch == NULL) return;
    connection->events = events;
    loop_watch_set(connection->watch, events);
}

static void add_read(void *arg) { want(arg, ((struct connection *)arg)->events | LOOP_READ); }
static void del_read(void *arg) { want(arg, ((struct connection *)arg)->events & ~LOOP_READ); }
static void add_write(void *arg) { want(arg, ((struct connection *)arg)->events | LOOP_WRITE); }
static void del_write(void *arg) { want(arg, ((struct connection *)arg)->events & ~LOOP_WRITE); }

/* The socket is closed next. */
static void clean_up(void *arg) {
    struct connection *connection = arg;
    connection->watch = loop_watch_free(connection->watch);
    connection->dead = true;
    lose_context(connection);
}

static void on_events(void *arg, int events) {
    struct connection *connection = arg;
    enter(connection);
    if ((events & LOOP_READ) && connection->context != NULL) {
        connection->reads++;
        connection->read_tick = connection->tick;
        redisAsyncHandleRead(connection->context);
    }
    if ((events & LOOP_WRITE) && connection->context != NULL) {
        if (connection->connected) connection->flushes++;
        redisAsyncHandleWrite(connection->context);
    }
    leave(connection);
}

static void on_connect(const redisAsyncContext *context, int status) {
    struct connection *connection = context->ev.data;
    if (status != REDIS_OK) {
        lose_context(connection);
        return;
    }
    connection->connected = true;
    if (!connection->closed) connection->owner.up(connection->owner.arg);
}

/* ---- age ---- */

static bool is_waiting(const struct connection *connection) {
    return !connection->connected || !list_empty(&connection->calls);
}

static uint64_t oldest_tick(const struct connection *connection) {
    if (!connection->connected) return 0;
    return CONTAINER_OF(connection->calls.next, struct call, node)->born_tick;
}

static void arm(struct connection *connection) {
    if (!loop_timer_is_active(connection->timer)) loop_timer_start(connection->timer, connection->tick_ms, 0);
}

/* True when the last look brought nothing either. */
static bool is_unanswered(struct connection *connection) {
    bool looked = connection->last_look && connection->reads == connection->reads_at_last_look;
    connection->last_look = true;
    connection->reads_at_last_look = connection->reads;
    return looked;
}

/* Answers come in the order of the calls, so while bytes come the oldest call is being worked towards: a burst of
 * thousands is no outage. Not without end, though. */
static bool is_young(const struct connection *connection) {
    uint64_t born = oldest_tick(connection);
    uint64_t moved = born > connection->read_tick ? born : connection->read_tick;
    return connection->tick - moved <= connection->tick_max &&
           connection->tick - born <= connection->tick_max * PATIENCE_TIMEOUTS;
}

static void check_age(struct connection *connection) {
    connection->tick++;
    if (is_young(connection)) {
        connection->last_look = false;
        arm(connection);
    } else if (!is_unanswered(connection)) {
        loop_timer_start(connection->timer, LAST_LOOK_MS, 0);
    } else {
        lose(connection, connection->connected ? "call unanswered" : "connecting takes too long");
    }
}

static void on_timer(void *arg) {
    struct connection *connection = arg;
    enter(connection);
    if (connection->context == NULL)
        lose(connection, connection->reason); /* failed when it was made */
    else if (is_waiting(connection))
        check_age(connection);
    leave(connection);
}

/* ---- making and closing ---- */

static void attach(struct loop *loop, struct connection *connection, redisAsyncContext *context) {
    connection->context = context;
    connection->watch = loop_watch_new(loop, context->c.fd, on_events, connection);
    context->ev.data = connection;
    context->ev.addRead = add_read;
    context->ev.delRead = del_read;
    context->ev.addWrite = add_write;
    context->ev.delWrite = del_write;
    context->ev.cleanup = clean_up;
    redisAsyncSetConnectCallback(context, on_connect);
    arm(connection);
}

/* Refused at once: told on the next turn, so that owners see failures in one place only. */
static void fail_later(struct connection *connection, redisAsyncContext *context) {
    set_reason(connection, context == NULL ? "out of memory" : context->c.errstr);
    connection->dead = true;
    if (context != NULL) redisAsyncFree(context);
    loop_timer_start(connection->timer, 0, 0);
}

struct connection *connection_open(struct loop *loop, const char *address, int port, int64_t timeout_ms,
                                   const struct connection_events *events) {
    struct connection *connection = mem_new(sizeof *connection);
    connection->owner = *events;
    list_init(&connection->calls);
    connection->tick_ms = timeout_ms > TICKS_PER_TIMEOUT ? timeout_ms / TICKS_PER_TIMEOUT : 1;
    connection->tick_max = (uint64_t)((timeout_ms + connection->tick_ms - 1) / connection->tick_ms);
    connection->timer = loop_timer_new(loop, on_timer, connection);
    redisAsyncContext *context = redisAsyncConnect(address, port);
    if (context == NULL || context->err != 0)
        fail_later(connection, context);
    else
        attach(loop, connection, context);
    return connection;
}

static bool was_sent(const struct call *call) { return call->connection->flushes > call->born_flush; }

/* Marks the call answered and tells its owner. */
static void answer(struct call *call, const struct redis_value *value, bool sent) {
    redis_fn fn = call->fn;
    call->fn = NULL;
    call->connection->call_count--;
    list_remove(&call->node);
    fn(call->arg, value, sent);
}

static void answer_all(struct connection *connection) {
    while (!list_empty(&connection->calls)) {
        struct call *call = CONTAINER_OF(connection->calls.next, struct call, node);
        answer(call, NULL, was_sent(call));
    }
}

struct connection *connection_close(struct connection *connection) {
    if (connection == NULL || connection->closed) return NULL;
    enter(connection);
    connection->closed = true;
    loop_timer_stop(connection->timer);
    answer_all(connection);
    redisAsyncContext *context = TAKE(connection->context);
    /* Inside one of hiredis' callbacks this only marks the context; hiredis frees it on the way back. */
    if (context != NULL) redisAsyncFree(context);
    leave(connection);
    return NULL;
}

/* ---- commands ---- */

static void on_reply(redisAsyncContext *context, void *reply, void *arg) {
    (void)context;
    struct call *call = arg;
    if (reply == NULL && call->fn != NULL) lose_context(call->connection);
    /* Losing it had the owner close, which answered every call. */
    if (call->fn != NULL) answer(call, reply, true);
    free(call);
}

static bool is_usable(const struct connection *connection) {
    return connection->context != NULL && !connection->lost && !connection->closed;
}

void connection_send(struct connection *connection, const struct text *command, redis_fn fn, void *arg) {
    if (!is_usable(connection) || connection->call_count >= CONNECTION_CALLS_MAX || command->overflow) {
        fn(arg, NULL, false);
        return;
    }
    struct call *call = mem_new(sizeof *call);
    *call = (struct call){.connection = connection, .fn = fn, .arg = arg, .born_tick = connection->tick};
    call->born_flush = connection->flushes;
    if (redisAsyncFormattedCommand(connection->context, on_reply, call, command->data, command->len) != REDIS_OK) {
        free(call);
        fn(arg, NULL, false);
        return;
    }
    list_push(&connection->calls, &call->node);
    connection->call_count++;
    arm(connection);
}

/* Under one of hiredis' callbacks (depth) it must not write: a failed write would free the context under its feet, and
   1.2 asserts that nobody tries. */
void connection_flush(struct connection *connection) {
    if (connection->depth > 0 || !is_usable(connection) || !connection->connected) return;
    if (!(connection->events & LOOP_WRITE)) return;
    enter(connection);
    connection->flushes++;
    redisAsyncHandleWrite(connection->context);
    leave(connection);
}

/* One function for every channel: hiredis may hand a push to the callback of another channel (0.14 keeps the last one
   when it finds none), so the receiver goes by the channel's name in it. */
static void on_push(redisAsyncContext *context, void *reply, void *arg) {
    (void)context;
    struct connection *connection = arg;
    if (reply == NULL || !is_usable(connection) || connection->owner.push == NULL) return;
    connection->owner.push(connection->owner.arg, reply);
}

static void send_words(struct connection *connection, const char *verb, const char *channel) {
    if (!is_usable(connection)) return;
    const char *words[] = {verb, channel};
    const size_t lens[] = {strlen(verb), strlen(channel)};
    /* Refused only while hiredis is closing, which `gone` tells. */
    (void)redisAsyncCommandArgv(connection->context, on_push, connection, 2, words, lens);
}

void connection_subscribe(struct connection *connection, const char *channel) {
    send_words(connection, "SUBSCRIBE", channel);
}

void connection_unsubscribe(struct connection *connection, const char *channel) {
    send_words(connection, "UNSUBSCRIBE", channel);
}
