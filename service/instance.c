/* The parts of an instance, its readiness and its drain. */
#include "instance.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "store/reads.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCHEMA_LOOK_MS 50 /* until the schema fits */
/* Readiness waits so long for the first answer of Redis: else the first trains would go without it. */
#define REDIS_FIRST_MS 1000
#define DRAIN_LOOK_MS 20
#define DRAIN_QUIET_MS                                                                                                 \
    200 /* a client that has just been answered may still send a request before it reads Connection: close */
#define DRAIN_MAX_MS 9000 /* then what is left is cut off: exit within 10 s */
#define IDLE_TIMEOUT_S 75
#define BODY_TIMEOUT_MS 30000

/* -- readiness */

static void look_at_schema(struct db_job *job, struct db *db) {
    struct instance *instance = CONTAINER_OF(job, struct instance, schema_job);
    if (failed(schema_fits(db, &instance->schema_seen))) instance->schema_seen = false;
}

static bool redis_had_its_chance(const struct instance *instance) {
    const struct redis *redis = instance->service.redis;
    return !redis_is_configured(redis) || redis_is_up(redis) ||
           clock_mono_ms() - instance->started_ms >= REDIS_FIRST_MS;
}

static void schema_seen(struct db_job *job) {
    struct instance *instance = CONTAINER_OF(job, struct instance, schema_job);
    instance->schema_asked = false;
    if (failed(job->connection) || !instance->schema_seen || !redis_had_its_chance(instance)) return;
    instance->service.schema_fits = true;
    loop_timer_stop(instance->schema_timer);
    LOG(LOG_INFO, "service.ready", LOGI("port", http_port(instance->service.http)));
}

static void ask_for_schema(void *arg) {
    struct instance *instance = arg;
    if (instance->schema_asked) return;
    instance->schema_asked = true;
    pool_submit_train(instance->service.pool, &instance->schema_job);
}

/* -- stopping */

static bool is_quiet(const struct instance *instance) {
    return http_active(instance->service.http) == 0 && facade_is_idle(instance->service.facade) &&
           locks_is_idle(instance->service.locks) && background_is_over(instance->background);
}

/* A transaction that does not come back cannot be waited for, and its locks cannot be let go safely: end like a kill,
 * which loses nothing that was promised, rather than outlive the grace period. */
static void cut_off(struct instance *instance) {
    LOG(LOG_ERROR, "drain.cut_off", LOGI("requests", http_active(instance->service.http)));
    _exit(1);
}

static void drain(void *arg) {
    struct instance *instance = arg;
    int64_t now_ms = clock_mono_ms();
    if (!is_quiet(instance)) instance->quiet_since_ms = now_ms;
    bool quiet = now_ms - instance->quiet_since_ms >= DRAIN_QUIET_MS;
    if (!quiet && now_ms - instance->drain_since_ms < DRAIN_MAX_MS) return;
    if (!quiet) cut_off(instance);
    loop_stop(instance->service.loop);
}

static void begin_drain(void *arg) {
    struct instance *instance = arg;
    if (instance->service.draining) return;
    instance->service.draining = true;
    instance->drain_since_ms = instance->quiet_since_ms = clock_mono_ms();
    LOG(LOG_INFO, "drain.begin", LOGI("requests", http_active(instance->service.http)));
    http_quiesce(instance->service.http);
    locks_drain(instance->service.locks);
    background_stop(instance->background);
    instance->drain_timer = loop_timer_new(instance->service.loop, drain, instance);
    loop_timer_start(instance->drain_timer, DRAIN_LOOK_MS, DRAIN_LOOK_MS);
}

static void on_stop_signal(void *arg, int signum) {
    struct instance *first = arg;
    for (size_t i = 0; i < first->count; i++) loop_wake_send(first->all[i].stop_wake);
}

static void reload(void *arg) {
    struct instance *instance = arg;
    char text[256];
    struct result result = access_reload(instance->access, text, sizeof text);
    if (failed(result))
        LOG(LOG_ERROR, "tokens.reload_failed", LOGS("detail", text), LOGR(result));
    else
        LOG(LOG_INFO, "tokens.reloaded");
}

/* Each loop owns its table of tokens and swaps it itself. */
static void on_reload_signal(void *arg, int signum) {
    struct instance *first = arg;
    for (size_t i = 0; i < first->count; i++) loop_wake_send(first->all[i].reload_wake);
}

/* -- parts of an instance */

static void wake_for_completions(void *arg) { loop_wake_send(arg); }

static void collect(void *arg) {
    struct instance *instance = arg;
    pool_collect(instance->service.pool);
}

static void start_pool(struct instance *instance, const struct db_options *db) {
    const struct config *config = instance->service.config;
    instance->completions = loop_wake_new(instance->service.loop, collect, instance);
    struct pool_options options = {.db = *db,
                                   .workers = (int)config->db_workers,
                                   .reserved = (int)config->train_slots + 1,
                                   .read_max = (size_t)config->queue_max,
                                   .notify = wake_for_completions,
                                   .notify_arg = instance->completions};
    instance->service.pool = pool_new(&options);
}

static void on_committed(void *arg) {
    const struct instance *instance = arg;
    background_committed(instance->all[0].background);
}

static void start_facade(struct instance *instance) {
    const struct config *config = instance->service.config;
    struct facade_options options = {.queue_max = (size_t)config->queue_max,
                                     .train_max = (size_t)config->train_max,
                                     .train_products_max = (size_t)config->train_products_max,
                                     .train_slots = (size_t)config->train_slots,
                                     .deadline_ms = config->request_deadline_ms,
                                     .lock_wait_ms = config->lock_wait_ms,
                                     .lock_lease_ms = config->lock_lease_ms,
                                     .redis_timeout_ms = config->redis_timeout_ms,
                                     .reservation_ttl_ms = config->reservation_ttl,
                                     .committed = on_committed,
                                     .committed_arg = instance};
    instance->service.facade = facade_new(instance->service.loop, instance->service.pool, &options);
}

static void start_locks(struct instance *instance) {
    const struct config *config = instance->service.config;
    struct locks_options options = {.waiters_max = (size_t)config->waiters_max,
                                    .watchers_max = (size_t)config->streams_max,
                                    .redis_timeout_ms = config->redis_timeout_ms,
                                    .redisson_fenced = config->redisson_fenced,
                                    .open_when_down = strcmp(config->on_redis_down, "open") == 0,
                                    .cleaned = facade_clean_up,
                                    .arg = instance->service.facade};
    instance->service.locks = locks_new(instance->service.loop, instance->service.pool, &options);
}

/* One after the other: the facade's part ends with redis_cleaned. */
static void clean_up(void *arg) {
    struct instance *instance = arg;
    locks_clean_up(instance->service.locks);
}

static void redis_changed(void *arg, bool up) {
    struct instance *instance = arg;
    facade_redis_changed(instance->service.facade, up);
    locks_redis_changed(instance->service.locks, up);
}

static RESULT start_redis(struct instance *instance) {
    struct redis_options options = {.url = instance->service.config->redis_url,
                                    .call_timeout_ms = instance->service.config->redis_timeout_ms,
                                    .replicas = instance->service.config->redis_wait_replicas,
                                    .replica_wait_ms = instance->service.config->redis_wait_ms,
                                    .clean_up = clean_up,
                                    .changed = redis_changed,
                                    .arg = instance};
    TRY(redis_new(instance->service.loop, &options, &instance->service.redis));
    facade_use_redis(instance->service.facade, instance->service.redis);
    locks_use_redis(instance->service.locks, instance->service.redis);
    return OK;
}

static void flush_redis(void *app) {
    const struct service *service = app;
    redis_flush(service->redis);
}

static RESULT start_http(struct instance *instance) {
    const struct config *config = instance->service.config;
    struct http_options options = {.listen = config->listen,
                                   .admin_listen = config->admin_listen,
                                   .reuse_port = config->loops > 1,
                                   .routes = service_routes,
                                   .route_count = service_route_count,
                                   .access = instance->access,
                                   .app = &instance->service,
                                   .batch = flush_redis,
                                   .connections_max = (unsigned)config->connections_max,
                                   .idle_timeout_s = IDLE_TIMEOUT_S,
                                   .body_timeout_ms = BODY_TIMEOUT_MS};
    return http_new(instance->service.loop, &options, &instance->service.http);
}

static void start_timers(struct instance *instance) {
    struct loop *loop = instance->service.loop;
    instance->started_ms = clock_mono_ms();
    instance->schema_job.run = look_at_schema;
    instance->schema_job.done = schema_seen;
    instance->schema_timer = loop_timer_new(loop, ask_for_schema, instance);
    loop_timer_start(instance->schema_timer, 0, SCHEMA_LOOK_MS);
    instance->stop_wake = loop_wake_new(loop, begin_drain, instance);
    instance->reload_wake = loop_wake_new(loop, reload, instance);
    if (instance->index > 0) return; /* signals come to the first loop, which tells the others */
    instance->signals[0] = loop_signal_new(loop, SIGTERM, on_stop_signal, instance);
    instance->signals[1] = loop_signal_new(loop, SIGINT, on_stop_signal, instance);
    instance->signals[2] = loop_signal_new(loop, SIGHUP, on_reload_signal, instance);
}

RESULT instance_start(struct instance *instance, const struct db_options *db) {
    struct service *service = &instance->service;
    service->loop = loop_new();
    start_pool(instance, db);
    start_facade(instance);
    start_locks(instance);
    TRY(start_redis(instance));
    /* Turn callbacks run in this order: trains leave first, then the answers of the turn are written. */
    loop_on_turn(service->loop, facade_pump, service->facade);
    TRY(start_http(instance));
    start_timers(instance);
    return OK;
}

void instance_stop(struct instance *instance) {
    struct service *service = &instance->service;
    service->http = http_free(service->http);
    if (service->pool != NULL) {
        pool_stop(service->pool);
        pool_collect(service->pool);
    }
    if (service->facade != NULL) facade_stop(service->facade);
    service->redis = redis_free(service->redis); /* answers the releases still on their way: the facade must stand */
    if (service->locks != NULL) locks_use_redis(service->locks, NULL);
    service->locks = locks_free(service->locks);
    service->facade = facade_free(service->facade);
    service->pool = pool_free(service->pool);
    instance->schema_timer = loop_timer_free(instance->schema_timer);
    instance->drain_timer = loop_timer_free(instance->drain_timer);
    instance->completions = loop_wake_free(instance->completions);
    instance->stop_wake = loop_wake_free(instance->stop_wake);
    instance->reload_wake = loop_wake_free(instance->reload_wake);
    for (size_t i = 0; i < 3; i++) instance->signals[i] = loop_signal_free(instance->signals[i]);
    service->loop = loop_free(service->loop);
    instance->access = access_free(instance->access);
}

void instance_run(struct instance *instance) {
    /* The poll after the decision to stop may have brought one more request: it is answered too. */
    do loop_run(instance->service.loop);
    while (!is_quiet(instance));
}
