/* What stands at a name, for those who only look. */
#include "locks/database.h"
#include "locks/internal.h"

#include "base/log.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct looking {
    struct locks *locks;
    struct status_listener listener;
    char name[LOCK_NAME_MAX + 1];
};

static size_t waiters_of(struct locks *locks, const char *name) {
    const struct queue *queue = queue_find(locks->queues, name);
    return queue == NULL ? 0 : queue->count;
}

#define HEAD 3 /* elements before the holders */

/* The array is the caller's to end. */
static struct lock_holder *read_readers(const struct redis_value *result, size_t from, size_t *ret_count) {
    size_t count = redis_len(result) > from + HEAD ? redis_len(result) - from - HEAD : 0;
    struct lock_holder *holders = mem_array(count > 0 ? count : 1, sizeof holders[0]);
    for (size_t i = 0; i < count; i++) lock_holder_read(&holders[i], redis_at(result, from + HEAD + i), 0);
    *ret_count = count;
    return holders;
}

static void tell_readers(struct lock_status *status, const struct redis_value *result, size_t from,
                         const struct status_listener *listener) {
    struct lock_holder *holders = read_readers(result, from, &status->holder_count);
    status->mode = LOCK_MODE_SHARED;
    status->holders = holders;
    listener->fn(listener->arg, status);
    for (size_t i = 0; i < status->holder_count; i++) lock_holder_done(&holders[i]);
    free(holders);
}

void status_tell(struct locks *locks, const char *name, const struct redis_value *result, size_t from,
                 const struct status_listener *listener) {
    struct lock_holder holder = {0};
    const char *found = redis_str(redis_at(result, from + 1), NULL);
    struct lock_status status = {.name = name,
                                 .kind = redis_str(redis_at(result, from), NULL),
                                 .held = strcmp(found, "free") != 0,
                                 .fence = redis_int(redis_at(result, from + 2)),
                                 .waiters = waiters_of(locks, name)};
    if (strcmp(found, lock_mode_name(LOCK_MODE_SHARED)) == 0) {
        tell_readers(&status, result, from, listener);
        return;
    }
    if (strcmp(found, "held") == 0) {
        lock_holder_read(&holder, result, from + HEAD);
        status.holders = &holder;
        status.holder_count = 1;
        if (status.kind[0] == '\0') status.kind = lock_kind_name(LOCK_KIND_LOCK); /* a Java service's own */
    } else if (status.held) {
        status.kind = found;
    }
    listener->fn(listener->arg, &status);
    lock_holder_done(&holder);
}

static bool is_in_database(const struct redis_value *result) {
    return strcmp(redis_str(redis_at(result, 0), NULL), lock_kind_name(LOCK_KIND_DATABASE)) == 0;
}

static void on_status(void *arg, const struct redis_value *value, bool sent) {
    struct looking *looking = arg;
    looking->locks->calls--;
    if (value == NULL || is_in_database(redis_at(value, 1))) {
        database_status(looking->locks, looking->name, &looking->listener);
    } else if (redis_type_of(value) == REDIS_ARRAY) {
        status_tell(looking->locks, looking->name, redis_at(value, 1), 0, &looking->listener);
    } else {
        LOG(LOG_ERROR, "lock.status_failed", LOGS("answer", redis_str(value, NULL)));
        looking->listener.fn(looking->listener.arg, NULL);
    }
    free(looking);
}

void locks_status(struct locks *locks, const char *name, lock_status_fn fn, void *arg) {
    struct looking *looking = mem_new(sizeof *looking);
    *looking = (struct looking){.locks = locks, .listener = {fn, arg}};
    (void)text_format(looking->name, sizeof looking->name, "%s", name);
    AUTO_CALL call = call_new(SCRIPT_LOCK_STATUS);
    call_add_key(&call, name);
    locks->calls++;
    call_send(&call, locks->redis, on_status, looking);
}
