/* From a grant to those who asked for it.

       granted ──▶ told                                              when no replica is waited for, or Redis is not the
   store └──▶ replicas are asked ──acknowledged──▶ told └──too few──▶ given back, LCK-003

   Meanwhile its asks stand in no place; one that is abandoned leaves the list. In the queue the name counts as held. A
   repeated grant is waited for like a new one, but not given back: its token was told of it before, or is about to be.
 */
#include "locks/internal.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/memory.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

struct telling {
    struct locks *locks;
    struct list asks;
    struct grant grant;
    enum lock_safety safety;
    bool token_made;
    struct grant_ref *ref; /* of a new grant */
    int64_t *fences;       /* own copy of those of the grant; NULL: borrowed */
};

static struct ask *take_first(struct telling *telling) {
    struct list *node = list_pop(&telling->asks);
    return node != NULL ? CONTAINER_OF(node, struct ask, node) : NULL;
}

static size_t count_asks(const struct telling *telling) {
    size_t count = 0;
    LIST_FOR(node, &telling->asks) count++;
    return count;
}

static void fences_for(const struct ask *ask, const int64_t *fences, int64_t *out) {
    for (size_t i = 0; i < ask->count; i++) out[ask->order[i]] = fences[i];
}

static void tell(struct telling *telling) {
    int64_t ordered[LOCK_SET_MAX];
    const struct grant *grant = &telling->grant;
    size_t count = count_asks(telling);
    struct lock_answer answer = answer_new(ERROR_NONE);
    answer.outcome = grant->is_new ? LOCK_GRANTED : LOCK_REPEATED;
    answer.safety = telling->safety;
    answer.permits = grant->permits;
    answer.mode = grant->mode;
    answer.fences = ordered;
    answer.ttl_ms = grant->left_ms;
    answer.safe_for_ms = lock_safe_for_ms(grant->left_ms, clock_mono_ms() - grant->sent_ms);
    if (grant->is_new && count > 0)
        answer.delivery = delivery_new(telling->ref, telling->token_made, count);
    else if (grant->is_new)
        grant_undo(telling->ref, telling->token_made);
    struct ask *ask;
    while ((ask = take_first(telling)) != NULL) {
        metric_observe(METRIC_LEASE_WAIT, 0, (clock_mono_ms() - ask->received_ms) * 1000);
        metric_add(METRIC_LEASE_GRANTS, answer.outcome == LOCK_REPEATED, 1);
        fences_for(ask, grant->fences, ordered);
        ask_answer(ask, &answer);
        answer.outcome = LOCK_REPEATED;
    }
}

/* -- replicas */

static void take_back(struct telling *telling) {
    struct lock_answer answer = answer_new(ERROR_LOCK_STORE_DOWN);
    answer.detail = telling->ref != NULL
                        ? "too few replicas acknowledged the grant in time: it was given back"
                        : "too few replicas acknowledged in time; the token may hold it: ask again, or release it";
    metric_add(METRIC_LEASE_UNREPLICATED, 0, 1);
    if (telling->ref != NULL) grant_give_back(telling->ref);
    struct ask *ask;
    while ((ask = take_first(telling)) != NULL) ask_answer(ask, &answer);
}

static void on_replicated(void *arg, bool acknowledged) {
    struct telling *telling = arg;
    telling->locks->tellings--;
    if (acknowledged)
        tell(telling);
    else
        take_back(telling);
    free(telling->fences);
    free(telling);
}

static void await_replicas(struct telling *given, size_t fences) {
    struct telling *telling = mem_new(sizeof *telling);
    *telling = *given;
    list_init(&telling->asks);
    list_move_all(&telling->asks, &given->asks);
    telling->fences = mem_array(fences, sizeof telling->fences[0]);
    memcpy(telling->fences, given->grant.fences, fences * sizeof telling->fences[0]);
    telling->grant.fences = telling->fences;
    telling->locks->tellings++;
    redis_await_replicas(telling->locks->redis, on_replicated, telling);
}

void place_granted(struct locks *locks, struct place *place, const struct grant *grant) {
    bool in_database = kind_ways(place->kind)->in_database;
    struct telling telling = {.locks = locks, .grant = *grant, .token_made = place->token_made};
    telling.safety = in_database ? LOCK_SAFETY_DATABASE : LOCK_SAFETY_REDIS;
    list_init(&telling.asks);
    place->lined_up = false; /* its place in Redis became the grant */
    if (grant->mode == LOCK_MODE_SHARED) place_refuse_writers(place);
    for (size_t i = 0; i < place->count; i++) watch_stir(locks, place->names[i]);
    if (grant->is_new) telling.ref = grant_ref_of(locks, place);
    struct ask *ask;
    while ((ask = place_take_ask(place)) != NULL) list_push(&telling.asks, &ask->node);
    if (!in_database && redis_has_replicas(locks->redis) && !fault_on(FAULT_NO_REPLICA_WAIT))
        await_replicas(&telling, place->count);
    else
        tell(&telling);
    place->ticket_until_ms = 0;
    if (grant->is_new && !place->token_made) cycles_holds_more(locks, place->holder);
    place_settle(locks, place);
}
