/* The replica connection.

       STOPPED ──start──▶ PROBING ──same server──▶ UP: waiting ──▶ SET, WAIT ──▶ told; the next round
                             ▲                      │
                             └──timer── WAITING ◀───┴── lost: all who wait are told no

   Invariants
   1. One round is on its way at a time; `round` are those it speaks for, `waiting` those who came after its SET.
   2. The server is the one that answered them: the same address and run id as the command connection's.
   3. Each who waits is told once. */
#include "redis/replicas.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "metrics/metrics.h"
#include "redis/command.h"
#include "redis/connection.h"
#include "redis/probe.h"

#include <stdlib.h>
#include <string.h>

#define MARK_KEY "lockstock:replicated" /* what is written before each WAIT; its value says nothing */
#define MARK_TTL_MS 60000
#define RETRY_MS_MIN 50
#define RETRY_MS_MAX 1000
#define ADDRESS_SIZE 64

struct waiter {
    struct list node;
    redis_replicated_fn fn;
    void *arg;
};

struct replicas {
    struct loop *loop;
    const struct redis_url *url;
    int64_t count, wait_ms, timeout_ms;
    char address[ADDRESS_SIZE]; /* "" = stopped */
    const char *run_id;
    struct connection *connection;
    struct probe probe;
    bool up;
    bool marked; /* the SET of the round on its way was answered */
    bool told_lost;
    int64_t retry_ms, sent_ms;
    struct list round, waiting;
    struct loop_timer *timer;
};

static void tell_all(struct list *waiters, bool acknowledged) {
    struct list now;
    list_init(&now);
    list_move_all(&now, waiters);
    for (struct list *node; (node = list_pop(&now)) != NULL;) {
        struct waiter *waiter = CONTAINER_OF(node, struct waiter, node);
        waiter->fn(waiter->arg, acknowledged);
        free(waiter);
    }
}

/* The state first: who is told may call back in. */
static void drop(struct replicas *replicas) {
    replicas->up = false;
    replicas->connection = connection_close(replicas->connection);
    tell_all(&replicas->round, false);
    tell_all(&replicas->waiting, false);
}

static void on_gone(void *arg, const char *reason) {
    struct replicas *replicas = arg;
    if (!replicas->told_lost) LOG(LOG_WARN, "redis.replica_wait.lost", LOGS("reason", reason));
    replicas->told_lost = true;
    loop_timer_start(replicas->timer, replicas->retry_ms, 0);
    replicas->retry_ms = replicas->retry_ms * 2 < RETRY_MS_MAX ? replicas->retry_ms * 2 : RETRY_MS_MAX;
    drop(replicas);
}

/* ---- a round ---- */

static void begin_round(struct replicas *replicas);

static void on_marked(void *arg, const struct redis_value *value, bool sent) {
    struct replicas *replicas = arg;
    (void)sent;
    replicas->marked = value != NULL && redis_type_of(value) != REDIS_ERROR;
    if (redis_type_of(value) == REDIS_ERROR)
        LOG(LOG_WARN, "redis.replica_wait.refused", LOGS("answer", redis_str(value, NULL)));
}

static void on_waited(void *arg, const struct redis_value *value, bool sent) {
    struct replicas *replicas = arg;
    (void)sent;
    if (value == NULL) return; /* `gone` has told, or tells them */
    bool acknowledged = replicas->marked && redis_type_of(value) == REDIS_INT && redis_int(value) >= replicas->count;
    metric_observe(METRIC_REPLICA_WAIT, 0, (clock_mono_ms() - replicas->sent_ms) * 1000);
    replicas->retry_ms = RETRY_MS_MIN;
    replicas->told_lost = false;
    tell_all(&replicas->round, acknowledged);
    begin_round(replicas);
}

static void send_mark(struct replicas *replicas) {
    AUTO_TEXT command = text_new(0);
    command_begin(&command, 5);
    command_add_str(&command, "SET");
    command_add_str(&command, MARK_KEY);
    command_add_str(&command, "1");
    command_add_str(&command, "PX");
    command_add_i64(&command, MARK_TTL_MS);
    connection_send(replicas->connection, &command, on_marked, replicas);
}

static void send_wait(struct replicas *replicas) {
    AUTO_TEXT command = text_new(0);
    command_begin(&command, 3);
    command_add_str(&command, "WAIT");
    command_add_i64(&command, replicas->count);
    command_add_i64(&command, replicas->wait_ms);
    connection_send(replicas->connection, &command, on_waited, replicas);
}

static void begin_round(struct replicas *replicas) {
    if (!replicas->up || !list_empty(&replicas->round) || list_empty(&replicas->waiting)) return;
    list_move_all(&replicas->round, &replicas->waiting);
    replicas->marked = false;
    replicas->sent_ms = clock_mono_ms();
    send_mark(replicas);
    send_wait(replicas);
}

/* ---- the connection ---- */

static void on_probed(void *arg, const char *problem) {
    struct replicas *replicas = arg;
    bool is_other = problem == NULL && strcmp(replicas->probe.findings.info.run_id, replicas->run_id) != 0;
    if (problem != NULL || is_other) {
        on_gone(replicas, is_other ? "another server answers" : problem);
        return;
    }
    replicas->up = true;
    begin_round(replicas);
}

static void on_up(void *arg) {
    struct replicas *replicas = arg;
    probe_start(&replicas->probe, replicas->connection, replicas->url, on_probed, replicas);
}

static void connect_now(void *arg) {
    struct replicas *replicas = arg;
    const struct connection_events events = {.up = on_up, .gone = on_gone, .arg = replicas};
    if (replicas->address[0] == '\0') return;
    replicas->connection = connection_open(replicas->loop, replicas->address, replicas->url->port,
                                           replicas->wait_ms + replicas->timeout_ms, &events);
}

/* ---- from outside ---- */

struct replicas *replicas_new(struct loop *loop, const struct redis_url *url, const struct redis_options *options) {
    struct replicas *replicas = mem_new(sizeof *replicas);
    replicas->loop = loop;
    replicas->url = url;
    replicas->count = options->replicas;
    replicas->wait_ms = options->replica_wait_ms;
    replicas->timeout_ms = options->call_timeout_ms;
    replicas->timer = loop_timer_new(loop, connect_now, replicas);
    list_init(&replicas->round);
    list_init(&replicas->waiting);
    return replicas;
}

struct replicas *replicas_free(struct replicas *replicas) {
    if (replicas == NULL) return NULL;
    replicas_stop(replicas);
    loop_timer_free(replicas->timer);
    free(replicas);
    return NULL;
}

void replicas_start(struct replicas *replicas, const char *address, const char *run_id) {
    replicas_stop(replicas);
    (void)text_copy(replicas->address, sizeof replicas->address, address);
    replicas->run_id = run_id;
    replicas->retry_ms = RETRY_MS_MIN;
    replicas->told_lost = false;
    connect_now(replicas);
}

void replicas_stop(struct replicas *replicas) {
    loop_timer_stop(replicas->timer);
    replicas->address[0] = '\0';
    drop(replicas);
}

void replicas_await(struct replicas *replicas, redis_replicated_fn fn, void *arg) {
    if (replicas->connection == NULL) {
        fn(arg, false);
        return;
    }
    struct waiter *waiter = mem_new(sizeof *waiter);
    *waiter = (struct waiter){.fn = fn, .arg = arg};
    list_push(&replicas->waiting, &waiter->node);
    begin_round(replicas);
}
