/* A lock or permits taken from who holds them, by an operator. The fence it draws needs the epoch, so a force may have
 * to wait for it.
 */
#include "locks/database.h"
#include "locks/internal.h"

#include "base/log.h"
#include "base/memory.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

struct force {
    struct list node; /* in locks->forces, while it waits for an epoch */
    struct locks *locks;
    enum lock_kind kind; /* semaphore, or lock for all others */
    lock_forced_fn fn;
    void *arg;
    char name[LOCK_NAME_MAX + 1];
};

static void finish(struct force *force, const struct lock_forced *forced) {
    watch_stir(force->locks, force->name);
    force->fn(force->arg, forced);
    free(force);
}

static void wait_for_epoch(struct force *force) {
    struct locks *locks = force->locks;
    if (locks->force_count >= FORCES_MAX) {
        finish(force, NULL);
        return;
    }
    locks->force_count++;
    list_push(&locks->forces, &force->node);
    fence_want(locks->fence);
}

static void take_forced(struct force *force, const struct redis_value *value) {
    struct lock_holder holder;
    struct lock_forced forced = {.fence = redis_int(redis_at(value, 2)), .holder = &holder};
    lock_holder_read(&holder, value, 3);
    metric_add(METRIC_LEASE_FORCED, 0, 1);
    finish(force, &forced);
    lock_holder_done(&holder);
}

static bool says(const struct redis_value *value, const char *word) {
    return strcmp(redis_str(redis_at(value, 1), NULL), word) == 0;
}

/* Redis says so, or is away and cannot say otherwise. */
static bool may_be_in_database(const struct force *force, const struct redis_value *value) {
    if (force->kind == LOCK_KIND_SEMAPHORE) return false;
    return value == NULL || (says(value, "kind") &&
                             strcmp(redis_str(redis_at(value, 2), NULL), lock_kind_name(LOCK_KIND_DATABASE)) == 0);
}

static void on_forced(void *arg, const struct redis_value *value, bool sent) {
    struct force *force = arg;
    struct lock_forced forced = {.fence = redis_int(redis_at(value, 2))};
    force->locks->calls--;
    if (may_be_in_database(force, value)) {
        database_force(force->locks, force->name, force->fn, force->arg);
        free(force);
    } else if (redis_type_of(value) != REDIS_ARRAY) {
        if (value != NULL) LOG(LOG_ERROR, "lock.force_failed", LOGS("answer", redis_str(value, NULL)));
        finish(force, NULL);
    } else if (says(value, "epoch")) {
        wait_for_epoch(force);
    } else if (says(value, "forced")) {
        take_forced(force, value);
    } else {
        if (says(value, "kind")) forced.kind = redis_str(redis_at(value, 2), NULL);
        finish(force, &forced);
    }
}

static void send(struct force *force) {
    struct locks *locks = force->locks;
    bool is_semaphore = force->kind == LOCK_KIND_SEMAPHORE;
    AUTO_CALL call = call_new(is_semaphore ? SCRIPT_SEMAPHORE_FORCE : SCRIPT_LOCK_FORCE);
    call_add_key(&call, force->name);
    call_add_str(&call, fence_marker(locks->fence) != NULL ? fence_marker(locks->fence) : "");
    if (!is_semaphore) call_add_str(&call, locks->options.redisson_fenced);
    locks->calls++;
    call_send(&call, locks->redis, on_forced, force);
}

void forces_go_on(struct locks *locks, bool known) {
    struct list now;
    list_init(&now);
    list_move_all(&now, &locks->forces);
    locks->force_count = 0;
    for (struct list *node; (node = list_pop(&now)) != NULL;) {
        struct force *force = CONTAINER_OF(node, struct force, node);
        if (known)
            send(force);
        else
            finish(force, NULL);
    }
}

void locks_force(struct locks *locks, enum lock_kind kind, const char *name, lock_forced_fn fn, void *arg) {
    struct force *force = mem_new(sizeof *force);
    *force = (struct force){.locks = locks, .kind = kind, .fn = fn, .arg = arg};
    list_init(&force->node);
    (void)text_format(force->name, sizeof force->name, "%s", name);
    send(force);
}
