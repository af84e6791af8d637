/* Fair locks: strictly first come first served over all instances and Java services.

   Who waits stands in a queue in Redis, in the order of arrival, under the holder of its token (fair_common.lua). So
   every place asks for itself: when it comes, which is when it lines up; when its own channel says that the lock is
   free and it is the head; when a look finds that it is. A place lines up once and keeps its rank, here and, for the
   same token, at another instance; it steps out whenever it ends without a grant (fair_step_out).

       new ──take──▶ lined up ◀──beat, look──┐
                        │ └──────────────────┘
                        └──message, head of a free lock──▶ take ──▶ granted

   - Beats, every BEAT_MS, tell Redis that the places of this queue live: an instance that is gone holds nobody up for
     long. They also tell each its rank, and which of them stand there no more; those ask again.
   - Looks cover what no message announces: a lease that ended, a head that died. The floor keeps a free lock whose head
     is slow, or dead and Java's, from being asked after all the time. */
#include "locks/internal.h"

#include "base/clock.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define CHANNEL_SIZE (LOCK_NAME_MAX + LOCK_HOLDER_SIZE + 40)
#define BEAT_MS 2000         /* a third of FAIR_LIFE in fair_common.lua */
#define BEAT_PLACES_MAX 1024 /* in one call; the next at once */
#define LOOK_MS_MIN 40       /* while the lock is free and another is the head, doubling up to POLL_MS_MAX */
#define BEAT_HEAD 8          /* elements of its reply before the ranks */
#define QUEUED_HOLDS 4       /* element of "queued" that tells whether the token holds something */

/* A take on its way. */
struct taking {
    struct locks *locks;
    struct place *place;
    int64_t sent_ms;
};

/* A beat or a look on its way. */
struct beat {
    struct locks *locks;
    struct queue *queue;
    size_t count;
    char holders[][LOCK_HOLDER_SIZE];
};

static bool is_lined(const struct place *place) { return kind_ways(place->kind)->lined; }

static bool says(const struct redis_value *value, const char *word) {
    return strcmp(redis_str(redis_at(value, 1), NULL), word) == 0;
}

/* -- listening */

static void on_message(void *arg, const char *channel, const char *payload, size_t len) {
    struct place *place = arg;
    fair_take(place->locks, place);
}

/* The lock may have come free before anybody listened. */
static void on_listening(void *arg) {
    struct place *place = arg;
    fair_take(place->locks, place);
}

static void listen_for_turn(struct locks *locks, struct place *place) {
    char channel[CHANNEL_SIZE];
    if (!place->lined_up || place->subscription != NULL) return;
    (void)text_format(channel, sizeof channel, "%s{%s}:%s", kind_ways(place->kind)->channel, place->names[0],
                      place->holder);
    place->subscription = redis_subscribe(locks->redis, channel, on_message, on_listening, place);
}

/* -- beats and looks */

/* A free lock is some other head's: look again, but not all the time. */
static void wait_for_head(struct locks *locks, struct queue *queue, int64_t head_left_ms) {
    queue->look_ms = queue->look_ms == 0 ? LOOK_MS_MIN : queue->look_ms * 2;
    if (queue->look_ms > POLL_MS_MAX) queue->look_ms = POLL_MS_MAX;
    int64_t wait_ms = head_left_ms > LOOK_MS_MIN ? head_left_ms : LOOK_MS_MIN;
    turn_wait(locks, queue, wait_ms < queue->look_ms ? wait_ms : queue->look_ms);
}

static void wait_for_release(struct locks *locks, struct queue *queue) {
    int64_t left_ms = queue->holder.expires_in_ms;
    queue->look_ms = 0;
    turn_wait(locks, queue, left_ms >= 0 && left_ms < LOOK_MS_MIN ? LOOK_MS_MIN : left_ms);
}

static struct place *find_here(const struct queue *queue, const char *holder) {
    char *name = (char *)queue->name;
    return place_find(queue->locks->queues, holder, &name, 1);
}

static void take_rank(struct locks *locks, const struct beat *beat, size_t index, int64_t rank) {
    struct place *place = find_here(beat->queue, beat->holders[index]);
    if (place == NULL || !place->lined_up) return;
    if (rank == 0)
        fair_take(locks, place);
    else
        place->rank = (size_t)rank;
}

static void take_look(struct locks *locks, struct queue *queue, const struct redis_value *value) {
    const char *head = redis_str(redis_at(value, 6), NULL);
    struct place *place = head[0] != '\0' ? find_here(queue, head) : NULL;
    if (redis_int(redis_at(value, 1)) != -2) {
        queue_note_holder(queue, value, 1);
        wait_for_release(locks, queue);
        return;
    }
    queue_note_free(queue);
    wait_for_head(locks, queue, redis_int(redis_at(value, 7)));
    if (place != NULL && is_lined(place)) fair_take(locks, place);
}

static void on_beaten(void *arg, const struct redis_value *value, bool sent) {
    struct beat *beat = arg;
    struct locks *locks = beat->locks;
    struct queue *queue = beat->queue;
    locks->calls--;
    queue->looks--;
    if (turn_is_answer(value, "lock.beat_failed") && queue->count > 0) {
        queue->pinned = true;
        take_look(locks, queue, value);
        for (size_t i = 0; i < beat->count; i++) take_rank(locks, beat, i, redis_int(redis_at(value, BEAT_HEAD + i)));
        queue->pinned = false;
    }
    free(beat);
    queue_settle(locks, queue);
}

static void send_beat(struct locks *locks, struct queue *queue, struct beat *beat, const char *places) {
    AUTO_CALL call = call_new(SCRIPT_FAIR_BEAT);
    beat->locks = locks;
    beat->queue = queue;
    call_add_key(&call, queue->name);
    call_add_str(&call, places);
    locks->calls++;
    queue->looks++;
    call_send(&call, locks->redis, on_beaten, beat);
}

static struct beat *beat_new(size_t room) { return mem_new(sizeof(struct beat) + room * LOCK_HOLDER_SIZE); }

static void look(struct locks *locks, struct queue *queue) { send_beat(locks, queue, beat_new(0), ""); }

static size_t count_lined_up(const struct queue *queue) {
    size_t count = 0;
    LIST_FOR(node, &queue->places) count += CONTAINER_OF(node, struct place, node)->lined_up;
    return count;
}

/* Up to BEAT_PLACES_MAX from the node on; where to go on. */
static struct list *beat_some(struct locks *locks, struct queue *queue, struct list *node) {
    struct beat *beat = beat_new(BEAT_PLACES_MAX);
    AUTO_TEXT places = text_new(0);
    for (; node != &queue->places && beat->count < BEAT_PLACES_MAX; node = node->next) {
        const struct place *place = CONTAINER_OF(node, struct place, node);
        if (!place->lined_up) continue;
        memcpy(beat->holders[beat->count++], place->holder, LOCK_HOLDER_SIZE);
        text_add_str(&places, place->holder);
        text_add_str(&places, " ");
        text_add_str(&places, place->keeper);
        text_add_str(&places, " ");
    }
    send_beat(locks, queue, beat, text_str(&places));
    return node;
}

static void on_beat(void *arg) {
    struct queue *queue = arg;
    struct locks *locks = queue->locks;
    if (count_lined_up(queue) == 0) {
        loop_timer_stop(queue->beat_timer);
        return;
    }
    if (!redis_is_up(locks->redis)) return;
    bool was_pinned = queue->pinned;
    queue->pinned = true; /* a refused call is answered before it returns */
    for (struct list *node = queue->places.next; node != &queue->places && redis_is_up(locks->redis);)
        node = beat_some(locks, queue, node);
    queue->pinned = was_pinned;
    queue_settle(locks, queue);
}

static void start_beats(struct locks *locks, struct queue *queue) {
    if (queue->beat_timer == NULL) queue->beat_timer = loop_timer_new(locks->loop, on_beat, queue);
    if (!loop_timer_is_active(queue->beat_timer)) loop_timer_start(queue->beat_timer, BEAT_MS, BEAT_MS);
}

/* -- what became of a take */

static void take_waiting(struct locks *locks, struct place *place, const struct redis_value *value) {
    struct queue *queue = place->queue;
    place->rank = (size_t)redis_int(redis_at(value, 2));
    place_note_holding(place, value, says(value, "held") ? HELD_HOLDS : QUEUED_HOLDS);
    listen_for_turn(locks, place);
    if (says(value, "held")) {
        queue_note_holder(queue, value, 3);
        wait_for_release(locks, queue);
    } else {
        queue_note_free(queue);
        wait_for_head(locks, queue, redis_int(redis_at(value, 3)));
    }
    if (place->again)
        fair_take(locks, place);
    else
        place_due(locks, place);
}

static void take_late(struct locks *locks, struct place *place) {
    if (++place->lates < LATES_MAX)
        fair_take(locks, place);
    else
        place_down(locks, place, "Redis answers too late");
}

static void take_refusal(struct locks *locks, struct place *place, const struct redis_value *value) {
    if (says(value, "late")) {
        take_late(locks, place);
        return;
    }
    place->lates = 0;
    if (says(value, "held") || says(value, "queued")) {
        take_waiting(locks, place, value);
    } else if (!turn_refused(locks, place, value)) { /* "epoch": its end turns all queues */
        place->again = true;
        fence_want(locks->fence);
    }
}

static void take_grant(struct locks *locks, struct place *place, const struct redis_value *value, int64_t sent_ms) {
    int64_t fences[LOCK_SET_MAX];
    struct queue *queue = place->queue;
    struct grant grant = turn_read_grant(place, value, fences);
    int64_t left_ms = grant.left_ms;
    grant.is_new = says(value, "granted");
    grant.sent_ms = sent_ms;
    queue_note_own(queue, place, &grant);
    place_granted(locks, place, &grant);
    if (queue->count > 0) turn_wait(locks, queue, left_ms);
}

static void on_taken(void *arg, const struct redis_value *value, bool sent) {
    struct taking taking = *(struct taking *)arg;
    struct locks *locks = taking.locks;
    struct place *place = taking.place;
    struct queue *queue = place->queue;
    bool was_pinned = queue->pinned;
    free(arg);
    locks->calls--;
    place->calls--;
    place->asking = false;
    queue->pinned = true;
    if (!turn_is_answer(value, "lock.acquire_failed")) {
        grant_settle(grant_ref_of(locks, place), unanswered_how(value, sent));
        place_down(locks, place, NULL);
    } else {
        redis_saw_time(locks->redis, redis_int(redis_at(value, 0)), taking.sent_ms);
        if (says(value, "granted") || says(value, "repeated"))
            take_grant(locks, place, value, taking.sent_ms);
        else
            take_refusal(locks, place, value);
    }
    queue->pinned = was_pinned;
    queue_settle(locks, queue);
}

/* -- taking */

static bool waits(const struct place *place) {
    LIST_FOR(node, &place->asks) {
        const struct ask *ask = CONTAINER_OF(node, struct ask, node);
        if (ask->wait_until_ms > ask->received_ms) return true;
    }
    return false;
}

static void send_take(struct locks *locks, struct place *place) {
    struct taking *taking = mem_new(sizeof *taking);
    *taking = (struct taking){.locks = locks, .place = place, .sent_ms = clock_mono_ms()};
    AUTO_CALL call = call_new(SCRIPT_FAIR_ACQUIRE);
    call_add_key(&call, place->names[0]);
    text_uuid(place->grant);
    call_add_terms(&call, locks, place, place->grant);
    call_add_str(&call, "take");
    call_add_str(&call, place->keeper);
    call_add_i64(&call, place->lined_up);
    place->calls++;
    locks->calls++;
    call_send(&call, locks->redis, on_taken, taking);
}

void fair_take(struct locks *locks, struct place *place) {
    place->again = place->asking || place->queue->asking == place;
    if (place->again || !redis_is_up(locks->redis) || !place_is_ready(place)) return;
    if (place->keeper[0] == '\0') text_uuid(place->keeper);
    place->lined_up |= waits(place);
    if (place->lined_up) start_beats(locks, place->queue);
    place->asking = true;
    send_take(locks, place);
}

/* Those whose last answer was none ask again, in the order in which they came. */
static void take_again(struct locks *locks, struct queue *queue) {
    size_t count = queue->count;
    struct list *node = queue->places.next;
    for (size_t i = 0; i < count && node != &queue->places; i++) {
        struct place *place = CONTAINER_OF(node, struct place, node);
        node = node->next;
        if (place->again && !place->asking && is_lined(place)) fair_take(locks, place);
    }
}

void fair_turn(struct locks *locks, struct queue *queue) {
    bool was_pinned = queue->pinned;
    if (!redis_is_up(locks->redis)) return; /* all will be answered, or are just now */
    queue->pinned = true;
    take_again(locks, queue);
    if (queue->looks == 0) look(locks, queue);
    queue->pinned = was_pinned;
    queue_settle(locks, queue);
}

void fair_step_out(struct locks *locks, struct place *place) {
    place->subscription = redis_unsubscribe(place->subscription);
    if (!place->lined_up) return;
    place->lined_up = false;
    struct grant_ref *ref = grant_ref_of(locks, place);
    memcpy(ref->keeper, place->keeper, sizeof ref->keeper);
    grant_step_out(ref);
}
