/* Cycles of waits: tokens that each hold what another one waits for.

   Only the wait of a token that holds something can close a cycle. Redis tells whether it does with each refusal; then
   the wait becomes a known wait: it is written down in Redis, and one script call searches from there
   (redis/scripts/lock_wait.lua). Waits of tokens that hold nothing cost no call.

       place waits ──token holds something──▶ known ──search──▶ clear ──SEARCH_MS, or asked after──▶ search …
                                                │               suspect ──CONFIRM_MS_MIN, doubling──▶ search …
                                                │               deadlock ──▶ refused, LCK-007
                                                └──the place is answered, or nobody is here──▶ forgotten

   Invariants
   1. A known wait belongs to a place with a request that is here. What Redis has of it ends with it, or by its TTL.
   2. A cycle is refused to its newest wait alone: each searches through older ones only, and all compare the same.
   3. It is refused only when every other wait of it was said again after it was suspected, and the script that says so
      finds all the names still held. So what a dead instance left written down refuses nobody.
   4. A token that waits unknown, since it held nothing when it began, is asked after by whoever waits for it. */
#include "locks/internal.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

#define CHANNEL "lockstock:who-waits" /* in redis/scripts/lock_wait.lua too */
#define SEARCH_MS 800                 /* with the confirmation below 2 s from the last edge of a cycle to its refusal */
#define SEARCHES_PER_S 1000           /* about, of one instance: with more known waits each searches less often */
#define LIVES 3                       /* times between searches after which what is written counts no more */
#define CONFIRM_MS_MIN 10
#define CONFIRM_MS_MAX 320
#define ASKED_MS 5     /* between searches that others ask for */
#define LINK_PARTS 5   /* of the reply for each token of a cycle */
#define REPLY_HEAD 2   /* before them */
#define CYCLE_LINKS 64 /* SHOWN_MAX of the script */

struct known_wait {
    struct locks *locks;
    struct place *place; /* NULL: forgotten while a search was on its way */
    char id[LOCK_GRANT_SIZE];
    int64_t suspect; /* stamp of the search that found a cycle; 0 = none */
    int64_t confirm_ms, sent_ms;
    bool searching, again;
    struct loop_timer *timer;
};

static void search(struct known_wait *known);

static bool may_close_cycles(const struct place *place) {
    return place->kind == LOCK_KIND_LOCK || place->kind == LOCK_KIND_FAIR || place->kind == LOCK_KIND_RW;
}

static bool waits(const struct place *place) {
    LIST_FOR(node, &place->asks) {
        const struct ask *ask = CONTAINER_OF(node, struct ask, node);
        if (ask->wait_until_ms > ask->received_ms && ask->is_here(ask->arg)) return true;
    }
    return false;
}

/* -- life */

static struct known_wait *known_free(struct known_wait *known) {
    loop_timer_free(known->timer);
    free(known);
    return NULL;
}

static void on_over(void *arg, const struct redis_value *value, bool sent) { ((struct locks *)arg)->calls--; }

static void say_over(struct locks *locks, const struct place *place, const struct known_wait *known) {
    if (!redis_is_up(locks->redis)) return;
    AUTO_CALL call = call_new(SCRIPT_LOCK_WAIT);
    call_add_str(&call, place->holder);
    call_add_str(&call, known->id);
    locks->calls++;
    call_send(&call, locks->redis, on_over, locks);
}

void cycles_end(struct place *place) {
    struct known_wait *known = place->known;
    if (known == NULL) return;
    place->known = NULL;
    known->place = NULL;
    known->locks->known_waits--;
    loop_timer_stop(known->timer);
    if (!known->searching) known_free(known);
}

void cycles_forget(struct place *place) {
    struct known_wait *known = place->known;
    if (known == NULL) return;
    say_over(known->locks, place, known);
    cycles_end(place);
}

/* -- searching */

static int64_t period_ms(const struct locks *locks) {
    return SEARCH_MS * (1 + (int64_t)locks->known_waits / SEARCHES_PER_S);
}

static void on_time(void *arg) {
    struct known_wait *known = arg;
    if (waits(known->place))
        search(known);
    else
        cycles_forget(known->place);
}

static void read_cycle(const struct redis_value *value, struct lock_link *links, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t from = REPLY_HEAD + i * LINK_PARTS;
        links[i] = (struct lock_link){.name = redis_str(redis_at(value, from), NULL),
                                      .owner = redis_str(redis_at(value, from + 1), NULL),
                                      .fence = redis_int(redis_at(value, from + 2)),
                                      .waits_for = redis_str(redis_at(value, from + 3), NULL),
                                      .waited_ms = redis_int(redis_at(value, from + 4))};
    }
}

/* Those behind it may have waited for it alone: a reader behind a writer. */
static void refuse(struct locks *locks, struct place *place, const struct redis_value *value) {
    struct lock_link links[CYCLE_LINKS];
    struct queue *queue = place->queue;
    struct lock_answer answer = answer_new(ERROR_LOCK_DEADLOCK);
    size_t count = (redis_len(value) - REPLY_HEAD) / LINK_PARTS;
    answer.cycle = links;
    answer.cycle_count = count < CYCLE_LINKS ? count : CYCLE_LINKS;
    read_cycle(value, links, answer.cycle_count);
    metric_add(METRIC_LEASE_DEADLOCKS, 0, 1);
    LOG(LOG_INFO, "lock.deadlock", LOGS("name", links[0].waits_for), LOGI("tokens", count));
    place->ticket_until_ms = 0;
    queue->pinned = true;
    place_refuse(locks, place, &answer);
    queue->pinned = false;
    turn(locks, queue);
}

/* After a search. The place may be gone when this returns. */
static void take_search(struct known_wait *known, const struct redis_value *value) {
    struct locks *locks = known->locks;
    struct place *place = known->place;
    const char *what = redis_str(redis_at(value, 1), NULL);
    bool is_suspect = strcmp(what, "suspect") == 0, is_deadlock = strcmp(what, "deadlock") == 0;
    int64_t wait_ms = known->again ? ASKED_MS : period_ms(locks);
    if (strcmp(what, "idle") == 0) {
        place->holds = false;
        cycles_end(place);
        return;
    }
    if (is_deadlock && !place->asking && place->queue->asking != place) {
        refuse(locks, place, value);
        return;
    }
    if (is_suspect && known->suspect == 0) known->suspect = redis_int(redis_at(value, 2));
    if (!is_suspect) known->suspect = known->confirm_ms = 0;
    if (is_suspect) {
        known->confirm_ms = known->confirm_ms == 0 ? CONFIRM_MS_MIN : known->confirm_ms * 2;
        if (known->confirm_ms > CONFIRM_MS_MAX) known->confirm_ms = CONFIRM_MS_MAX;
        wait_ms = known->confirm_ms;
    }
    /* Its answer may be a grant: it is asked first. */
    loop_timer_start(known->timer, is_deadlock ? ASKED_MS : wait_ms, 0);
}

static void on_searched(void *arg, const struct redis_value *value, bool sent) {
    struct known_wait *known = arg;
    known->locks->calls--;
    known->searching = false;
    if (redis_type_of(value) == REDIS_ERROR) LOG(LOG_ERROR, "lock.wait_failed", LOGS("answer", redis_str(value, NULL)));
    if (known->place == NULL)
        known_free(known);
    else if (redis_type_of(value) == REDIS_ARRAY)
        take_search(known, value);
    else
        loop_timer_start(known->timer, period_ms(known->locks), 0);
}

static void search(struct known_wait *known) {
    struct locks *locks = known->locks;
    const struct place *place = known->place;
    AUTO_CALL call = call_new(SCRIPT_LOCK_WAIT);
    for (size_t i = 0; i < place->count; i++) call_add_key(&call, place->names[i]);
    call_add_str(&call, place->holder);
    call_add_str(&call, known->id);
    call_add_i64(&call, place->since_ms);
    call_add_str(&call, lock_mode_name(place->mode));
    call_add_i64(&call, period_ms(locks) * LIVES);
    call_add_i64(&call, fault_on(FAULT_NO_CYCLE_CONFIRM) ? 1 : known->suspect);
    known->searching = true;
    known->again = false;
    known->sent_ms = clock_mono_ms();
    locks->calls++;
    metric_add(METRIC_LEASE_SEARCHES, 0, 1);
    call_send(&call, locks->redis, on_searched, known);
}

/* On Redis' clock. A place behind the head of its queue was never told to wait: it has waited since it came. */
static int64_t since_when(const struct locks *locks, const struct place *place) {
    int64_t now_ms = clock_mono_ms(), waited_ms = 0;
    LIST_FOR(node, &place->asks) {
        const struct ask *ask = CONTAINER_OF(node, struct ask, node);
        if (now_ms - ask->received_ms > waited_ms) waited_ms = now_ms - ask->received_ms;
    }
    return redis_now_ms(locks->redis) - waited_ms;
}

void cycles_note(struct locks *locks, struct place *place) {
    if (place->known != NULL || !may_close_cycles(place) || fault_on(FAULT_NO_CYCLE_SEARCH)) return;
    struct known_wait *known = mem_new(sizeof *known);
    known->locks = locks;
    known->place = place;
    if (place->since_ms == 0) place->since_ms = since_when(locks, place);
    known->timer = loop_timer_new(locks->loop, on_time, known);
    text_uuid(known->id);
    place->known = known;
    locks->known_waits++;
    search(known);
}

/* -- asked after */

static void search_soon(struct known_wait *known) {
    int64_t wait_ms = known->sent_ms + ASKED_MS - clock_mono_ms();
    known->again = known->searching;
    if (!known->searching) loop_timer_start(known->timer, wait_ms > 0 ? wait_ms : 0, 0);
}

static void on_asked_after(void *arg, struct place *place) {
    if (!waits(place)) return;
    place->holds = true;
    if (place->known != NULL)
        search_soon(place->known);
    else
        cycles_note(arg, place);
}

/* Holders, with a space between them. */
static void on_who_waits(void *arg, const char *channel, const char *payload, size_t len) {
    struct locks *locks = arg;
    char holder[LOCK_HOLDER_SIZE];
    for (size_t at = 0; at + LOCK_HOLDER_SIZE - 1 <= len; at += LOCK_HOLDER_SIZE) {
        (void)text_format(holder, sizeof holder, "%.*s", LOCK_HOLDER_SIZE - 1, payload + at);
        places_of_holder(locks->queues, holder, on_asked_after, locks);
    }
}

void cycles_listen(struct locks *locks) { (void)redis_subscribe(locks->redis, CHANNEL, on_who_waits, NULL, locks); }

/* -- it got something while it waits for something else */

static void on_more(void *arg, struct place *place) {
    if (waits(place)) {
        place->holds = true;
        cycles_note(arg, place);
    }
}

void cycles_holds_more(struct locks *locks, const char *holder) {
    places_of_holder(locks->queues, holder, on_more, locks);
}
