#include "locks/internal.h"

#include "base/fault.h"
#include "base/memory.h"
#include "codec/digest.h"
#include "metrics/metrics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void lock_holder_of(const char *credential, const char *token, char out[LOCK_HOLDER_SIZE]) {
    size_t token_len = fault_on(FAULT_NO_HOLDER_CHECK) ? 0 : strlen(token);
    const struct digest_part parts[] = {{credential, strlen(credential)}, {token, token_len}};
    unsigned char digest[DIGEST_SIZE];
    digest_parts(parts, 2, digest);
    text_hex(digest, sizeof digest, out);
}

int64_t not_after_ms(const struct locks *locks) {
    if (fault_on(FAULT_NO_NOT_AFTER)) return INT64_MAX / 1000;
    return redis_now_ms(locks->redis) + locks->options.redis_timeout_ms + NOT_AFTER_SLACK_MS;
}

/* -- what scripts take and tell */

void call_add_fence(struct call *call, int64_t fence) {
    if (fence == 0 || fault_on(FAULT_NO_FENCE_CHECK))
        call_add_str(call, "");
    else
        call_add_i64(call, fence);
}

static const struct {
    const char *word;
    unsigned label; /* of METRIC_LEASE_LOST */
} reasons[] = {{"expired", 0}, {"forced", 1}, {"vanished", 2}, {"released", 3}, {"superseded", 4}, {"unknown", 5}};
#define REASON_UNKNOWN 5 /* the last */

static unsigned reason_of(const char *word) {
    unsigned i = 0;
    while (i < REASON_UNKNOWN && strcmp(reasons[i].word, word) != 0) i++;
    return i;
}

const char *loss_word(const char *word) { return reasons[reason_of(word)].word; }

void count_loss(const struct lock_answer *answer) {
    if (answer->error == ERROR_LEASE_LOST) metric_add(METRIC_LEASE_LOST, reasons[reason_of(answer->reason)].label, 1);
}

const char *loss_reason(const char *word) {
    metric_add(METRIC_LEASE_LOST, reasons[reason_of(word)].label, 1);
    return loss_word(word);
}

/* -- the epoch */

static void turn_one(void *arg, struct queue *queue) { turn(arg, queue); }

/* The queue may be gone after each place. */
static void refuse_one(void *arg, struct queue *queue) {
    struct locks *locks = arg;
    if (queue->asking != NULL) return;
    size_t count = queue->count;
    struct list *node = queue->places.next;
    for (size_t i = 0; i < count; i++) {
        struct place *place = CONTAINER_OF(node, struct place, node);
        node = node->next;
        if (kind_ways(place->kind)->in_database) continue;
        place_down(locks, place, "no epoch for fences is to be had");
    }
}

static void on_fence(void *arg, struct result result) {
    struct locks *locks = arg;
    queues_for_each(locks->queues, failed(result) ? refuse_one : turn_one, locks);
    forces_go_on(locks, !failed(result));
}

/* -- Redis comes and goes */

/* Every ask is answered but those for names in the database; a queue ends with its last place. */
static void end_one(void *arg, struct queue *queue) {
    struct locks *locks = arg;
    size_t count = queue->count;
    struct list *node = queue->places.next;
    for (size_t i = 0; i < count; i++) {
        struct place *place = CONTAINER_OF(node, struct place, node);
        node = node->next;
        if (kind_ways(place->kind)->in_database) continue;
        place->ticket_until_ms = 0;
        place_down(locks, place, NULL);
    }
}

void locks_redis_changed(void *arg, bool up) {
    struct locks *locks = arg;
    if (up) {
        sweep_start(locks);
        rearm_start(locks);
        ahead_start(locks);
        return;
    }
    sweep_stop(locks);
    rearm_stop(locks);
    ahead_stop(locks);
    fence_forget(locks->fence);
    queues_for_each(locks->queues, end_one, locks);
}

/* -- draining */

static void drain_one(void *arg, struct queue *queue) {
    struct locks *locks = arg;
    struct lock_answer answer = answer_new(ERROR_UNAVAILABLE);
    answer.detail = "this instance is stopping: ask again, another will answer";
    answer.retry_after_s = 0;
    size_t count = queue->count;
    struct list *node = queue->places.next;
    for (size_t i = 0; i < count; i++) {
        struct place *place = CONTAINER_OF(node, struct place, node);
        node = node->next;
        place->ticket_until_ms = 0;
        place_refuse(locks, place, &answer);
    }
}

void locks_drain(struct locks *locks) {
    locks->draining = true;
    queues_for_each(locks->queues, drain_one, locks);
    watches_drain(locks->watches);
}

bool locks_is_idle(const struct locks *locks) {
    return queues_count(locks->queues) == 0 && locks->calls == 0 && locks->deliveries == 0 && locks->tellings == 0 &&
           list_empty(&locks->doubts) && fence_is_idle(locks->fence);
}

/* -- life */

struct locks *locks_new(struct loop *loop, struct pool *pool, const struct locks_options *options) {
    struct locks *locks = mem_new(sizeof *locks);
    text_uuid(locks->id);
    locks->loop = loop;
    locks->pool = pool;
    locks->options = *options;
    locks->queues = queues_new();
    locks->watches = watches_new();
    locks->fence = fence_new(pool, on_fence, locks);
    list_init(&locks->leftovers);
    list_init(&locks->doubts);
    list_init(&locks->forces);
    return locks;
}

void locks_use_redis(struct locks *locks, struct redis *redis) {
    locks->redis = redis;
    if (redis != NULL) cycles_listen(locks);
    fence_use_redis(locks->fence, redis);
}

static void end_queue(void *arg, struct queue *queue) {
    struct locks *locks = arg;
    loop_timer_free(queue->timer);
    loop_timer_free(queue->beat_timer);
    lock_holder_done(&queue->holder);
    queue_remove(locks->queues, queue);
}

/* Redis has ended them all. */
static void forget_subscriptions(void *arg, struct queue *queue) {
    queue->subscription = NULL;
    LIST_FOR(node, &queue->places) {
        struct place *place = CONTAINER_OF(node, struct place, node);
        place->subscription = NULL;
        place->lined_up = false; /* and none may be told any more */
        cycles_end(place);
    }
}

struct locks *locks_free(struct locks *locks) {
    if (locks == NULL) return NULL;
    locks->draining = true;
    queues_for_each(locks->queues, forget_subscriptions, locks);
    queues_for_each(locks->queues, drain_one, locks);
    queues_for_each(locks->queues, end_queue, locks);
    delivery_free_all(locks);
    locks->sweep_timer = loop_timer_free(locks->sweep_timer);
    locks->rearm_timer = loop_timer_free(locks->rearm_timer);
    locks->ahead_timer = loop_timer_free(locks->ahead_timer);
    locks->queues = queues_free(locks->queues);
    locks->fence = fence_free(locks->fence);
    locks->watches = watches_free(locks->watches);
    free(locks);
    return NULL;
}
