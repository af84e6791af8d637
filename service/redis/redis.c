/* The breaker, and the way back.

       OFF        no url: for ever
       WAITING ──retry timer──▶ RESOLVING ──▶ PROBING ──▶ CLEANING ──redis_cleaned──▶ UP
          ▲                         │            │           │                        │
          └──────── any failure ────┴────────────┴───────────┴────────────────────────┘

   Invariants
   1. The state is changed before anyone is told: a callback that calls back in is judged by the new state.
   2. connection is not NULL in PROBING, CLEANING and UP only. Calls are taken in CLEANING and UP only.
   3. The subscriber connection runs in UP only, to the address the command connection has: what counts our
      subscribers is the server that holds the locks.
   4. Every change between UP and not UP is logged once and told once. */
#include "redis/redis.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "metrics/metrics.h"
#include "redis/command.h"
#include "redis/connection.h"
#include "redis/probe.h"
#include "redis/redis_url.h"
#include "redis/replicas.h"
#include "redis/resolver.h"
#include "redis/scripts.h"
#include "redis/subscriber.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { RETRY_MS_MIN = 50, RETRY_MS_MAX = 1000, REFUSED_LOG_MS = 60000, ADDRESS_SIZE = 64 };

enum state { OFF, WAITING, RESOLVING, PROBING, CLEANING, UP };

struct redis {
    struct loop *loop;
    struct redis_options options; /* url is not kept */
    struct redis_url url;
    enum state state;
    char address[ADDRESS_SIZE];
    struct resolver *resolver;
    struct connection *connection;
    struct probe probe;
    struct subscriber *subscriber;
    struct replicas *replicas; /* NULL: none is waited for */
    struct loop_timer *timer;  /* WAITING: the next attempt */
    int64_t retry_ms;
    unsigned attempt;
    bool told_down;
    bool told_evicts;
    int64_t refused_logged_ms;
    bool has_clock;
    int64_t clock_offset_ms; /* Redis Unix ms minus our monotonic ms */
};

/* ---- down ---- */

/* A server that we refuse stays refused until someone acts, so it is said again now and then. */
static void log_down(struct redis *redis, const char *reason) {
    int64_t now_ms = clock_mono_ms();
    bool again = redis->state == PROBING && redis->probe.refused && now_ms - redis->refused_logged_ms >= REFUSED_LOG_MS;
    if (!redis->told_down)
        LOG(LOG_WARN, "redis.down", LOGS("host", redis->url.host), LOGS("reason", reason));
    else if (again)
        LOG(LOG_ERROR, "redis.refused", LOGS("host", redis->url.host), LOGS("reason", reason));
    if (!redis->told_down || again) redis->refused_logged_ms = now_ms;
    redis->told_down = true;
}

static void retry_later(struct redis *redis) {
    loop_timer_start(redis->timer, redis->retry_ms, 0);
    redis->retry_ms = redis->retry_ms * 2 < RETRY_MS_MAX ? redis->retry_ms * 2 : RETRY_MS_MAX;
}

/* From any state: the attempt or the connection has failed. Answers what was pending. */
static void go_down(struct redis *redis, const char *reason) {
    bool was_up = redis->state == UP;
    log_down(redis, reason);
    redis->state = WAITING;
    redis->resolver = resolver_free(redis->resolver);
    retry_later(redis);
    if (was_up) {
        metric_set(METRIC_REDIS_UP, 0, 0);
        metric_add(METRIC_REDIS_TRIPS, 0, 1);
        subscriber_stop(redis->subscriber);
        if (redis->replicas != NULL) replicas_stop(redis->replicas);
    }
    redis->connection = connection_close(redis->connection);
    if (was_up && redis->options.changed != NULL) redis->options.changed(redis->options.arg, false);
}

static void on_gone(void *arg, const char *reason) { go_down(arg, reason); }

/* ---- the way up ---- */

static void note_eviction(struct redis *redis, const struct server_info *info) {
    bool evicts = server_info_may_evict(info);
    metric_set(METRIC_REDIS_EVICTS, 0, evicts);
    if (evicts && !redis->told_evicts)
        LOG(LOG_WARN, "redis.may_evict", LOGS("maxmemoryPolicy", info->eviction), LOGS("wanted", "noeviction"));
    redis->told_evicts = evicts;
}

static void on_probed(void *arg, const char *problem) {
    struct redis *redis = arg;
    if (problem != NULL) {
        go_down(redis, problem);
        return;
    }
    const struct probe_findings *findings = &redis->probe.findings;
    note_eviction(redis, &findings->info);
    redis_saw_time(redis, findings->redis_ms, findings->time_sent_ms);
    redis->state = CLEANING;
    if (redis->options.clean_up != NULL)
        redis->options.clean_up(redis->options.arg);
    else
        redis_cleaned(redis);
}

void redis_cleaned(struct redis *redis) {
    /* The connection may have gone while the owner cleaned: then a new one will ask again. */
    if (redis->state != CLEANING) return;
    redis->state = UP; /* the back-off starts anew when a call has succeeded, see on_evaluated */
    redis->told_down = false;
    metric_set(METRIC_REDIS_UP, 0, 1);
    LOG(LOG_INFO, "redis.up", LOGS("host", redis->url.host), LOGS("version", redis->probe.findings.info.version));
    subscriber_start(redis->subscriber, redis->address);
    if (redis->replicas != NULL) replicas_start(redis->replicas, redis->address, redis_run_id(redis));
    if (redis->options.changed != NULL) redis->options.changed(redis->options.arg, true);
}

static void on_up(void *arg) {
    struct redis *redis = arg;
    probe_start(&redis->probe, redis->connection, &redis->url, on_probed, redis);
}

static void connect_to(struct redis *redis, const char *address) {
    const struct connection_events events = {.up = on_up, .gone = on_gone, .arg = redis};
    (void)text_copy(redis->address, sizeof redis->address, address);
    redis->state = PROBING;
    redis->probe.refused = false;
    redis->connection = connection_open(redis->loop, address, redis->url.port, redis->options.call_timeout_ms, &events);
}

static void on_resolved(void *arg, const char *address) {
    struct redis *redis = arg;
    if (address == NULL) {
        go_down(redis, "host name not found");
        return;
    }
    connect_to(redis, address);
    redis->resolver = resolver_free(redis->resolver);
}

static void on_retry(void *arg) {
    struct redis *redis = arg;
    if (resolver_is_numeric(redis->url.host)) {
        connect_to(redis, redis->url.host);
        return;
    }
    redis->state = RESOLVING;
    redis->resolver = resolver_start(redis->loop, redis->url.host, redis->attempt++, on_resolved, redis);
    if (redis->resolver == NULL) go_down(redis, "out of descriptors");
}

/* ---- calls ---- */

/* One EVALSHA on its way, with what a second way by EVAL needs. */
struct eval {
    struct redis *redis;
    redis_fn fn;
    void *arg;
    struct redis_words words;
    bool whole; /* sent as EVAL */
};

static bool error_starts_with(const struct redis_value *value, const char *word) {
    return redis_type_of(value) == REDIS_ERROR && strncmp(redis_str(value, NULL), word, strlen(word)) == 0;
}

static void send_eval(struct eval *eval);

static void on_evaluated(void *arg, const struct redis_value *value, bool sent) {
    struct eval *eval = arg;
    if (!eval->whole && error_starts_with(value, "NOSCRIPT")) {
        eval->whole = true;
        send_eval(eval);
        return;
    }
    struct redis *redis = eval->redis;
    /* The scripts are made so that they fail only when the server will not do what locks need: it became a replica,
     * restarts, took our rights, has no memory or too few replicas left to write. */
    bool ends = redis_type_of(value) == REDIS_ERROR;
    if (value != NULL && !ends && redis->state == UP) redis->retry_ms = RETRY_MS_MIN;
    eval->fn(eval->arg, value, sent);
    text_done(&eval->words.words);
    free(eval);
    if (ends && redis->connection != NULL) go_down(redis, redis_str(value, NULL));
}

static void send_eval(struct eval *eval) {
    const struct redis_words *words = &eval->words;
    AUTO_TEXT command = text_new(0);
    command_begin(&command, 3 + words->key_count + words->arg_count);
    command_add_str(&command, eval->whole ? "EVAL" : "EVALSHA");
    command_add_str(&command,
                    eval->whole ? script_text(words->script) : eval->redis->probe.findings.sha[words->script]);
    command_add_i64(&command, (int64_t)words->key_count);
    text_add(&command, text_str(&words->words), words->words.len);
    command.overflow |= words->words.overflow;
    connection_send(eval->redis->connection, &command, on_evaluated, eval);
}

void redis_eval(struct redis *redis, struct redis_words *words, redis_fn fn, void *arg) {
    if (redis->state != UP && redis->state != CLEANING) {
        text_done(&words->words);
        fn(arg, NULL, false);
        return;
    }
    struct eval *eval = mem_new(sizeof *eval);
    *eval = (struct eval){.redis = redis, .words = *words, .fn = fn, .arg = arg};
    words->words = (struct text){0};
    send_eval(eval);
}

void redis_flush(struct redis *redis) {
    if (redis->connection != NULL) connection_flush(redis->connection);
}

/* ---- replicas ---- */

bool redis_has_replicas(const struct redis *redis) { return redis->replicas != NULL; }

void redis_await_replicas(struct redis *redis, redis_replicated_fn fn, void *arg) {
    if (redis->replicas == NULL)
        fn(arg, true);
    else
        replicas_await(redis->replicas, fn, arg);
}

/* ---- the clock of Redis ---- */

/* The true offset lies between "the reply was made when the call was sent" and "when it was read"; the estimate moves
   only as far as a sample proves it wrong. */
void redis_saw_time(struct redis *redis, int64_t redis_ms, int64_t sent_mono_ms) {
    int64_t least = redis_ms - clock_mono_ms();
    int64_t most = redis_ms - sent_mono_ms;
    if (!redis->has_clock || redis->clock_offset_ms < least) redis->clock_offset_ms = least;
    if (redis->clock_offset_ms > most) redis->clock_offset_ms = most;
    redis->has_clock = true;
}

int64_t redis_now_ms(const struct redis *redis) {
    return redis->has_clock ? clock_mono_ms() + redis->clock_offset_ms : 0;
}

/* ---- from outside ---- */

bool redis_is_up(const struct redis *redis) { return redis->state == UP; }

bool redis_is_configured(const struct redis *redis) { return redis->state != OFF; }

const char *redis_run_id(const struct redis *redis) { return redis->probe.findings.info.run_id; }

struct redis_subscription *redis_subscribe(struct redis *redis, const char *channel, redis_message_fn fn,
                                           void (*ready)(void *arg), void *arg) {
    const struct listener listener = {.fn = fn, .ready = ready, .arg = arg};
    return subscriber_add(redis->subscriber, channel, &listener);
}

static bool is_given(const char *url) { return url != NULL && url[0] != '\0'; }

RESULT redis_new(struct loop *loop, const struct redis_options *options, struct redis **ret) {
    struct redis_url url = {0};
    const char *problem = NULL;
    if (is_given(options->url)) {
        struct result parsed = redis_url_parse(options->url, &url, &problem);
        if (failed(parsed)) LOG(LOG_ERROR, "redis.url", LOGS("reason", problem), LOGR(parsed));
        TRY(parsed);
    }
    /* hiredis writes without MSG_NOSIGNAL. */
    (void)signal(SIGPIPE, SIG_IGN);
    struct redis *redis = mem_new(sizeof *redis);
    redis->loop = loop;
    redis->options = *options;
    redis->options.url = NULL;
    redis->url = url;
    redis->retry_ms = RETRY_MS_MIN;
    redis->subscriber = subscriber_new(loop, &redis->url, options->call_timeout_ms);
    if (options->replicas > 0) redis->replicas = replicas_new(loop, &redis->url, options);
    redis->timer = loop_timer_new(loop, on_retry, redis);
    redis->state = is_given(options->url) ? WAITING : OFF;
    if (redis->state == WAITING) loop_timer_start(redis->timer, 0, 0);
    *ret = redis;
    return OK;
}

struct redis *redis_free(struct redis *redis) {
    if (redis == NULL) return NULL;
    redis->state = OFF;
    redis->replicas = replicas_free(redis->replicas);
    redis->connection = connection_close(redis->connection);
    redis->subscriber = subscriber_free(redis->subscriber);
    redis->resolver = resolver_free(redis->resolver);
    redis->timer = loop_timer_free(redis->timer);
    free(redis);
    return NULL;
}
