/* The index of held names: listed by prefix, and swept of names whose lease ended without a release. */
#include "locks/internal.h"

#include "base/log.h"
#include "base/memory.h"
#include "metrics/metrics.h"

#include <stdlib.h>

#define REPLY_HEAD 3 /* elements before the names */

static void send(struct locks *locks, const struct lock_list *list, const char *mode, redis_fn fn, void *arg) {
    AUTO_CALL call = call_new(SCRIPT_LOCK_LIST);
    call_add_str(&call, list->prefix);
    call_add_str(&call, list->after);
    call_add_i64(&call, (int64_t)list->limit);
    call_add_str(&call, mode);
    locks->calls++;
    call_send(&call, locks->redis, fn, arg);
}

static bool is_answer(const struct redis_value *value) {
    if (redis_type_of(value) == REDIS_ARRAY) return true;
    if (value != NULL) LOG(LOG_ERROR, "lock.list_failed", LOGS("answer", redis_str(value, NULL)));
    return false;
}

/* -- listing */

struct listing {
    struct locks *locks;
    struct lock_list list; /* its texts are not kept */
};

static void on_listed(void *arg, const struct redis_value *value, bool sent) {
    struct listing *listing = arg;
    const struct lock_list *list = &listing->list;
    const struct status_listener listener = {list->each, list->arg};
    listing->locks->calls--;
    if (!is_answer(value)) {
        list->done(list->arg, NULL);
        free(listing);
        return;
    }
    for (size_t i = REPLY_HEAD; i < redis_len(value); i++) {
        const struct redis_value *entry = redis_at(value, i);
        status_tell(listing->locks, redis_str(redis_at(entry, 0), NULL), entry, 1, &listener);
    }
    list->done(list->arg, redis_str(redis_at(value, 1), NULL));
    free(listing);
}

void locks_list(struct locks *locks, const struct lock_list *list) {
    struct listing *listing = mem_new(sizeof *listing);
    *listing = (struct listing){.locks = locks, .list = *list};
    send(locks, list, "show", on_listed, listing);
}

/* -- sweeping */

static void on_swept(void *arg, const struct redis_value *value, bool sent) {
    struct locks *locks = arg;
    locks->calls--;
    locks->sweeping = false;
    if (!is_answer(value)) return;
    int64_t left = redis_int(redis_at(value, 2));
    metric_set(METRIC_LEASE_HELD, 0, redis_int(redis_at(value, 0)));
    metric_add(METRIC_LEASE_ENDED, 0, left);
    (void)text_format(locks->swept, sizeof locks->swept, "%s", redis_str(redis_at(value, 1), NULL));
    if (locks->sweep_timer == NULL) return;
    loop_timer_start(locks->sweep_timer, left >= SWEEP_NAMES / 4 ? 1 : SWEEP_MS, SWEEP_MS);
}

static void on_sweep_time(void *arg) {
    struct locks *locks = arg;
    const struct lock_list list = {.prefix = "", .after = locks->swept, .limit = SWEEP_NAMES};
    if (locks->sweeping || locks->draining) return;
    locks->sweeping = true;
    send(locks, &list, "sweep", on_swept, locks);
}

void sweep_start(struct locks *locks) {
    if (locks->sweep_timer == NULL) locks->sweep_timer = loop_timer_new(locks->loop, on_sweep_time, locks);
    loop_timer_start(locks->sweep_timer, SWEEP_MS, SWEEP_MS);
}

void sweep_stop(struct locks *locks) { locks->sweep_timer = loop_timer_free(locks->sweep_timer); }
