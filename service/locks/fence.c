#include "locks/fence.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "domain/lock.h"
#include "redis/call.h"
#include "store/fences.h"
#include "store/leases.h"

#include <stdlib.h>
#include <string.h>

#define RUN_ID_SIZE 64
#define DRAWS_MAX 5 /* others may set theirs while we draw; each time ours is above what stood */

#define BIND_NAMES 256 /* in one script call */

enum state { IDLE, LOOKING, DRAWING, BINDING, SETTING };

struct fence {
    struct db_job job; /* DRAWING */
    struct pool *pool;
    struct redis *redis;
    void (*ready)(void *arg, struct result result);
    void *arg;
    enum state state;
    bool known;
    char marker[FENCE_MARKER_SIZE];
    char replaced[FENCE_MARKER_SIZE]; /* a good marker that gives way; "" = none */
    int64_t above;                    /* an epoch the new one must exceed, too */
    char run_id[RUN_ID_SIZE];         /* of the server that was asked */
    int64_t standing, drawn;          /* epochs */
    unsigned draws;
    struct result result; /* of the job */
    char **bound;         /* names of the database store, which Redis may have forgotten */
    size_t bound_count, bound_told;
};

static void forget_bound(struct fence *fence) {
    for (size_t i = 0; i < fence->bound_count; i++) free(fence->bound[i]);
    fence->bound_count = fence->bound_told = 0;
}

static void finish(struct fence *fence, struct result result) {
    forget_bound(fence);
    fence->state = IDLE;
    if (failed(result)) LOG(LOG_WARN, "fence.no_epoch", LOGR(result));
    if (failed(result) && fence->replaced[0] != '\0') { /* the old one goes on; should it be gone, a script says so */
        fence->known = text_format(fence->marker, sizeof fence->marker, "%s", fence->replaced);
        result = OK;
    }
    fence->replaced[0] = '\0';
    fence->above = 0;
    fence->ready(fence->arg, result);
}

static void put(struct fence *fence, enum state state, int64_t epoch);

/* -- MySQL */

static void note_bound(void *arg, const char *name) {
    struct fence *fence = arg;
    if (fence->bound == NULL) fence->bound = mem_array(LEASES_BOUND_MAX, sizeof fence->bound[0]);
    if (fence->bound_count < LEASES_BOUND_MAX) fence->bound[fence->bound_count++] = mem_copy(name, strlen(name));
}

static void draw(struct db_job *job, struct db *db) {
    struct fence *fence = CONTAINER_OF(job, struct fence, job);
    int64_t standing = fence->above > fence->standing ? fence->above : fence->standing;
    fence->result = fence_epochs_draw(db, standing, fence->run_id, &fence->drawn);
    if (!failed(fence->result) && fence->replaced[0] == '\0') fence->result = leases_bound(db, note_bound, fence);
}

static void bind_next(struct fence *fence);

static void on_drawn(struct db_job *job) {
    struct fence *fence = CONTAINER_OF(job, struct fence, job);
    struct result result = failed(job->connection) ? job->connection : fence->result;
    if (!failed(result) && fence->drawn > LOCK_EPOCH_MAX) result = FAILURE(INTERNAL, 0);
    if (failed(result))
        finish(fence, result);
    else
        bind_next(fence);
}

static void start_draw(struct fence *fence, const char *standing) {
    const char *run_id;
    fence->standing = 0;
    (void)lock_marker_parse(standing, &fence->standing, &run_id);
    if (++fence->draws > DRAWS_MAX) {
        finish(fence, FAILURE(UNAVAILABLE, 0));
        return;
    }
    forget_bound(fence);
    if (fault_on(FAULT_NO_NEW_EPOCH)) {
        put(fence, SETTING, 1);
        return;
    }
    fence->state = DRAWING;
    pool_submit_train(fence->pool, &fence->job);
}

/* -- Redis */

static void learn(struct fence *fence, const char *marker) {
    bool is_new = fence->state == SETTING;
    fence->known = text_format(fence->marker, sizeof fence->marker, "%s", marker);
    LOG(LOG_INFO, is_new ? "fence.epoch_set" : "fence.epoch_adopted", LOGS("marker", fence->marker));
    finish(fence, OK);
}

static void on_put(void *arg, const struct redis_value *value, bool sent) {
    struct fence *fence = arg;
    if (redis_type_of(value) != REDIS_ARRAY) {
        if (value != NULL) LOG(LOG_ERROR, "fence.set_failed", LOGS("answer", redis_str(value, NULL)));
        finish(fence, FAILURE(REDIS_DOWN, 0));
        return;
    }
    const char *marker = redis_str(redis_at(value, 1), NULL);
    if (redis_int(redis_at(value, 0)) == 1)
        learn(fence, marker);
    else
        start_draw(fence, marker);
}

static void put(struct fence *fence, enum state state, int64_t epoch) {
    fence->state = state;
    AUTO_CALL call = call_new(SCRIPT_LOCK_FENCE);
    call_add_i64(&call, epoch);
    call_add_str(&call, fence->run_id);
    call_add_str(&call, fence->replaced);
    call_send(&call, fence->redis, on_put, fence);
}

static void on_bound(void *arg, const struct redis_value *value, bool sent) {
    struct fence *fence = arg;
    if (redis_type_of(value) == REDIS_ARRAY) {
        bind_next(fence);
        return;
    }
    if (value != NULL) LOG(LOG_ERROR, "fence.bind_failed", LOGS("answer", redis_str(value, NULL)));
    finish(fence, FAILURE(REDIS_DOWN, 0));
}

/* Nothing is granted before the marker is set, so no name of the database store can slip away. */
static void bind_next(struct fence *fence) {
    if (fence->bound_told == fence->bound_count) {
        put(fence, SETTING, fence->drawn);
        return;
    }
    fence->state = BINDING;
    AUTO_CALL call = call_new(SCRIPT_LOCK_BIND);
    for (size_t i = 0; i < BIND_NAMES && fence->bound_told < fence->bound_count; i++)
        call_add_key(&call, fence->bound[fence->bound_told++]);
    call_add_i64(&call, LOCK_TTL_MS_MAX);
    call_add_str(&call, "");
    call_send(&call, fence->redis, on_bound, fence);
}

/* -- from outside */

struct fence *fence_new(struct pool *pool, void (*ready)(void *arg, struct result result), void *arg) {
    struct fence *fence = mem_new(sizeof *fence);
    *fence = (struct fence){.job = {.run = draw, .done = on_drawn}, .pool = pool, .ready = ready, .arg = arg};
    return fence;
}

struct fence *fence_free(struct fence *fence) {
    forget_bound(fence);
    free(fence->bound);
    free(fence);
    return NULL;
}

void fence_use_redis(struct fence *fence, struct redis *redis) { fence->redis = redis; }

const char *fence_marker(const struct fence *fence) { return fence->known ? fence->marker : NULL; }

static void note_run_id(struct fence *fence) {
    const char *run_id = fault_on(FAULT_NO_RUN_ID) ? "any" : redis_run_id(fence->redis);
    (void)text_format(fence->run_id, sizeof fence->run_id, "%s", run_id);
}

void fence_want(struct fence *fence) {
    if (fence->state != IDLE) return;
    fence->known = false;
    fence->draws = 0;
    note_run_id(fence);
    put(fence, LOOKING, 0);
}

void fence_renew(struct fence *fence, const char *marker, int64_t above) {
    if (fence->state != IDLE) return;
    fence->draws = 0;
    fence->above = above;
    (void)text_format(fence->replaced, sizeof fence->replaced, "%s", marker);
    note_run_id(fence);
    start_draw(fence, marker);
}

void fence_forget(struct fence *fence) { fence->known = false; }

bool fence_is_idle(const struct fence *fence) { return fence->state == IDLE; }
