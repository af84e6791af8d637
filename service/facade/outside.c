/* The door for other threads. A thread hangs its call on the list and wakes the loop; the loop submits the riders and
   counts their answers down; the thread sleeps until none is missing.
   Invariants: `lock` guards the list and the calls, nothing blocks under it; a call has two holders, its thread and the
   loop while a rider is on its way, and the last one frees it; a rider is submitted once, its answer comes once. */
#include "facade/outside.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "facade/answer.h"
#include "facade/internal.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Beyond the deadline of the riders: a transaction with its retries, each statement bounded by the connection's io
 * timeout, has ended by then. */
#define CALL_GRACE_MS 30000

struct call;
struct passenger {
    struct call *call;
    struct rider *rider; /* until it is submitted */
    struct answer answer;
    bool answered;
};

struct call {
    struct list node; /* in outside.calls until the loop took it */
    struct outside *outside;
    struct passenger *passengers;
    size_t count, missing;
    bool left; /* its thread waits no longer */
};

struct outside {
    struct facade *facade;
    struct loop_wake *wake;
    pthread_mutex_t lock;
    pthread_cond_t answered;
    struct list calls;
    bool closed;
};

static void call_free(struct call *call) {
    for (size_t i = 0; i < call->count; i++) text_done(&call->passengers[i].answer.body);
    free(call->passengers);
    free(call);
}

/* -- the loop's side */

static void on_answer(void *arg, struct answer *answer) {
    struct passenger *passenger = arg;
    struct call *call = passenger->call;
    struct outside *outside = call->outside;
    pthread_mutex_lock(&outside->lock);
    passenger->answer = *answer;
    passenger->answer.body = TAKE_TEXT(answer->body);
    passenger->answered = true;
    bool all_here = --call->missing == 0;
    bool nobody_waits = all_here && call->left;
    if (all_here) pthread_cond_broadcast(&outside->answered);
    pthread_mutex_unlock(&outside->lock);
    if (nobody_waits) call_free(call);
}

static struct call *next_call(struct outside *outside) {
    pthread_mutex_lock(&outside->lock);
    struct list *node = list_pop(&outside->calls);
    pthread_mutex_unlock(&outside->lock);
    return node == NULL ? NULL : CONTAINER_OF(node, struct call, node);
}

/* The call may be gone when its last rider was submitted: that one may be answered at once. */
static void submit_call(struct outside *outside, struct call *call) {
    size_t count = call->count;
    struct passenger *passengers = call->passengers;
    for (size_t i = 0; i < count; i++) {
        struct rider *rider = TAKE(passengers[i].rider);
        rider->done = on_answer;
        rider->arg = &passengers[i];
        facade_submit(outside->facade, rider);
    }
}

static void take_calls(void *arg) {
    struct outside *outside = arg;
    struct call *call;
    while ((call = next_call(outside)) != NULL) submit_call(outside, call);
}

struct outside *outside_new(struct facade *facade) {
    struct outside *outside = mem_new(sizeof *outside);
    outside->facade = facade;
    list_init(&outside->calls);
    pthread_mutex_init(&outside->lock, NULL);
    condition_init(&outside->answered);
    outside->wake = loop_wake_new(facade->loop, take_calls, outside);
    return outside;
}

static void refuse_passenger(struct passenger *passenger) {
    struct rider *rider = TAKE(passenger->rider);
    answer_problem(rider, ERROR_UNAVAILABLE, "the service is stopping", NULL);
    on_answer(passenger, &rider->answer);
    rider_free(rider);
}

void outside_close(struct outside *outside) {
    pthread_mutex_lock(&outside->lock);
    outside->closed = true;
    pthread_mutex_unlock(&outside->lock);
    struct call *call;
    while ((call = next_call(outside)) != NULL) {
        size_t count = call->count;
        struct passenger *passengers = call->passengers;
        for (size_t i = 0; i < count; i++) refuse_passenger(&passengers[i]);
    }
}

bool outside_is_idle(struct outside *outside) {
    pthread_mutex_lock(&outside->lock);
    bool idle = list_empty(&outside->calls);
    pthread_mutex_unlock(&outside->lock);
    return idle;
}

struct outside *outside_free(struct outside *outside) {
    if (outside == NULL) return NULL;
    outside->wake = loop_wake_free(outside->wake);
    pthread_cond_destroy(&outside->answered);
    pthread_mutex_destroy(&outside->lock);
    free(outside);
    return NULL;
}

/* -- the thread's side */

static struct call *call_new(struct outside *outside, struct rider *const *riders, size_t count) {
    struct call *call = mem_new(sizeof *call);
    call->outside = outside;
    call->passengers = mem_array(count, sizeof call->passengers[0]);
    call->count = call->missing = count;
    list_init(&call->node);
    for (size_t i = 0; i < count; i++) call->passengers[i] = (struct passenger){.call = call, .rider = riders[i]};
    return call;
}

static void refuse_all(struct call *call) {
    for (size_t i = 0; i < call->count; i++) refuse_passenger(&call->passengers[i]);
}

/* False: the door is closed. */
static bool hand_in(struct outside *outside, struct call *call) {
    pthread_mutex_lock(&outside->lock);
    bool open = !outside->closed;
    if (open) {
        list_push(&outside->calls, &call->node);
        loop_wake_send(outside->wake); /* under the lock: the wake is freed only behind a closed door */
    }
    pthread_mutex_unlock(&outside->lock);
    return open;
}

/* Returns with the lock held. */
static void wait_for_answers(struct outside *outside, struct call *call, int64_t until_ms) {
    struct timespec until = {until_ms / 1000, until_ms % 1000 * 1000000};
    pthread_mutex_lock(&outside->lock);
    while (call->missing > 0)
        if (pthread_cond_timedwait(&outside->answered, &outside->lock, &until) != 0) break;
}

/* Lock held: takes what is there. What is missing comes to nobody, and the loop frees the call behind it. */
static void collect(struct call *call, struct answer *answers) {
    for (size_t i = 0; i < call->count; i++) {
        struct passenger *passenger = &call->passengers[i];
        answers[i] = passenger->answer;
        if (passenger->answered)
            passenger->answer.body = (struct text){0};
        else
            answers[i] =
                (struct answer){.error = ERROR_OUTCOME_UNKNOWN, .status = error_info(ERROR_OUTCOME_UNKNOWN)->status};
    }
    call->left = true;
}

void facade_call(struct facade *facade, struct rider *const *riders, size_t count, struct answer *answers) {
    struct outside *outside = facade->outside;
    assert(count >= 1 && count <= FACADE_CALL_MAX);
    struct call *call = call_new(outside, riders, count);
    if (!hand_in(outside, call)) refuse_all(call);
    wait_for_answers(outside, call, clock_mono_ms() + facade->options.deadline_ms + CALL_GRACE_MS);
    collect(call, answers);
    bool over = call->missing == 0;
    pthread_mutex_unlock(&outside->lock);
    if (over)
        call_free(call);
    else
        LOG(LOG_ERROR, "call.left", LOGI("commands", count));
}

void answers_done(struct answer *answers, size_t count) {
    for (size_t i = 0; i < count; i++) text_done(&answers[i].body);
}
