/* What a token does with what it holds: renew, release. A release takes the head of the local queue along, so that the
   lock goes from hand to hand in one script call; the reply says whether it did. */
#include "locks/database.h"
#include "locks/internal.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

/* A renewal or a release on its way. */
struct errand {
    struct locks *locks;
    struct place *next;     /* whom the release hands on to; NULL = nobody */
    struct grant_ref *left; /* what is left over should the answer never come */
    int64_t sent_ms, ttl_ms;
    unsigned own; /* our subscription hears the release too */
    lock_done_fn done;
    void *arg;
};

static void finish(struct errand *errand, const struct lock_answer *answer) {
    if (errand->left != NULL && errand->ttl_ms == 0) watch_stir(errand->locks, errand->left->names[0]);
    if (!database_change(errand->locks, errand->left, errand->ttl_ms, answer, errand->done, errand->arg)) {
        count_loss(answer);
        errand->done(errand->arg, answer);
    }
    grant_ref_free(errand->left);
    free(errand);
}

static void finish_down(struct errand *errand) {
    struct lock_answer answer = answer_new(ERROR_LOCK_STORE_DOWN);
    finish(errand, &answer);
}

/* {"lost", reason, since} */
static void lock_answer_lost(struct lock_answer *answer, const struct redis_value *result) {
    *answer = answer_new(ERROR_LEASE_LOST);
    answer->reason = loss_word(redis_str(redis_at(result, 1), NULL));
    answer->other_since_ms = redis_int(redis_at(result, 2));
}

static bool says(const struct redis_value *result, const char *word) {
    return strcmp(redis_str(redis_at(result, 0), NULL), word) == 0;
}

/* The result for the one name; NULL: the store did not answer. */
static const struct redis_value *result_of(const struct redis_value *value) {
    if (redis_type_of(value) == REDIS_ARRAY) return redis_at(value, 1);
    if (value != NULL) LOG(LOG_ERROR, "lock.call_failed", LOGS("answer", redis_str(value, NULL)));
    return NULL;
}

static struct errand *errand_new(struct locks *locks, const struct lock_ref *ref, lock_done_fn done, void *arg) {
    char *name = (char *)ref->name;
    struct errand *errand = mem_new(sizeof *errand);
    *errand = (struct errand){.locks = locks, .done = done, .arg = arg, .sent_ms = clock_mono_ms()};
    errand->left = grant_ref_new(locks, ref->holder, &name, 1);
    errand->left->fence = ref->fence;
    errand->left->kind = ref->kind;
    return errand;
}

/* -- renew */

static void on_renewed(void *arg, const struct redis_value *value, bool sent) {
    struct errand *errand = arg;
    const struct redis_value *result = result_of(value);
    errand->locks->calls--;
    if (result == NULL) {
        finish_down(errand);
        return;
    }
    struct lock_answer answer = answer_new(ERROR_NONE);
    int64_t fence = redis_int(redis_at(result, 1));
    answer.outcome = LOCK_DONE;
    answer.fences = &fence;
    answer.owner = redis_str(redis_at(result, 2), NULL);
    answer.kind = redis_str(redis_at(result, 3), NULL);
    answer.permits = redis_int(redis_at(result, 4));
    answer.mode = mode_read(redis_at(result, 5));
    answer.ttl_ms = errand->ttl_ms;
    answer.safe_for_ms = lock_safe_for_ms(errand->ttl_ms, clock_mono_ms() - errand->sent_ms);
    if (!says(result, "held")) lock_answer_lost(&answer, result);
    finish(errand, &answer);
}

void locks_renew(struct locks *locks, const struct lock_ref *ref, int64_t ttl_ms, lock_done_fn done, void *arg) {
    struct errand *errand = errand_new(locks, ref, done, arg);
    errand->ttl_ms = ttl_ms;
    AUTO_CALL call = call_new(kind_ways(ref->kind)->renew);
    call_add_key(&call, ref->name);
    call_add_str(&call, ref->holder);
    call_add_i64(&call, ttl_ms);
    call_add_fence(&call, ref->fence);
    locks->calls++;
    call_send(&call, locks->redis, on_renewed, errand);
}

/* -- release */

/* What the release did for the next in line. */
static void settle_next(struct errand *errand, const struct redis_value *result) {
    struct locks *locks = errand->locks;
    struct place *next = errand->next;
    if (next == NULL) return;
    next->calls--;
    if (says(result, "handed")) {
        int64_t fence = redis_int(redis_at(result, 3));
        struct grant grant = {.fences = &fence, .sent_ms = errand->sent_ms, .is_new = true};
        grant.left_ms = redis_int(redis_at(result, 4));
        grant.mode = mode_read(redis_at(result, 5));
        metric_add(METRIC_LEASE_HANDOVERS, 0, 1);
        turn_granted(locks, next, &grant, true);
        return;
    }
    bool is_free = says(result, "released");
    bool others = is_free && redis_int(redis_at(result, 1)) > errand->own;
    turn_not_handed(locks, next, is_free, others);
}

static void on_no_answer(struct errand *errand, enum unanswered how) {
    struct place *next = errand->next;
    if (how == UNANSWERED_LOST) {
        grant_leave(errand->left);
        errand->left = NULL;
    }
    if (next != NULL) {
        next->calls--;
        grant_settle(grant_ref_of(errand->locks, next), how);
        turn_not_handed(errand->locks, next, false, false);
    }
    finish_down(errand);
}

static void on_released(void *arg, const struct redis_value *value, bool sent) {
    struct errand *errand = arg;
    const struct redis_value *result = result_of(value);
    errand->locks->calls--;
    if (result == NULL) {
        on_no_answer(errand, unanswered_how(value, sent));
        return;
    }
    struct lock_answer answer = answer_new(ERROR_NONE);
    answer.outcome = LOCK_DONE;
    if (says(result, "lost")) lock_answer_lost(&answer, result);
    if (says(result, "released") || says(result, "handed"))
        metric_observe(METRIC_LEASE_HOLD, 0, redis_int(redis_at(result, 2)) * 1000);
    settle_next(errand, result);
    finish(errand, &answer);
}

/* Whom the lock can be handed to: the head, when it is here, waits for this name alone and nothing speaks for it. */
static struct place *next_in_line(struct locks *locks, struct queue *queue) {
    if (queue == NULL || fault_on(FAULT_NO_HANDOVER) || queue->asking != NULL || fence_marker(locks->fence) == NULL ||
        !redis_is_up(locks->redis))
        return NULL;
    struct place *head = queue_first(queue, place_is_ready);
    return head != NULL && head->count == 1 && !head->asking ? head : NULL;
}

static void add_next(struct call *call, struct errand *errand, struct queue *queue) {
    errand->next = next_in_line(errand->locks, queue);
    if (errand->next == NULL) return;
    queue->asking = errand->next;
    errand->next->calls++;
    call_add_str(call, "next");
    text_uuid(errand->next->grant);
    call_add_terms(call, errand->locks, errand->next, errand->next->grant);
    /* A turn that was left to others and not taken is left again, for longer, until it is taken or nobody listens. */
    bool yields = queue->handoffs >= HANDOFFS_MAX || queue->yield_ms > 0;
    call_add_i64(call, yields && !fault_on(FAULT_NO_YIELD));
    call_add_str(call, lock_mode_name(errand->next->mode));
    call_add_str(call, errand->locks->id);
}

void locks_release(struct locks *locks, const struct lock_ref *ref, lock_done_fn done, void *arg) {
    struct errand *errand = errand_new(locks, ref, done, arg);
    struct queue *queue = queue_find(locks->queues, ref->name);
    errand->own = queue != NULL && queue->subscription != NULL && redis_subscription_is_live(queue->subscription);
    AUTO_CALL call = call_new(kind_ways(ref->kind)->release);
    call_add_key(&call, ref->name);
    call_add_str(&call, ref->holder);
    call_add_fence(&call, ref->fence);
    call_add_str(&call, "");
    call_add_i64(&call, errand->own);
    add_next(&call, errand, queue);
    locks->calls++;
    call_send(&call, locks->redis, on_released, errand);
}
