/* The asks of a place: how long each waits, and what it is told.

   An ask waits until wait_until, in slices: at slice_until it is answered 423 when its wait is over, else 202, and the
   place then keeps a ticket for LOCK_TICKET_MS. While the place's acquire is on its way nobody of it is refused: the
   answer may be a grant. */
#include "locks/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

struct lock_answer answer_new(enum error error) {
    return (struct lock_answer){.error = error, .retry_after_s = -1};
}

void ask_answer(struct ask *ask, const struct lock_answer *answer) {
    struct lock_answer own = *answer;
    own.waited_ms = clock_mono_ms() - ask->received_ms;
    ask->done(ask->arg, &own);
    for (size_t i = 0; i < ask->count; i++) free(ask->names[i]);
    free(ask);
}

/* -- life */

static void stop_counting(struct locks *locks) {
    locks->waiters--;
    metric_add(METRIC_LEASE_WAITING, 0, -1);
}

static void forget(struct locks *locks, struct place *place) {
    struct queue *queue = place->queue;
    if (place->counted) stop_counting(locks);
    watch_stir(locks, queue->name);
    fair_step_out(locks, place);
    place_leave(locks->queues, place);
    place_free(place);
    queue_settle(locks, queue);
}

void place_settle(struct locks *locks, struct place *place) {
    if (place->ask_count == 0) cycles_forget(place);
    if (place->ask_count > 0 || place->calls > 0 || place->ticket_until_ms > 0) return;
    forget(locks, place);
}

struct ask *place_take_ask(struct place *place) {
    if (list_empty(&place->asks)) return NULL;
    struct ask *ask = CONTAINER_OF(place->asks.next, struct ask, node);
    place_drop_ask(place, ask);
    return ask;
}

void place_refuse(struct locks *locks, struct place *place, const struct lock_answer *answer) {
    struct ask *ask;
    while ((ask = place_take_ask(place)) != NULL) ask_answer(ask, answer);
    place_settle(locks, place);
}

/* -- the store is away */

void ask_down(struct locks *locks, struct ask *ask, const char *detail) {
    bool open =
        ask->when_down == LOCK_DOWN_OPEN || (ask->when_down == LOCK_DOWN_DEFAULT && locks->options.open_when_down);
    struct lock_answer answer = answer_new(open ? ERROR_NONE : ERROR_LOCK_STORE_DOWN);
    answer.detail = detail;
    if (open) {
        answer.outcome = LOCK_GRANTED;
        answer.safety = LOCK_SAFETY_NONE;
        answer.ttl_ms = ask->ttl_ms;
        answer.mode = ask->mode;
        answer.safe_for_ms = lock_safe_for_ms(ask->ttl_ms, 0);
        metric_add(METRIC_LEASE_DEGRADED, 0, 1);
    }
    ask_answer(ask, &answer);
}

void place_down(struct locks *locks, struct place *place, const char *detail) {
    struct ask *ask;
    while ((ask = place_take_ask(place)) != NULL) ask_down(locks, ask, detail);
    place_settle(locks, place);
}

/* -- the token itself reads */

void place_refuse_writers(struct place *place) {
    struct lock_holder holder = place->queue->holder;
    LIST_FOR_SAFE(node, &place->asks) {
        struct ask *ask = CONTAINER_OF(node, struct ask, node);
        if (ask->mode != LOCK_MODE_EXCLUSIVE) continue;
        struct lock_answer answer = answer_new(ERROR_LOCK_HELD);
        answer.holder = &holder;
        answer.name = place->queue->name;
        answer.retry_ms = RETRY_MS_MAX;
        answer.detail = "the token itself holds it shared: release that first";
        place_drop_ask(place, ask);
        ask_answer(ask, &answer);
    }
}

void place_refuse_own(struct locks *locks, struct place *place) {
    place_refuse_writers(place);
    place->mode = LOCK_MODE_SHARED;
    place_settle(locks, place);
}

/* -- time */

static void tell_held(struct place *place, struct ask *ask, int64_t now_ms) {
    const struct queue *queue = place->queue;
    struct lock_answer answer = answer_new(ask->refusal);
    struct lock_holder holder = queue->holder;
    int64_t age_ms = now_ms - queue->seen_ms;
    if (holder.held_for_ms >= 0) holder.held_for_ms += age_ms;
    if (holder.expires_in_ms >= 0)
        holder.expires_in_ms = holder.expires_in_ms > age_ms ? holder.expires_in_ms - age_ms : 0;
    answer.holder = &holder;
    answer.name = queue->name;
    answer.waiters = queue->count - 1;
    answer.retry_ms =
        holder.expires_in_ms >= 0 && holder.expires_in_ms < RETRY_MS_MAX ? holder.expires_in_ms : RETRY_MS_MAX;
    if (ask->refusal == ERROR_UNAVAILABLE) answer.retry_after_s = 0;
    ask_answer(ask, &answer);
}

static void tell_queued(struct place *place, struct ask *ask, int64_t now_ms) {
    struct lock_answer answer = answer_new(ERROR_NONE);
    answer.outcome = LOCK_QUEUED;
    answer.position = place->rank > 0 ? place->rank : queue_position(place->queue, place);
    answer.retry_ms = LOCK_TICKET_MS;
    place->ticket_until_ms = now_ms + LOCK_TICKET_MS;
    ask_answer(ask, &answer);
}

static void answer_due(struct place *place, int64_t now_ms) {
    LIST_FOR_SAFE(node, &place->asks) {
        struct ask *ask = CONTAINER_OF(node, struct ask, node);
        if (ask->slice_until_ms > now_ms) continue;
        place_drop_ask(place, ask);
        if (ask->wait_until_ms <= now_ms)
            tell_held(place, ask, now_ms);
        else
            tell_queued(place, ask, now_ms);
    }
}

static void on_timer(void *arg) {
    struct place *place = arg;
    place_due(place->locks, place);
}

/* The next moment at which something is due; 0 = none. */
static int64_t next_due_ms(const struct place *place) {
    int64_t due_ms = place->ask_count == 0 ? place->ticket_until_ms : 0;
    LIST_FOR(node, &place->asks) {
        const struct ask *ask = CONTAINER_OF(node, struct ask, node);
        if (due_ms == 0 || ask->slice_until_ms < due_ms) due_ms = ask->slice_until_ms;
    }
    return due_ms;
}

void place_due(struct locks *locks, struct place *place) {
    int64_t now_ms = clock_mono_ms();
    if (place->queue->asking == place || place->asking) return; /* its answer comes first, and then this again */
    answer_due(place, now_ms);
    if (place->ask_count == 0 && place->ticket_until_ms <= now_ms) place->ticket_until_ms = 0;
    int64_t due_ms = next_due_ms(place);
    if (due_ms > 0) {
        if (place->timer == NULL) place->timer = loop_timer_new(locks->loop, on_timer, place);
        loop_timer_start(place->timer, due_ms - now_ms, 0);
    }
    if (place->holds && place->ask_count > 0) cycles_note(locks, place);
    place_settle(locks, place);
}
