/* Semaphores for those who look, and for those who say how many permits there are. They are taken, renewed and released
   as locks are, by scripts of their own (kinds.c). */
#include "locks/internal.h"

#include "base/log.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define HEAD 7 /* elements before the holders */

static bool says(const struct redis_value *value, const char *word) {
    return strcmp(redis_str(redis_at(value, 1), NULL), word) == 0;
}

static bool is_answer(const struct redis_value *value, const char *event) {
    if (redis_type_of(value) == REDIS_ARRAY) return true;
    if (value != NULL) LOG(LOG_ERROR, event, LOGS("answer", redis_str(value, NULL)));
    return false;
}

/* -- looking */

struct looking {
    struct locks *locks;
    struct semaphore_listener listener;
    char name[LOCK_NAME_MAX + 1];
};

/* Ours, and all others as one. The array is the caller's to end. */
static struct semaphore_holder *read_holders(const struct redis_value *value, size_t *ret_count) {
    size_t ours = redis_len(value) > HEAD ? redis_len(value) - HEAD : 0;
    struct semaphore_holder *holders = mem_array(ours + 1, sizeof holders[0]);
    for (size_t i = 0; i < ours; i++) {
        const struct redis_value *entry = redis_at(value, HEAD + i);
        lock_holder_read(&holders[i].lock, entry, 0);
        holders[i].permits = redis_int(redis_at(entry, 5));
    }
    int64_t others = redis_int(redis_at(value, HEAD - 1));
    holders[ours] =
        (struct semaphore_holder){.lock = {.held = true, .held_for_ms = -1, .expires_in_ms = -1}, .permits = others};
    *ret_count = others > 0 ? ours + 1 : ours;
    return holders;
}

bool semaphore_is_told(const struct redis_value *value) {
    return strcmp(redis_str(redis_at(value, 2), NULL), lock_kind_name(LOCK_KIND_SEMAPHORE)) == 0;
}

void semaphore_tell(struct locks *locks, const char *name, const struct redis_value *value,
                    const struct semaphore_listener *listener) {
    const struct queue *queue = queue_find(locks->queues, name);
    const char *found = redis_str(redis_at(value, 2), NULL);
    struct semaphore_status status = {.name = name,
                                      .kind = redis_str(redis_at(value, 1), NULL),
                                      .exists = semaphore_is_told(value),
                                      .fence = redis_int(redis_at(value, 3)),
                                      .limit = redis_int(redis_at(value, 4)),
                                      .available = redis_int(redis_at(value, 5)),
                                      .waiters = queue == NULL ? 0 : queue->count};
    if (!status.exists && strcmp(found, "none") != 0) status.kind = found;
    struct semaphore_holder *holders = read_holders(value, &status.holder_count);
    status.holders = holders;
    listener->fn(listener->arg, &status);
    for (size_t i = 0; i < status.holder_count; i++) lock_holder_done(&holders[i].lock);
    free(holders);
}

static void on_status(void *arg, const struct redis_value *value, bool sent) {
    struct looking *looking = arg;
    looking->locks->calls--;
    if (is_answer(value, "semaphore.status_failed"))
        semaphore_tell(looking->locks, looking->name, value, &looking->listener);
    else
        looking->listener.fn(looking->listener.arg, NULL);
    free(looking);
}

void semaphores_status(struct locks *locks, const char *name, semaphore_status_fn fn, void *arg) {
    struct looking *looking = mem_new(sizeof *looking);
    *looking = (struct looking){.locks = locks, .listener = {fn, arg}};
    (void)text_format(looking->name, sizeof looking->name, "%s", name);
    AUTO_CALL call = call_new(SCRIPT_SEMAPHORE_STATUS);
    call_add_key(&call, name);
    call_add_i64(&call, SEMAPHORE_HOLDERS_MAX);
    locks->calls++;
    call_send(&call, locks->redis, on_status, looking);
}

/* -- the limit */

struct limiting {
    struct locks *locks;
    lock_done_fn done;
    void *arg;
};

static struct lock_answer read_limited(const struct redis_value *value) {
    if (!is_answer(value, "semaphore.limit_failed")) return answer_new(ERROR_LOCK_STORE_DOWN);
    if (says(value, "done")) return answer_new(ERROR_NONE);
    struct lock_answer answer = answer_new(says(value, "kind") ? ERROR_LOCK_KIND : ERROR_NOT_FOUND);
    answer.kind = redis_str(redis_at(value, 2), NULL);
    return answer;
}

static void on_limited(void *arg, const struct redis_value *value, bool sent) {
    struct limiting *limiting = arg;
    limiting->locks->calls--;
    const struct lock_answer answer = read_limited(value);
    limiting->done(limiting->arg, &answer);
    free(limiting);
}

void semaphores_limit(struct locks *locks, const char *name, int64_t limit, lock_done_fn done, void *arg) {
    struct limiting *limiting = mem_new(sizeof *limiting);
    *limiting = (struct limiting){.locks = locks, .done = done, .arg = arg};
    AUTO_CALL call = call_new(SCRIPT_SEMAPHORE_LIMIT);
    call_add_key(&call, name);
    call_add_i64(&call, limit);
    locks->calls++;
    call_send(&call, locks->redis, on_limited, limiting);
}
