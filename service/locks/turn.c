/* The heads of queues.

        waiting ──message, time, release, new head──▶ asking ──granted──▶ answered, gone; the next head waits
           ▲                                            │ held, not yet
           └────────────────────────────────────────────┘
   A head also becomes holder when a local release hands the lock on (release.c); queue->asking marks both.

   Between the refusal and the message lies a gap: the release may come before the subscription stands. `ready` of the
   subscription asks once more, and polling covers what no message announces. */
#include "locks/database.h"
#include "locks/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

#define CHANNEL_SIZE (LOCK_NAME_MAX + 40)
#define FREE_HOLDS 2 /* element of "free" that tells whether the token holds something */

/* One acquire on its way. */
struct asking {
    struct locks *locks;
    struct place *place;
    int64_t sent_ms;
};

bool place_is_ready(const struct place *place) {
    LIST_FOR(node, &place->asks) {
        const struct ask *ask = CONTAINER_OF(node, struct ask, node);
        if (ask->is_here(ask->arg)) return true;
    }
    return false;
}

/* -- a queue's life */

void queue_settle(struct locks *locks, struct queue *queue) {
    if (queue->count > 0 || queue->asking != NULL || queue->looks > 0 || queue->pinned) return;
    queue->subscription = redis_unsubscribe(queue->subscription);
    queue->timer = loop_timer_free(queue->timer);
    queue->beat_timer = loop_timer_free(queue->beat_timer);
    lock_holder_done(&queue->holder);
    queue_remove(locks->queues, queue);
}

static void on_message(void *arg, const char *channel, const char *payload, size_t len) {
    struct queue *queue = arg;
    queue->polled = false;
    turn(queue->locks, queue);
}

static void on_listening(void *arg) {
    struct queue *queue = arg;
    queue->polled = false;
    turn(queue->locks, queue);
}

static void on_time(void *arg) {
    struct queue *queue = arg;
    queue->polled = queue->not_before_ms == 0;
    turn(queue->locks, queue);
}

static void listen_for_release(struct locks *locks, struct queue *queue) {
    char channel[CHANNEL_SIZE];
    const struct place *head = queue_first(queue, place_is_ready);
    enum lock_kind kind = head != NULL ? head->kind : queue->heard;
    if (kind_ways(kind)->lined) return; /* each place has a channel of its own */
    if (queue->subscription != NULL && queue->heard == kind) return;
    queue->subscription = redis_unsubscribe(queue->subscription);
    queue->heard = kind;
    (void)text_format(channel, sizeof channel, "%s{%s}", kind_ways(kind)->channel, queue->name);
    queue->subscription = redis_subscribe(locks->redis, channel, on_message, on_listening, queue);
}

static void look_again_after(struct locks *locks, struct queue *queue, int64_t wait_ms) {
    queue->locks = locks;
    if (queue->timer == NULL) queue->timer = loop_timer_new(locks->loop, on_time, queue);
    loop_timer_start(queue->timer, wait_ms, 0);
}

void turn_wait(struct locks *locks, struct queue *queue, int64_t left_ms) {
    queue->locks = locks;
    listen_for_release(locks, queue);
    look_again_after(locks, queue, left_ms >= 0 && left_ms < POLL_MS_MAX ? left_ms + 1 : POLL_MS_MAX);
}

static void turn_yield(struct queue *queue) {
    queue->yield_ms = queue->yield_ms == 0 ? YIELD_MS_MIN : queue->yield_ms * 2;
    if (queue->yield_ms > YIELD_MS_MAX) queue->yield_ms = YIELD_MS_MAX;
    queue->not_before_ms = clock_mono_ms() + queue->yield_ms;
    queue->handoffs = 0;
    metric_add(METRIC_LEASE_YIELDS, 0, 1);
}

/* -- asking */

void call_add_terms(struct call *call, struct locks *locks, const struct place *place, const char *grant) {
    call_add_str(call, place->holder);
    call_add_i64(call, place->ttl_ms);
    call_add_i64(call, not_after_ms(locks));
    call_add_str(call, fence_marker(locks->fence) != NULL ? fence_marker(locks->fence) : "");
    call_add_str(call, grant);
    call_add_str(call, place->owner);
    call_add_str(call, place->metadata);
    call_add_str(call, lock_kind_name(place->kind));
    call_add_str(call, locks->options.redisson_fenced);
}

static void send(struct locks *locks, struct place *place, const char *grant, const char *mode, redis_fn fn) {
    struct asking *asking = mem_new(sizeof *asking);
    *asking = (struct asking){.locks = locks, .place = place, .sent_ms = clock_mono_ms()};
    AUTO_CALL call = call_new(kind_ways(place->kind)->acquire);
    for (size_t i = 0; i < place->count; i++) call_add_key(&call, place->names[i]);
    call_add_terms(&call, locks, place, grant);
    call_add_str(&call, mode);
    kind_add_args(&call, place);
    place->calls++;
    locks->calls++;
    call_send(&call, locks->redis, fn, asking);
}

/* What became of the place that asked. */
enum verdict {
    HEAD_WAITS,  /* it stands where it stood */
    HEAD_TOOK,   /* it holds, and has left */
    HEAD_SHARES, /* it holds, has left, and the next may hold beside it */
    HEAD_LEFT    /* it was refused, or waits for another of its names */
};

/* Between the answer and this the queue is pinned: it may have lost all its places. It may be gone when this returns.
 */
static void go_on(struct locks *locks, struct queue *queue, enum verdict verdict, int64_t left_ms) {
    bool stirred = queue->stirred;
    queue->pinned = false;
    if (queue->asking != NULL) return; /* the next has asked already */
    queue->stirred = false;
    if (stirred || verdict == HEAD_LEFT || verdict == HEAD_SHARES)
        turn(locks, queue);
    else if (verdict == HEAD_TOOK && queue->count > 0)
        turn_wait(locks, queue, left_ms);
    else
        queue_settle(locks, queue);
}

/* Fences of a reply from index 3 on. */
struct grant turn_read_grant(const struct place *place, const struct redis_value *value, int64_t *fences) {
    for (size_t i = 0; i < place->count; i++) fences[i] = redis_int(redis_at(value, 3 + i));
    return (struct grant){.fences = fences,
                          .left_ms = redis_int(redis_at(value, 2)),
                          .permits = redis_int(redis_at(value, 3 + place->count)),
                          .mode = mode_read(redis_at(value, 4 + place->count))};
}

/* "none": a semaphore that nobody has said the size of. */
static void refuse_kind(struct locks *locks, struct place *place, const struct redis_value *value) {
    bool is_unknown = strcmp(redis_str(redis_at(value, 3), NULL), "none") == 0;
    struct lock_answer answer = answer_new(is_unknown ? ERROR_NOT_FOUND : ERROR_LOCK_KIND);
    size_t index = (size_t)redis_int(redis_at(value, 2));
    answer.kind = redis_str(redis_at(value, 3), NULL);
    answer.limit = redis_int(redis_at(value, 4));
    answer.name = index >= 1 && index <= place->count ? place->names[index - 1] : place->names[0];
    place->ticket_until_ms = 0;
    place_refuse(locks, place, &answer);
}

bool turn_refused(struct locks *locks, struct place *place, const struct redis_value *value) {
    const char *what = redis_str(redis_at(value, 1), NULL);
    if (strcmp(what, "kind") == 0) {
        refuse_kind(locks, place, value);
        return true;
    }
    if (strcmp(what, "many") != 0) return false;
    struct lock_answer answer = answer_new(ERROR_RATE_LIMITED);
    answer.detail = "the token holds as many names as one may";
    place->ticket_until_ms = 0;
    place_refuse(locks, place, &answer);
    return true;
}

/* Held elsewhere; a set goes to wait where it met the holder, and leaves the turn to the next here. */
static enum verdict take_held(struct locks *locks, struct place *place, const struct redis_value *value) {
    size_t index = (size_t)redis_int(redis_at(value, 2));
    const char *name = index >= 1 && index <= place->count ? place->names[index - 1] : place->names[0];
    bool moves = strcmp(name, place->queue->name) != 0;
    if (moves) place_move(locks->queues, place, name);
    struct queue *queue = place->queue;
    queue_note_holder(queue, value, 3);
    place_note_holding(place, value, HELD_HOLDS);
    queue->yield_ms = 0; /* somebody took the turn we left */
    turn_wait(locks, queue, queue->holder.expires_in_ms);
    if (moves) (void)text_format(locks->moved_to, sizeof locks->moved_to, "%s", queue->name);
    place_due(locks, place);
    return moves ? HEAD_LEFT : HEAD_WAITS;
}

/* The token reads, and would write too: waiting would be for itself. */
static enum verdict take_own(struct locks *locks, struct place *place, const struct redis_value *value) {
    queue_note_holder(place->queue, value, 3);
    place->ticket_until_ms = 0;
    place_refuse_own(locks, place);
    return HEAD_LEFT;
}

static enum verdict ask_again(struct locks *locks, struct place *place) {
    if (++place->lates < LATES_MAX) {
        turn(locks, place->queue);
        return HEAD_WAITS;
    }
    place_down(locks, place, "Redis answers too late");
    return HEAD_LEFT;
}

bool turn_is_answer(const struct redis_value *value, const char *event) {
    if (redis_type_of(value) == REDIS_ARRAY) return true;
    if (value != NULL) LOG(LOG_ERROR, event, LOGS("answer", redis_str(value, NULL)));
    return false;
}

/* A lock that came free before its lease ended, without a message that we heard. */
static void count_found(const struct queue *queue) {
    int64_t early_ms = queue->seen_ms + queue->holder.expires_in_ms - clock_mono_ms();
    if (queue->polled && queue->holder.held && early_ms > 0) metric_add(METRIC_LEASE_FOUND, 0, 1);
}

void turn_granted(struct locks *locks, struct place *place, const struct grant *grant, bool handed) {
    struct queue *queue = place->queue;
    int64_t left_ms = grant->left_ms;
    bool shares = kind_ways(place->kind)->shared || grant->mode == LOCK_MODE_SHARED;
    enum verdict verdict = shares ? HEAD_SHARES : HEAD_TOOK;
    queue->asking = NULL;
    queue->pinned = true;
    /* Who comes in beside others has taken no turn from anybody. */
    if (handed || !shares) queue->handoffs = handed ? queue->handoffs + 1 : 0;
    if (handed) queue->yield_ms = 0;
    count_found(queue);
    queue_note_own(queue, place, grant);
    place_granted(locks, place, grant);
    go_on(locks, queue, verdict, left_ms);
}

void turn_not_handed(struct locks *locks, struct place *place, bool is_free, bool yield) {
    struct queue *queue = place->queue;
    queue->asking = NULL;
    queue->pinned = true;
    if (yield) turn_yield(queue);
    place_due(locks, place);
    go_on(locks, queue, is_free ? HEAD_LEFT : HEAD_WAITS, 0);
}

/* The place may be gone when this returns; its queue is pinned. */
static enum verdict take_refusal(struct locks *locks, struct place *place, const struct redis_value *value) {
    const char *what = redis_str(redis_at(value, 1), NULL);
    if (strcmp(what, "late") == 0) return ask_again(locks, place);
    place->lates = 0;
    if (strcmp(what, "held") == 0) return take_held(locks, place, value);
    if (strcmp(what, "own") == 0) return take_own(locks, place, value);
    if (turn_refused(locks, place, value)) return HEAD_LEFT;
    fence_want(locks->fence); /* "epoch": its end turns all queues */
    return HEAD_WAITS;
}

/* The asking of a call that is over. */
static struct asking take_call(void *arg) {
    struct asking asking = *(struct asking *)arg;
    free(arg);
    asking.locks->calls--;
    asking.place->calls--;
    return asking;
}

static void on_unanswered(struct locks *locks, struct place *place, enum unanswered how) {
    struct queue *queue = place->queue;
    grant_settle(grant_ref_of(locks, place), how);
    queue->pinned = true;
    place_down(locks, place, NULL);
    queue->pinned = false;
    /* Not at once: a refused call is answered before it returns, and the next place would wait on the stack of this. */
    if (queue->count > 0 && redis_is_up(locks->redis)) look_again_after(locks, queue, 1);
    queue_settle(locks, queue);
}

static bool says(const struct redis_value *value, const char *word) {
    return strcmp(redis_str(redis_at(value, 1), NULL), word) == 0;
}

/* While a set was on its way to another queue, the message it would have waited for there may have come and gone. */
static void look_where_moved(struct locks *locks) {
    if (locks->moved_to[0] == '\0') return;
    struct queue *queue = queue_find(locks->queues, locks->moved_to);
    locks->moved_to[0] = '\0';
    if (queue == NULL) return;
    queue->polled = false;
    turn(locks, queue);
}

static void on_acquired(void *arg, const struct redis_value *value, bool sent) {
    struct asking asking = take_call(arg);
    struct locks *locks = asking.locks;
    struct place *place = asking.place;
    struct queue *queue = place->queue;
    queue->asking = NULL;
    if (!turn_is_answer(value, "lock.acquire_failed")) {
        on_unanswered(locks, place, unanswered_how(value, sent));
        return;
    }
    redis_saw_time(locks->redis, redis_int(redis_at(value, 0)), asking.sent_ms);
    int64_t fences[LOCK_SET_MAX];
    if (says(value, "granted") || says(value, "repeated")) {
        struct grant grant = turn_read_grant(place, value, fences);
        grant.is_new = says(value, "granted");
        grant.sent_ms = asking.sent_ms;
        turn_granted(locks, place, &grant, false);
        return;
    }
    queue->pinned = true;
    go_on(locks, queue, take_refusal(locks, place, value), 0);
    look_where_moved(locks);
}

/* -- looking from behind */

static void on_looked(void *arg, const struct redis_value *value, bool sent) {
    struct asking asking = take_call(arg);
    struct locks *locks = asking.locks;
    struct place *place = asking.place;
    struct queue *queue = place->queue;
    bool answered = turn_is_answer(value, "lock.look_failed");
    int64_t fences[LOCK_SET_MAX];
    queue->pinned = true;
    if (answered && says(value, "repeated")) {
        struct grant grant = turn_read_grant(place, value, fences);
        grant.sent_ms = asking.sent_ms;
        place_granted(locks, place, &grant);
    } else if (answered && says(value, "kind")) {
        refuse_kind(locks, place, value);
    } else if (answered && says(value, "own")) {
        (void)take_own(locks, place, value);
    } else if (answered) {
        if (says(value, "held") && place->count == 1) queue_note_holder(queue, value, 3);
        if (says(value, "free")) queue_note_free(queue);
        place_note_holding(place, value, says(value, "held") ? HELD_HOLDS : FREE_HOLDS);
        place_due(locks, place);
    } else {
        place_down(locks, place, NULL);
    }
    go_on(locks, queue, HEAD_WAITS, 0);
}

/* Its grant id is none that was ever given: what stands is confirmed by it, as by any repeat. */
void turn_look(struct locks *locks, struct place *place) {
    if (kind_ways(place->kind)->in_database)
        database_take(locks, place, true);
    else
        send(locks, place, "", "look", on_looked);
}

/* -- a turn */

void turn(struct locks *locks, struct queue *queue) {
    if (queue->asking != NULL) {
        queue->stirred = true;
        return;
    }
    struct place *head = queue_first(queue, place_is_ready);
    if (head == NULL) {
        queue_settle(locks, queue);
        return;
    }
    if (kind_ways(head->kind)->lined) {
        fair_turn(locks, queue);
        return;
    }
    int64_t wait_ms = queue->not_before_ms - clock_mono_ms();
    if (kind_ways(head->kind)->in_database) {
        queue->asking = head;
        database_take(locks, head, false);
        return;
    }
    if (!redis_is_up(locks->redis)) return; /* all will be answered, or are just now */
    if (wait_ms > 0) {
        look_again_after(locks, queue, wait_ms);
        return;
    }
    if (fence_marker(locks->fence) == NULL) {
        fence_want(locks->fence);
        return;
    }
    queue->asking = head;
    queue->not_before_ms = 0;
    text_uuid(head->grant);
    send(locks, head, head->grant, "take", on_acquired);
}
