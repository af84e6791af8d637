/* One look at a watched name, in Redis or in the database. */
#include "locks/database.h"
#include "locks/watch_internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <string.h>

/* Elements of an answer. */
enum { AT_KIND = 1, AT_HOW, AT_FENCE, AT_HOLDERS, AT_FATES };
#define AT_ID 5 /* of a holder, behind what holder_of tells */

static void read_holders(struct look *look, const struct redis_value *holders, struct lock_holder *out) {
    size_t count = redis_len(holders) < WATCH_HOLDERS_MAX ? redis_len(holders) : WATCH_HOLDERS_MAX;
    for (size_t i = 0; i < count; i++) {
        lock_holder_read(&out[i], redis_at(holders, i), 0);
        look->ids[i] = redis_str(redis_at(redis_at(holders, i), AT_ID), NULL);
    }
    look->status.holders = out;
    look->status.holder_count = count;
}

static void take_answer(struct watch *watch, const struct redis_value *value) {
    struct lock_holder holders[WATCH_HOLDERS_MAX];
    const char *how = redis_str(redis_at(value, AT_HOW), NULL);
    struct look look = {.now_ms = clock_mono_ms(),
                        .status = {.name = watch->name,
                                   .kind = redis_str(redis_at(value, AT_KIND), NULL),
                                   .held = strcmp(how, "free") != 0,
                                   .fence = redis_int(redis_at(value, AT_FENCE))}};
    if (strcmp(how, lock_mode_name(LOCK_MODE_SHARED)) == 0) look.status.mode = LOCK_MODE_SHARED;
    read_holders(&look, redis_at(value, AT_HOLDERS), holders);
    for (size_t i = 0; i < watch->seen_count; i++)
        if (i < redis_len(redis_at(value, AT_FATES)))
            look.fates[i] = redis_str(redis_at(redis_at(value, AT_FATES), i), NULL);
    /* As GET says it: a Java service's own lock, or another kind of thing. */
    if (look.status.held && look.status.holder_count == 0)
        look.status.kind = how;
    else if (look.status.held && look.status.kind[0] == '\0')
        look.status.kind = lock_kind_name(LOCK_KIND_LOCK);
    watch_looked(watch, &look);
    for (size_t i = 0; i < look.status.holder_count; i++) lock_holder_done(&holders[i]);
}

static void on_database(void *arg, const struct lock_status *status) {
    struct watch *watch = arg;
    struct look look = {.now_ms = clock_mono_ms()};
    if (status == NULL) {
        watch_looked(watch, NULL);
        return;
    }
    look.status = *status;
    look.status.name = watch->name;
    if (look.status.holder_count > WATCH_HOLDERS_MAX) look.status.holder_count = WATCH_HOLDERS_MAX;
    for (size_t i = 0; i < look.status.holder_count; i++) look.ids[i] = "";
    watch_looked(watch, &look);
}

static void on_answer(void *arg, const struct redis_value *value, bool sent) {
    struct watch *watch = arg;
    const char *kind = redis_str(redis_at(value, AT_KIND), NULL);
    const struct status_listener listener = {on_database, watch};
    watch->locks->calls--;
    if (value == NULL || strcmp(kind, lock_kind_name(LOCK_KIND_DATABASE)) == 0) {
        database_status(watch->locks, watch->name, &listener);
    } else if (redis_type_of(value) == REDIS_ARRAY) {
        take_answer(watch, value);
    } else {
        LOG(LOG_ERROR, "lock.watch_failed", LOGS("answer", redis_str(value, NULL)));
        watch_looked(watch, NULL);
    }
}

void watch_look(struct watch *watch) {
    AUTO_CALL call = call_new(SCRIPT_LOCK_WATCH);
    AUTO_TEXT seen = text_new(0);
    for (size_t i = 0; i < watch->seen_count; i++)
        text_addf(&seen, "%s:%lld;", watch->seen[i].id, (long long)watch->seen[i].fence);
    call_add_key(&call, watch->name);
    call_add_i64(&call, WATCH_HOLDERS_MAX);
    call_add_str(&call, text_str(&seen));
    watch->locks->calls++;
    call_send(&call, watch->locks->redis, on_answer, watch);
}
