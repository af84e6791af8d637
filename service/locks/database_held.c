/* Leases in the database for those who hold them, who look, and who take them away. */
#include "locks/database.h"

#include "base/clock.h"
#include "base/memory.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

/* -- renewing and releasing */

struct changing {
    struct db_job job; /* first */
    struct locks *locks;
    struct lease_change change;
    struct lease_changed changed;
    struct result result;
    struct lock_answer answer; /* what is told when the database does not know better */
    int64_t sent_ms;
    lock_done_fn done;
    void *arg;
};

static void run_change(struct db_job *job, struct db *db) {
    struct changing *changing = CONTAINER_OF(job, struct changing, job);
    changing->result = leases_change(db, &changing->change, &changing->changed);
}

static void answer_change(struct changing *changing, struct lock_answer *answer) {
    const struct lease_changed *changed = &changing->changed;
    int64_t ttl_ms = changing->change.ttl_ms;
    *answer = answer_new(changed->done ? ERROR_NONE : ERROR_LEASE_LOST);
    answer->outcome = LOCK_DONE;
    answer->safety = LOCK_SAFETY_DATABASE;
    answer->fences = &changed->fence;
    answer->owner = changed->owner;
    answer->kind = lock_kind_name(LOCK_KIND_LOCK);
    answer->ttl_ms = ttl_ms;
    answer->safe_for_ms = lock_safe_for_ms(ttl_ms, clock_mono_ms() - changing->sent_ms);
    if (changed->done) return;
    answer->reason = loss_word(changed->reason);
    answer->other_since_ms = changed->other_since_ms;
}

static void on_changed(struct db_job *job) {
    struct changing *changing = CONTAINER_OF(job, struct changing, job);
    struct locks *locks = changing->locks;
    const struct lease_changed *changed = &changing->changed;
    bool answered = !failed(job->connection) && !failed(changing->result);
    bool was_done = answered && changed->done && changed->fence > 0;
    bool was_released = was_done && changing->change.ttl_ms == 0;
    locks->calls--;
    if (answered && changed->is_known) answer_change(changing, &changing->answer);
    if (!answered) changing->answer = answer_new(ERROR_LOCK_STORE_DOWN);
    count_loss(&changing->answer);
    changing->done(changing->arg, &changing->answer);
    if (was_released) {
        metric_observe(METRIC_LEASE_HOLD, 0, changed->held_ms * 1000);
        database_wake(locks, changing->change.name);
    } else if (was_done) {
        database_keep_bound(locks, changing->change.name, changing->change.ttl_ms);
    }
    free(changing);
}

bool database_change(struct locks *locks, const struct grant_ref *ref, int64_t ttl_ms, const struct lock_answer *answer,
                     lock_done_fn done, void *arg) {
    bool is_unknown = answer->error == ERROR_LEASE_LOST && strcmp(answer->reason, "unknown") == 0;
    bool may_be_here = ref != NULL && (answer->error == ERROR_LOCK_STORE_DOWN || is_unknown);
    if (!may_be_here || ref->kind != LOCK_KIND_LOCK) return false;
    struct changing *changing = mem_new(sizeof *changing);
    *changing = (struct changing){.job = {.run = run_change, .done = on_changed},
                                  .locks = locks,
                                  .answer = *answer,
                                  .sent_ms = clock_mono_ms(),
                                  .done = done,
                                  .arg = arg};
    database_change_of(&changing->change, ref, ttl_ms);
    locks->calls++;
    if (pool_submit_read(locks->pool, &changing->job)) return true;
    locks->calls--;
    free(changing);
    return false;
}

/* -- looking */

struct peeking {
    struct db_job job; /* first */
    struct locks *locks;
    struct status_listener listener;
    char name[LOCK_NAME_MAX + 1];
    struct lease lease;
    struct result result;
};

static void run_peek(struct db_job *job, struct db *db) {
    struct peeking *peeking = CONTAINER_OF(job, struct peeking, job);
    peeking->result = leases_read(db, peeking->name, &peeking->lease);
}

static struct lock_holder holder_of(const struct lease *lease) {
    struct lock_holder holder = {.held = true,
                                 .ours = true,
                                 .fence = lease->fence,
                                 .held_for_ms = lease->held_ms,
                                 .expires_in_ms = lease->left_ms,
                                 .metadata = text_new(0)};
    (void)text_format(holder.owner, sizeof holder.owner, "%s", lease->owner);
    text_add_str(&holder.metadata, lease->metadata);
    return holder;
}

void database_tell(struct locks *locks, const char *name, const struct lease *lease,
                   const struct status_listener *listener) {
    const struct queue *queue = queue_find(locks->queues, name);
    struct lock_holder holder = holder_of(lease);
    const struct lock_status status = {.name = name,
                                       .kind = lock_kind_name(LOCK_KIND_LOCK),
                                       .store = LOCK_SAFETY_DATABASE,
                                       .held = lease->state != LEASE_FREE,
                                       .holders = &holder,
                                       .holder_count = lease->state != LEASE_FREE,
                                       .fence = lease->fence,
                                       .waiters = queue == NULL ? 0 : queue->count};
    listener->fn(listener->arg, &status);
    lock_holder_done(&holder);
}

/* A name that has no row here says nothing: the store that would know it is away. */
static void on_peeked(struct db_job *job) {
    struct peeking *peeking = CONTAINER_OF(job, struct peeking, job);
    peeking->locks->calls--;
    if (failed(job->connection) || failed(peeking->result) || peeking->lease.fence == 0)
        peeking->listener.fn(peeking->listener.arg, NULL);
    else
        database_tell(peeking->locks, peeking->name, &peeking->lease, &peeking->listener);
    free(peeking);
}

void database_status(struct locks *locks, const char *name, const struct status_listener *listener) {
    struct peeking *peeking = mem_new(sizeof *peeking);
    *peeking = (struct peeking){.job = {.run = run_peek, .done = on_peeked}, .locks = locks, .listener = *listener};
    (void)text_format(peeking->name, sizeof peeking->name, "%s", name);
    locks->calls++;
    if (pool_submit_read(locks->pool, &peeking->job)) return;
    locks->calls--;
    listener->fn(listener->arg, NULL);
    free(peeking);
}

/* -- forced */

struct forcing {
    struct db_job job; /* first */
    struct locks *locks;
    lock_forced_fn fn;
    void *arg;
    char name[LOCK_NAME_MAX + 1];
    struct lease lease; /* as it was */
    int64_t fence;
    struct result result;
};

static void run_force(struct db_job *job, struct db *db) {
    struct forcing *forcing = CONTAINER_OF(job, struct forcing, job);
    forcing->result = leases_force(db, forcing->name, &forcing->lease, &forcing->fence);
}

static void tell_forced(const struct forcing *forcing) {
    bool was_held = forcing->lease.state == LEASE_HELD;
    struct lock_holder holder = holder_of(&forcing->lease);
    const struct lock_forced forced = {.holder = was_held ? &holder : NULL, .fence = forcing->fence};
    if (was_held) metric_add(METRIC_LEASE_FORCED, 0, 1);
    forcing->fn(forcing->arg, &forced);
    lock_holder_done(&holder);
    database_wake(forcing->locks, forcing->name);
}

static void on_forced(struct db_job *job) {
    struct forcing *forcing = CONTAINER_OF(job, struct forcing, job);
    forcing->locks->calls--;
    if (failed(job->connection) || failed(forcing->result) || forcing->fence == 0)
        forcing->fn(forcing->arg, NULL);
    else
        tell_forced(forcing);
    free(forcing);
}

void database_force(struct locks *locks, const char *name, lock_forced_fn fn, void *arg) {
    struct forcing *forcing = mem_new(sizeof *forcing);
    *forcing = (struct forcing){.job = {.run = run_force, .done = on_forced}, .locks = locks, .fn = fn, .arg = arg};
    (void)text_format(forcing->name, sizeof forcing->name, "%s", name);
    locks->calls++;
    if (pool_submit_read(locks->pool, &forcing->job)) return;
    locks->calls--;
    fn(arg, NULL);
    free(forcing);
}
