/* Grants that may have reached nobody.

   A delivery watches the replies of one grant: when none of them was written whole, the grant is given back: at once
   when the service made the token, after DOUBT_MS when the client chose it and may ask again. Giving back compares
   holder and grant id and does nothing once the grant has been confirmed.

   A leftover is what may stand in Redis because a call's answer never came; all are released before the breaker closes,
   so that no later call meets them. */
#include "locks/database.h"
#include "locks/internal.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

struct delivery {
    struct locks *locks;
    struct grant_ref *grant;
    bool token_made;
    bool arrived;
    size_t replies; /* on their way */
};

/* -- refs */

struct grant_ref *grant_ref_new(struct locks *locks, const char *holder, char *const *names, size_t count) {
    struct grant_ref *ref = mem_new(sizeof *ref + count * sizeof ref->names[0]);
    list_init(&ref->node);
    ref->locks = locks;
    (void)text_format(ref->holder, sizeof ref->holder, "%s", holder);
    ref->count = count;
    for (size_t i = 0; i < count; i++) ref->names[i] = mem_copy(names[i], strlen(names[i]));
    return ref;
}

struct grant_ref *grant_ref_of(struct locks *locks, const struct place *place) {
    struct grant_ref *ref = grant_ref_new(locks, place->holder, place->names, place->count);
    (void)text_format(ref->grant, sizeof ref->grant, "%s", place->grant);
    ref->kind = place->kind;
    return ref;
}

struct grant_ref *grant_ref_free(struct grant_ref *ref) {
    if (ref == NULL) return NULL;
    for (size_t i = 0; i < ref->count; i++) free(ref->names[i]);
    free(ref);
    return NULL;
}

static void send_step_out(struct grant_ref *ref, redis_fn fn) {
    AUTO_CALL call = call_new(SCRIPT_FAIR_LEAVE);
    call_add_key(&call, ref->names[0]);
    call_add_str(&call, ref->holder);
    call_add_str(&call, ref->keeper);
    call_send(&call, ref->locks->redis, fn, ref);
}

static void send_release(struct grant_ref *ref, redis_fn fn) {
    if (ref->keeper[0] != '\0') {
        send_step_out(ref, fn);
        return;
    }
    AUTO_CALL call = call_new(kind_ways(ref->kind)->release);
    for (size_t i = 0; i < ref->count; i++) call_add_key(&call, ref->names[i]);
    call_add_str(&call, ref->holder);
    call_add_fence(&call, ref->fence);
    call_add_str(&call, fault_on(FAULT_BLIND_GIVE_BACK) ? "" : ref->grant);
    call_add_i64(&call, 0);
    call_send(&call, ref->locks->redis, fn, ref);
}

/* -- leftovers */

void grant_leave(struct grant_ref *ref) {
    if (fault_on(FAULT_NO_NOT_AFTER))
        grant_ref_free(ref);
    else
        list_push(&ref->locks->leftovers, &ref->node);
}

static void on_cleaned(void *arg, const struct redis_value *value, bool sent) {
    struct grant_ref *ref = arg;
    struct locks *locks = ref->locks;
    locks->cleaning--;
    if (value == NULL) {
        grant_leave(ref); /* next time */
        return;
    }
    grant_ref_free(ref);
    if (locks->cleaning == 0) locks->options.cleaned(locks->options.arg);
}

void locks_clean_up(void *arg) {
    struct locks *locks = arg;
    struct list todo;
    list_init(&todo);
    list_move_all(&todo, &locks->leftovers);
    if (list_empty(&todo)) {
        locks->options.cleaned(locks->options.arg);
        return;
    }
    LIST_FOR(node, &todo) locks->cleaning++;
    for (struct list *node; (node = list_pop(&todo)) != NULL;)
        send_release(CONTAINER_OF(node, struct grant_ref, node), on_cleaned);
}

/* -- giving back */

static void on_undone(void *arg, const struct redis_value *value, bool sent) {
    struct grant_ref *ref = arg;
    ref->locks->calls--;
    for (size_t i = 0; i < ref->count; i++) watch_stir(ref->locks, ref->names[i]);
    if (value == NULL)
        grant_leave(ref);
    else
        grant_ref_free(ref);
}

static void undo_now(struct grant_ref *ref) {
    metric_add(METRIC_LEASE_UNDELIVERED, 0, 1);
    LOG(LOG_INFO, "lock.undelivered", LOGS("name", ref->names[0]), LOGI("names", ref->count));
    if (kind_ways(ref->kind)->in_database) {
        database_undo(ref);
        return;
    }
    ref->locks->calls++;
    send_release(ref, on_undone);
}

void grant_give_back(struct grant_ref *ref) {
    if (!redis_is_up(ref->locks->redis)) {
        grant_leave(ref);
        return;
    }
    ref->locks->calls++;
    send_release(ref, on_undone);
}

void grant_step_out(struct grant_ref *ref) {
    ref->locks->calls++;
    send_release(ref, on_undone);
}

static void on_doubt_time(void *arg) {
    struct locks *locks = arg;
    int64_t now_ms = clock_mono_ms();
    while (!list_empty(&locks->doubts)) {
        struct grant_ref *ref = CONTAINER_OF(locks->doubts.next, struct grant_ref, node);
        if (ref->due_ms > now_ms) {
            loop_timer_start(locks->doubt_timer, ref->due_ms - now_ms, 0);
            return;
        }
        list_remove(&ref->node);
        undo_now(ref);
    }
}

void grant_undo(struct grant_ref *ref, bool at_once) {
    struct locks *locks = ref->locks;
    if (at_once) {
        undo_now(ref);
        return;
    }
    ref->due_ms = clock_mono_ms() + DOUBT_MS;
    list_push(&locks->doubts, &ref->node);
    if (locks->doubt_timer == NULL) locks->doubt_timer = loop_timer_new(locks->loop, on_doubt_time, locks);
    if (!loop_timer_is_active(locks->doubt_timer)) loop_timer_start(locks->doubt_timer, DOUBT_MS, 0);
}

enum unanswered unanswered_how(const struct redis_value *value, bool sent) {
    if (value != NULL) return UNANSWERED_ERROR;
    return sent ? UNANSWERED_LOST : UNANSWERED_UNSENT;
}

void grant_settle(struct grant_ref *ref, enum unanswered how) {
    if (how == UNANSWERED_LOST)
        grant_leave(ref);
    else if (how == UNANSWERED_ERROR)
        grant_undo(ref, true);
    else
        grant_ref_free(ref);
}

/* -- deliveries */

struct delivery *delivery_new(struct grant_ref *ref, bool token_made, size_t replies) {
    struct delivery *delivery = mem_new(sizeof *delivery);
    *delivery = (struct delivery){.locks = ref->locks, .grant = ref, .token_made = token_made, .replies = replies};
    ref->locks->deliveries++;
    return delivery;
}

void locks_delivered(struct locks *locks, struct delivery *delivery, bool whole) {
    delivery->arrived |= whole;
    if (--delivery->replies > 0) return;
    locks->deliveries--;
    if (delivery->arrived || fault_on(FAULT_NO_GIVE_BACK))
        grant_ref_free(delivery->grant);
    else
        grant_undo(delivery->grant, delivery->token_made);
    free(delivery);
}

static void free_all(struct list *refs) {
    for (struct list *node; (node = list_pop(refs)) != NULL;)
        grant_ref_free(CONTAINER_OF(node, struct grant_ref, node));
}

void delivery_free_all(struct locks *locks) {
    free_all(&locks->leftovers);
    free_all(&locks->doubts);
    locks->doubt_timer = loop_timer_free(locks->doubt_timer);
}
