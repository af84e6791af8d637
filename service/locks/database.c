#include "locks/database.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "metrics/metrics.h"
#include "store/leases.h"

#include <stdlib.h>
#include <string.h>

#define BOUND_FREE_MS 1    /* a free name is bound for a day, and this */
#define UNDO_AGAIN_MS 1000 /* while the database is away */

/* -- Redis is told */

struct binding {
    struct locks *locks;
    void (*bound)(struct binding *binding, const char *other_kind); /* NULL kind: bound, or Redis is away */
    struct place *place;
    struct lease lease;
    int64_t sent_ms;
};

static void on_bound(void *arg, const struct redis_value *value, bool sent) {
    struct binding *binding = arg;
    bool answered = redis_type_of(value) == REDIS_ARRAY;
    const char *word = redis_str(redis_at(value, 1), NULL);
    binding->locks->calls--;
    if (value != NULL && !answered) LOG(LOG_ERROR, "lock.bind_failed", LOGS("answer", redis_str(value, NULL)));
    if (binding->bound != NULL) binding->bound(binding, answered && strcmp(word, "bound") != 0 ? word : NULL);
    free(binding);
}

/* Redis is NULL while the process ends. */
static void bind(struct binding *binding, const char *name, int64_t ms, bool is_free) {
    if (binding->locks->redis == NULL) {
        binding->locks->calls++;
        on_bound(binding, NULL, false);
        return;
    }
    AUTO_CALL call = call_new(SCRIPT_LOCK_BIND);
    call_add_key(&call, name);
    call_add_i64(&call, ms);
    call_add_i64(&call, is_free);
    binding->locks->calls++;
    call_send(&call, binding->locks->redis, on_bound, binding);
}

void database_keep_bound(struct locks *locks, const char *name, int64_t ms) {
    struct binding *binding = mem_new(sizeof *binding);
    binding->locks = locks;
    bind(binding, name, ms, false);
}

void database_wake(struct locks *locks, const char *name) {
    struct queue *queue = queue_find(locks->queues, name);
    if (queue != NULL) turn(locks, queue);
    watch_stir(locks, name);
    struct binding *binding = mem_new(sizeof *binding);
    binding->locks = locks;
    bind(binding, name, BOUND_FREE_MS, true);
}

/* -- undoing */

struct undoing {
    struct db_job job; /* first */
    struct grant_ref *ref;
    struct lease_change change;
    struct lease_changed changed;
    struct result result;
    struct loop_timer *timer;
    int64_t until_ms;
};

static void undo(struct undoing *undoing);

static void on_undo_time(void *arg) { undo(arg); }

static void run_undo(struct db_job *job, struct db *db) {
    struct undoing *undoing = CONTAINER_OF(job, struct undoing, job);
    undoing->result = leases_change(db, &undoing->change, &undoing->changed);
}

static void undo_later(struct undoing *undoing) {
    struct locks *locks = undoing->ref->locks;
    if (undoing->timer == NULL) undoing->timer = loop_timer_new(locks->loop, on_undo_time, undoing);
    loop_timer_start(undoing->timer, UNDO_AGAIN_MS, 0);
}

static void end_undo(struct undoing *undoing) {
    undoing->ref->locks->calls--;
    loop_timer_free(undoing->timer);
    grant_ref_free(undoing->ref);
    free(undoing);
}

static void on_undone(struct db_job *job) {
    struct undoing *undoing = CONTAINER_OF(job, struct undoing, job);
    struct locks *locks = undoing->ref->locks;
    bool is_over = locks->draining || clock_mono_ms() >= undoing->until_ms;
    bool no_answer = failed(job->connection) || failed(undoing->result);
    if (no_answer && !is_over) {
        undo_later(undoing);
        return;
    }
    if (!no_answer && undoing->changed.done) database_wake(locks, undoing->change.name);
    end_undo(undoing);
}

static void undo(struct undoing *undoing) {
    undoing->job = (struct db_job){.run = run_undo, .done = on_undone};
    if (pool_submit_read(undoing->ref->locks->pool, &undoing->job)) return;
    if (undoing->ref->locks->draining)
        end_undo(undoing);
    else
        undo_later(undoing);
}

void database_change_of(struct lease_change *change, const struct grant_ref *ref, int64_t ttl_ms) {
    *change = (struct lease_change){.fence = fault_on(FAULT_NO_FENCE_CHECK) ? 0 : ref->fence, .ttl_ms = ttl_ms};
    (void)text_format(change->name, sizeof change->name, "%s", ref->names[0]);
    (void)text_format(change->holder, sizeof change->holder, "%s", ref->holder);
    if (fault_on(FAULT_BLIND_GIVE_BACK)) return;
    (void)text_format(change->grant, sizeof change->grant, "%s", ref->grant);
}

void database_undo(struct grant_ref *ref) {
    struct undoing *undoing = mem_new(sizeof *undoing);
    undoing->ref = ref;
    undoing->until_ms = clock_mono_ms() + LOCK_TTL_MS_MAX;
    database_change_of(&undoing->change, ref, 0);
    ref->locks->calls++;
    undo(undoing);
}

/* -- taking */

struct taking {
    struct db_job job; /* first */
    struct locks *locks;
    struct place *place;
    bool look;
    struct lease_terms terms;
    struct lease lease;
    struct result result;
    int64_t sent_ms;
};

static void run_take(struct db_job *job, struct db *db) {
    struct taking *taking = CONTAINER_OF(job, struct taking, job);
    taking->result = taking->look ? leases_look(db, &taking->terms, &taking->lease)
                                  : leases_take(db, &taking->terms, &taking->lease);
}

/* Its asks are told; the next in the queue asks after a moment. The place may be gone when this returns. */
static void refuse(struct locks *locks, struct place *place, const struct lock_answer *answer) {
    struct queue *queue = place->queue;
    if (queue->asking == place) queue->asking = NULL;
    queue->pinned = true;
    place->ticket_until_ms = 0;
    place_refuse(locks, place, answer);
    queue->pinned = false;
    if (queue->count > 0) turn_wait(locks, queue, 0);
    queue_settle(locks, queue);
}

static void refuse_down(struct locks *locks, struct place *place) {
    struct lock_answer answer = answer_new(ERROR_LOCK_STORE_DOWN);
    answer.detail = "the database, in which this name is kept, is away";
    refuse(locks, place, &answer);
}

static void refuse_kind(struct locks *locks, struct place *place, const char *kind) {
    struct lock_answer answer = answer_new(ERROR_LOCK_KIND);
    answer.kind = kind;
    answer.name = place->names[0];
    refuse(locks, place, &answer);
}

static struct grant grant_of(const struct lease *lease, int64_t sent_ms) {
    return (struct grant){.fences = &lease->fence,
                          .left_ms = lease->left_ms,
                          .sent_ms = sent_ms,
                          .is_new = lease->state == LEASE_GRANTED};
}

static void on_grant_bound(struct binding *binding, const char *other_kind) {
    struct locks *locks = binding->locks;
    struct place *place = binding->place;
    place->calls--;
    if (other_kind != NULL) {
        database_undo(grant_ref_of(locks, place));
        refuse_kind(locks, place, other_kind);
        return;
    }
    const struct grant grant = grant_of(&binding->lease, binding->sent_ms);
    turn_granted(locks, place, &grant, false);
}

static void bind_grant(struct locks *locks, struct place *place, const struct lease *lease, int64_t sent_ms) {
    struct binding *binding = mem_new(sizeof *binding);
    *binding =
        (struct binding){.locks = locks, .bound = on_grant_bound, .place = place, .lease = *lease, .sent_ms = sent_ms};
    place->calls++;
    bind(binding, place->names[0], lease->left_ms > 0 ? lease->left_ms : BOUND_FREE_MS, false);
}

static void note_holder(struct queue *queue, const struct lease *lease) {
    bool is_held = lease->state == LEASE_HELD;
    lock_holder_done(&queue->holder);
    queue->holder = (struct lock_holder){.held = is_held,
                                         .ours = is_held,
                                         .fence = lease->fence,
                                         .held_for_ms = is_held ? lease->held_ms : -1,
                                         .expires_in_ms = is_held ? lease->left_ms : -1,
                                         .metadata = text_new(0)};
    (void)text_format(queue->holder.owner, sizeof queue->holder.owner, "%s", lease->owner);
    text_add_str(&queue->holder.metadata, lease->metadata);
    queue->seen_ms = clock_mono_ms();
}

static void take_answer(struct locks *locks, struct place *place, const struct lease *lease, int64_t sent_ms) {
    struct queue *queue = place->queue;
    if (lease->state == LEASE_GRANTED || lease->state == LEASE_REPEATED) {
        bind_grant(locks, place, lease, sent_ms);
        return;
    }
    note_holder(queue, lease);
    turn_wait(locks, queue, lease->left_ms);
    turn_not_handed(locks, place, false, false);
}

/* From behind: what the head waits for is the head's. */
static void look_answer(struct locks *locks, struct place *place, const struct lease *lease, int64_t sent_ms) {
    struct queue *queue = place->queue;
    queue->pinned = true;
    if (lease->state == LEASE_REPEATED) {
        const struct grant grant = grant_of(lease, sent_ms);
        place_granted(locks, place, &grant);
    } else {
        note_holder(queue, lease);
        place_due(locks, place);
    }
    queue->pinned = false;
    queue_settle(locks, queue);
}

static void on_taken(struct db_job *job) {
    struct taking *taking = CONTAINER_OF(job, struct taking, job);
    struct locks *locks = taking->locks;
    struct place *place = taking->place;
    locks->calls--;
    place->calls--;
    if (taking->look && place->queue->asking == place) {
        /* it has become the head: what it is given is told by its own take */
    } else if (locks->redis == NULL) {
        place->ticket_until_ms = 0; /* the process ends, and nobody is there to be told */
    } else if (failed(job->connection) || failed(taking->result)) {
        if (!failed(job->connection) && !taking->look) database_undo(grant_ref_of(locks, place));
        refuse_down(locks, place);
    } else if (taking->look) {
        look_answer(locks, place, &taking->lease, taking->sent_ms);
    } else {
        if (taking->lease.state == LEASE_GRANTED) taking->lease.left_ms = taking->terms.ttl_ms; /* it has just begun */
        take_answer(locks, place, &taking->lease, taking->sent_ms);
    }
    free(taking);
}

static void take_terms(struct lease_terms *terms, const struct place *place) {
    terms->ttl_ms = place->ttl_ms;
    (void)text_format(terms->name, sizeof terms->name, "%s", place->names[0]);
    (void)text_format(terms->holder, sizeof terms->holder, "%s", place->holder);
    (void)text_format(terms->grant, sizeof terms->grant, "%s", place->grant);
    (void)text_format(terms->owner, sizeof terms->owner, "%s", place->owner);
    (void)text_format(terms->metadata, sizeof terms->metadata, "%s", place->metadata);
}

void database_take(struct locks *locks, struct place *place, bool look) {
    struct taking *taking = mem_new(sizeof *taking);
    taking->job = (struct db_job){.run = run_take, .done = on_taken};
    taking->locks = locks;
    taking->place = place;
    taking->look = look;
    taking->sent_ms = clock_mono_ms();
    if (!look) text_uuid(place->grant);
    take_terms(&taking->terms, place);
    if (look) taking->terms.grant[0] = '\0';
    locks->calls++;
    place->calls++;
    if (pool_submit_read(locks->pool, &taking->job)) return;
    locks->calls--;
    place->calls--;
    free(taking);
    refuse_down(locks, place);
}
