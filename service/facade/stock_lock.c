/* The locks of a train in Redis: Redisson's RLock on inventory-lock:<product> (wire.md §2), all products in one script
   call.

   Invariants: a field names one train and is never used again. An acquire does nothing after its last moment
   (notAfter), and one whose answer never came is released by its field before the breaker closes: nothing is held by a
   field nobody uses. When Redis is away the train goes on behind the row lock. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "facade/internal.h"
#include "metrics/metrics.h"
#include "redis/call.h"

#include <stdlib.h>

#define NOT_AFTER_SLACK_MS 50 /* between our estimate of Redis' clock and its own */
#define LATES_MAX 3           /* then the train goes without the lock rather than for ever round */
#define FOREIGN_POLL_MS 250   /* a lock held elsewhere is looked at again even if no message comes */
#define YIELD_MS_MIN 2
#define YIELD_MS_MAX 32
#define KEY_PREFIX "inventory-lock:"
#define CHANNEL_FORMAT "redisson_lock__channel:{" KEY_PREFIX "%lld}"

struct leftover {
    struct list node;
    struct facade *facade;
    char field[OWNER_SIZE];
    size_t count;
    int64_t products[];
};

static void add_product(struct call *call, int64_t product_id) {
    char key[sizeof KEY_PREFIX + 20];
    (void)text_format(key, sizeof key, KEY_PREFIX "%lld", (long long)product_id);
    call_add_key(call, key);
}

/* -- leftovers: what may stand in Redis with nobody to let it go */

static void add_leftover(struct train *train, bool only_held) {
    if (fault_on(FAULT_NO_NOT_AFTER)) return;
    struct leftover *leftover = mem_new(sizeof *leftover + train->product_count * sizeof leftover->products[0]);
    leftover->facade = train->facade;
    (void)text_copy(leftover->field, sizeof leftover->field, train->field);
    for (size_t i = 0; i < train->product_count; i++)
        if (!only_held || train->held[i]) leftover->products[leftover->count++] = train->lanes[i]->key;
    list_push(&train->facade->leftovers, &leftover->node);
}

void stock_lock_forget_leftovers(struct facade *facade) {
    struct list *node;
    while ((node = list_pop(&facade->leftovers)) != NULL) free(CONTAINER_OF(node, struct leftover, node));
}

static void on_cleaned(void *arg, const struct redis_value *value, bool sent) {
    struct leftover *leftover = arg;
    struct facade *facade = leftover->facade;
    facade->cleaning--;
    if (value == NULL || redis_type_of(value) != REDIS_ARRAY) {
        list_push(&facade->leftovers, &leftover->node); /* next time */
        return;
    }
    free(leftover);
    if (facade->cleaning == 0) redis_cleaned(facade->redis);
}

void facade_clean_up(void *arg) {
    struct facade *facade = arg;
    struct list todo;
    list_init(&todo);
    list_move_all(&todo, &facade->leftovers);
    if (list_empty(&todo)) {
        redis_cleaned(facade->redis);
        return;
    }
    LIST_FOR(node, &todo) facade->cleaning++;
    struct list *node;
    while ((node = list_pop(&todo)) != NULL) {
        struct leftover *leftover = CONTAINER_OF(node, struct leftover, node);
        AUTO_CALL call = call_new(SCRIPT_TRAIN_RELEASE);
        for (size_t i = 0; i < leftover->count; i++) add_product(&call, leftover->products[i]);
        call_add_str(&call, leftover->field);
        call_send(&call, facade->redis, on_cleaned, leftover);
    }
}

void facade_redis_changed(void *arg, bool up) {
    struct facade *facade = arg;
    if (up) facade->told_degraded = false;
    if (!up) lanes_forget_foreign(facade->lanes);
    facade->ready = true;
}

/* -- acquire */

static void go_without(struct train *train) {
    train->degraded = true;
    for (size_t i = 0; i < train->product_count; i++) train->lanes[i]->foreign = false;
    metric_add(METRIC_FAIL_OPEN, 0, 1);
    if (!train->facade->told_degraded) /* once per outage: the counter tells how many */
        LOG(LOG_WARN, "train.degraded", LOGI("commands", train->trip.count), LOGI("products", train->product_count));
    train->facade->told_degraded = true;
    train_locked(train);
}

static void take_result(struct train *train, size_t index, int64_t answer) {
    struct lane *lane = train->lanes[index];
    if (answer == 0) {
        train->held[index] = true;
        lane->foreign = false;
        stock_lock_unlisten(lane);
        return;
    }
    lane->foreign = true;
    lane->contended = true;
    lane->yield_ms = 0; /* somebody took the turn we left */
    int64_t poll_ms = answer > 0 && answer < FOREIGN_POLL_MS ? answer : FOREIGN_POLL_MS;
    lane->not_before_ms = clock_mono_ms() + poll_ms;
}

static void on_acquired(void *arg, const struct redis_value *value, bool sent) {
    struct train *train = arg;
    if (value == NULL || redis_type_of(value) != REDIS_ARRAY) {
        if (value != NULL) LOG(LOG_ERROR, "lock.acquire_failed", LOGS("answer", redis_str(value, NULL)));
        if (value != NULL || sent) add_leftover(train, false);
        go_without(train);
        return;
    }
    redis_saw_time(train->facade->redis, redis_int(redis_at(value, 0)), train->sent_ms);
    if (redis_len(value) < train->product_count + 1) { /* it came after its last moment and did nothing */
        if (++train->lates < LATES_MAX)
            stock_lock_acquire(train);
        else
            go_without(train);
        return;
    }
    for (size_t i = 0; i < train->product_count; i++) take_result(train, i, redis_int(redis_at(value, i + 1)));
    train_locked(train);
}

void stock_lock_acquire(struct train *train) {
    struct facade *facade = train->facade;
    if (train->product_count == 0 || !redis_is_configured(facade->redis) || fault_on(FAULT_NO_REDIS_LOCK)) {
        train_locked(train);
        return;
    }
    if (!redis_is_up(facade->redis)) {
        go_without(train);
        return;
    }
    int64_t not_after = redis_now_ms(facade->redis) + facade->options.redis_timeout_ms + NOT_AFTER_SLACK_MS;
    AUTO_CALL call = call_new(SCRIPT_TRAIN_ACQUIRE);
    for (size_t i = 0; i < train->product_count; i++) add_product(&call, train->lanes[i]->key);
    call_add_str(&call, train->field);
    call_add_i64(&call, facade->options.lock_lease_ms);
    call_add_i64(&call, fault_on(FAULT_NO_NOT_AFTER) ? 0 : not_after);
    train->sent_ms = clock_mono_ms();
    call_send(&call, facade->redis, on_acquired, train);
}

/* -- renew */

static bool add_held_keys(const struct train *train, struct call *call) {
    for (size_t i = 0; i < train->product_count; i++)
        if (train->held[i]) add_product(call, train->lanes[i]->key);
    call_add_str(call, train->field);
    return call->words.key_count > 0;
}

static void lose(struct train *train, size_t index) {
    train->held[index] = false;
    metric_add(METRIC_LOCK_LOST, 0, 1);
    LOG(LOG_WARN, "lock.lost", LOGI("productId", train->lanes[index]->key));
}

/* Calls fn for each held lane with its answer of the call. */
static void each_held(struct train *train, const struct redis_value *value,
                      void (*fn)(struct train *train, size_t index, int64_t answer)) {
    size_t at = 0, count = redis_len(value);
    for (size_t i = 0; i < train->product_count && at < count; i++)
        if (train->held[i]) fn(train, i, redis_int(redis_at(value, at++)));
}

static void take_renewal(struct train *train, size_t index, int64_t answer) {
    if (answer == 0) lose(train, index);
}

static void on_renewed(void *arg, const struct redis_value *value, bool sent) {
    struct train *train = arg;
    train->calls--;
    /* Once the release is on its way, its answer tells the same, and the list of held lanes must stay as it was sent.
     */
    if (value != NULL && !train->releasing) each_held(train, value, take_renewal);
    if (train->unlocked) train_unlocked(train);
}

static void renew(void *arg) {
    struct train *train = arg;
    AUTO_CALL call = call_new(SCRIPT_TRAIN_RENEW);
    if (train->calls > 0 || !add_held_keys(train, &call) || !redis_is_up(train->facade->redis)) return;
    call_add_i64(&call, train->facade->options.lock_lease_ms);
    train->calls++;
    call_send(&call, train->facade->redis, on_renewed, train);
}

void stock_lock_start_renewal(struct train *train) {
    if (train->product_count == 0 || train->degraded || fault_on(FAULT_NO_RENEWAL)) return;
    int64_t period_ms = train->facade->options.lock_lease_ms / 3;
    train->renewal = loop_timer_new(train->facade->loop, renew, train);
    loop_timer_start(train->renewal, period_ms, period_ms);
}

void stock_lock_stop_renewal(struct train *train) { train->renewal = loop_timer_free(train->renewal); }

/* -- release */

static void end_yield(void *arg) {
    struct facade *facade = arg;
    facade->ready = true;
}

/* Others listen for this lock: for a moment we do not ask for it. Longer each time nobody takes the turn. */
static void yield(struct facade *facade, struct lane *lane) {
    lane->yield_ms = lane->yield_ms == 0 ? YIELD_MS_MIN : lane->yield_ms * 2;
    if (lane->yield_ms > YIELD_MS_MAX) lane->yield_ms = YIELD_MS_MAX;
    lane->not_before_ms = clock_mono_ms() + lane->yield_ms;
    metric_add(METRIC_YIELDS, 0, 1);
    if (facade->yields == NULL) facade->yields = loop_timer_new(facade->loop, end_yield, facade);
    if (!loop_timer_is_active(facade->yields)) loop_timer_start(facade->yields, lane->yield_ms, 0);
}

static void take_release(struct train *train, size_t index, int64_t answer) {
    struct lane *lane = train->lanes[index];
    if (answer < 0) {
        lose(train, index);
        return;
    }
    int64_t others = answer - (lane->subscription != NULL && redis_subscription_is_live(lane->subscription));
    lane->contended = others > 0 && !fault_on(FAULT_NO_YIELD);
    if (!lane->contended)
        lane->yield_ms = 0;
    else if (!train->left) /* else the next train is in already; they have their turn after it */
        yield(train->facade, lane);
}

static void on_released(void *arg, const struct redis_value *value, bool sent) {
    struct train *train = arg;
    train->calls--;
    if (value == NULL || redis_type_of(value) != REDIS_ARRAY)
        add_leftover(train, true);
    else
        each_held(train, value, take_release);
    metric_observe(METRIC_LOCK_HOLD, 0, train->unlocked_us - train->locked_us);
    train_unlocked(train);
}

void stock_lock_release(struct train *train) {
    AUTO_CALL call = call_new(SCRIPT_TRAIN_RELEASE);
    train->unlocked_us = clock_mono_us();
    if (!add_held_keys(train, &call)) {
        train->unlocked_us = 0; /* nothing was locked: the order of commit and unlock is not a question */
        train_unlocked(train);
        return;
    }
    train->releasing = true;
    train->calls++;
    call_send(&call, train->facade->redis, on_released, train);
}

/* -- waiting for others */

static void wake_lane(struct lane *lane) {
    lane->not_before_ms = 0;
    lane->facade->ready = true;
}

static void on_message(void *arg, const char *channel, const char *payload, size_t len) { wake_lane(arg); }
/* What was released before the subscription stood is seen by trying once more. */
static void on_listening(void *arg) { wake_lane(arg); }

void stock_lock_listen(struct facade *facade, struct lane *lane) {
    if (lane->subscription != NULL) return;
    char channel[96];
    (void)text_format(channel, sizeof channel, CHANNEL_FORMAT, (long long)lane->key);
    lane->facade = facade;
    lane->subscription = redis_subscribe(facade->redis, channel, on_message, on_listening, lane);
}

void stock_lock_unlisten(struct lane *lane) { lane->subscription = redis_unsubscribe(lane->subscription); }
