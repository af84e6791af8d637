/* Twins: requests with one Idempotency-Key at the same time. The first leads; the others wait for its answer without a
 * place in the queue. */
#include "domain/decide.h"
#include "facade/answer.h"
#include "facade/internal.h"

#include <string.h>

#define TWIN_WAIT_MS 2000 /* then IDM-003 */

static struct rider **bucket_of(struct facade *facade, const struct rider *rider) {
    uint32_t hash;
    memcpy(&hash, rider->key_hash, sizeof hash); /* a SHA-256 needs no further mixing */
    return &facade->twins[hash % TWIN_BUCKETS];
}

bool twins_join(struct facade *facade, struct rider *rider) {
    if (!rider->has_key) return false;
    struct rider **bucket = bucket_of(facade, rider);
    for (struct rider *leader = *bucket; leader != NULL; leader = leader->twin_next) {
        if (memcmp(leader->key_hash, rider->key_hash, sizeof rider->key_hash) != 0) continue;
        list_push(&leader->followers, &rider->node);
        return true;
    }
    rider->leads = true;
    rider->twin_next = *bucket;
    *bucket = rider;
    return false;
}

static void unlink_leader(struct facade *facade, struct rider *rider) {
    struct rider **link = bucket_of(facade, rider);
    while (*link != rider) link = &(*link)->twin_next;
    *link = rider->twin_next;
    rider->leads = false;
}

/* Same command: the leader's answer again. Another: told so. */
static void answer_like(struct facade *facade, struct rider *follower, const struct rider *leader) {
    if (memcmp(follower->fingerprint, leader->fingerprint, sizeof leader->fingerprint) != 0) {
        facade_refuse(facade, follower, ERROR_IDEMPOTENCY_REUSED, NULL, NULL);
        return;
    }
    struct answer *answer = &follower->answer;
    text_done(&answer->body);
    *answer = leader->answer;
    answer->body = text_new(0);
    text_add(&answer->body, leader->answer.body.data, leader->answer.body.len);
    answer->replayed = true;
    facade_finish(facade, follower);
}

void twins_leave(struct facade *facade, struct rider *rider) {
    if (!rider->leads) return;
    unlink_leader(facade, rider);
    struct list followers;
    list_init(&followers);
    list_move_all(&followers, &rider->followers);
    /* Is the answer in the database? */
    bool stands = rider->answer.replayed || (rider->stores && decision_is_stored(rider->answer.error));
    struct list *node;
    while ((node = list_pop(&followers)) != NULL) {
        struct rider *follower = CONTAINER_OF(node, struct rider, node);
        facade->queued--;
        if (stands)
            answer_like(facade, follower, rider);
        else
            facade_submit(facade, follower); /* nothing was kept: it is a request like any other now */
    }
}

static void sweep_followers(struct facade *facade, struct rider *leader, int64_t now_ms) {
    LIST_FOR_SAFE(node, &leader->followers) {
        struct rider *follower = CONTAINER_OF(node, struct rider, node);
        if (now_ms - follower->arrived_us / 1000 < TWIN_WAIT_MS) continue;
        list_remove(node);
        facade->queued--;
        facade_refuse(facade, follower, ERROR_IN_PROGRESS, NULL, NULL);
    }
}

static void sweep_list(struct facade *facade, const struct list *riders, int64_t now_ms) {
    LIST_FOR(node, riders) sweep_followers(facade, CONTAINER_OF(node, struct rider, node), now_ms);
}

void twins_sweep(struct facade *facade, int64_t now_ms) {
    sweep_list(facade, &facade->queue, now_ms);
    sweep_list(facade, &facade->lookup_queue, now_ms);
    sweep_list(facade, &facade->lookups, now_ms);
    LIST_FOR(node, &facade->trains) sweep_list(facade, &CONTAINER_OF(node, struct train, node)->riders, now_ms);
}
