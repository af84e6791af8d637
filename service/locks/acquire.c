/* From an ask to its place. */
#include "locks/internal.h"

#include "base/memory.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

struct ask *ask_new(const char *const *names, size_t count) {
    size_t arrays = count * (sizeof(char *) + sizeof(unsigned));
    struct ask *ask = mem_new(sizeof *ask + arrays);
    list_init(&ask->node);
    ask->count = count;
    ask->names = (char **)(ask + 1);
    ask->order = (unsigned *)(ask->names + count);
    for (size_t i = 0; i < count; i++) ask->names[i] = mem_copy(names[i], strlen(names[i]));
    qsort(ask->names, count, sizeof ask->names[0], compare_names);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            if (strcmp(ask->names[i], names[k]) == 0) ask->order[i] = (unsigned)k;
    return ask;
}

static void take_terms(struct ask *ask, const struct ask_terms *terms) {
    ask->received_ms = terms->received_ms;
    ask->wait_until_ms = terms->received_ms + terms->wait_ms;
    ask->slice_until_ms = terms->received_ms + (terms->wait_ms < LOCK_SLICE_MS ? terms->wait_ms : LOCK_SLICE_MS);
    ask->ttl_ms = terms->ttl_ms;
    ask->mode = terms->mode;
    ask->when_down = terms->when_down;
    ask->refusal = ERROR_LOCK_HELD;
    ask->is_here = terms->is_here;
    ask->done = terms->done;
    ask->arg = terms->arg;
}

/* It is tried once, and told this when it would have to wait. */
static void do_not_wait(struct ask *ask, enum error refusal) {
    ask->refusal = refusal;
    ask->wait_until_ms = ask->slice_until_ms = ask->received_ms;
}

/* The newest request decides how long and as whom the token will hold. */
static void renew_terms(struct place *place, const struct ask_terms *terms) {
    place->ttl_ms = terms->ttl_ms;
    place->token_made = terms->token_made;
    place->kind = terms->kind;
    if (place->ask_count == 0 || terms->mode == LOCK_MODE_EXCLUSIVE) place->mode = terms->mode;
    place->permits = terms->permits;
    place->limit = terms->limit;
    (void)text_format(place->owner, sizeof place->owner, "%s", terms->owner);
    free(place->metadata);
    place->metadata = mem_copy(terms->metadata, strlen(terms->metadata));
    place->ticket_until_ms = 0;
}

static void count_waiter(struct locks *locks, struct place *place) {
    if (place->counted) return;
    place->counted = true;
    locks->waiters++;
    metric_add(METRIC_LEASE_WAITING, 0, 1);
    watch_stir(locks, place->queue->name);
}

static bool may_wait(const struct locks *locks, const struct place *place) {
    bool counted = place != NULL && place->counted;
    return counted || locks->waiters < locks->options.waiters_max;
}

/* A token made just now holds nothing, and what is to be known of the name those before it have learned: Redis need not
   be asked until it is the head. */
static bool need_not_look(const struct place *place) {
    const struct queue *queue = place->queue;
    const struct place *first = CONTAINER_OF(queue->places.next, struct place, node);
    return place->token_made && place->counted && place->count == 1 && queue->seen_ms > 0 && first->count == 1 &&
           first->kind == place->kind && place->kind != LOCK_KIND_SEMAPHORE;
}

/* A place that has a new ask: its own queue of all instances, its turn, or a look at how the name stands. */
static void go_on(struct locks *locks, struct place *place, bool is_new) {
    if (kind_ways(place->kind)->lined)
        fair_take(locks, place);
    else if (place->queue->asking == NULL && queue_first(place->queue, place_is_ready) == place)
        turn(locks, place->queue);
    else if (is_new && need_not_look(place))
        place_due(locks, place);
    else
        turn_look(locks, place);
}

void locks_acquire(struct locks *locks, struct ask *ask, const struct ask_terms *terms) {
    take_terms(ask, terms);
    if (!redis_is_up(locks->redis) && !kind_ways(terms->kind)->in_database) {
        ask_down(locks, ask, NULL);
        return;
    }
    struct place *place = place_find(locks->queues, terms->holder, ask->names, ask->count);
    bool is_new = place == NULL, waits = terms->wait_ms > 0;
    if (place != NULL && place->ask_count >= PLACE_ASKS_MAX) {
        struct lock_answer answer = answer_new(ERROR_TOO_MANY_WAITERS);
        ask_answer(ask, &answer);
        return;
    }
    if (waits && locks->draining) do_not_wait(ask, ERROR_UNAVAILABLE);
    if (waits && !locks->draining && !may_wait(locks, place)) do_not_wait(ask, ERROR_TOO_MANY_WAITERS);
    if (place == NULL) place = place_new(locks->queues, terms->holder, ask->names, ask->count);
    place->locks = locks;
    place->queue->locks = locks;
    if (ask->wait_until_ms > ask->received_ms) count_waiter(locks, place);
    renew_terms(place, terms);
    place_add_ask(place, ask);
    go_on(locks, place, is_new);
}

void locks_abandon(struct locks *locks, struct ask *ask) {
    struct place *place = ask->place;
    if (place != NULL)
        place_drop_ask(place, ask);
    else
        list_remove(&ask->node); /* granted, and replicas are asked */
    for (size_t i = 0; i < ask->count; i++) free(ask->names[i]);
    free(ask);
    metric_add(METRIC_LEASE_ABANDONED, 0, 1);
    if (place != NULL) place_settle(locks, place);
}
