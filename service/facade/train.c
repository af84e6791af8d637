/* The life of a train on the loop:

     board ─▶ acquire ─▶ (riders on locks held elsewhere go back) ─▶ transaction on a worker ─▶ answers ─▶ release ─▶
   gone

   Invariants: the transaction is submitted only after the acquire was answered (or Redis is away); the release is sent
   only after the transaction came back; a lane belongs to one train from boarding until the release was answered, or
   until its lock was found held elsewhere: no lane that a train lists can be freed. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "facade/answer.h"
#include "facade/internal.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

#define ROW_RETRY_MS_MIN 20 /* a blocked row is tried again after this, doubling */
#define ROW_RETRY_MS_MAX 160

/* Labels of METRIC_TRAIN_STAGE. */
enum stage { STAGE_QUEUE, STAGE_LOCK, STAGE_TRANSACTION, STAGE_COMMIT, STAGE_UNLOCK };

static void train_finished(struct db_job *job);

static struct train *train_new(struct facade *facade, bool probe) {
    struct train *train = mem_new(sizeof *train);
    train->facade = facade;
    train->probe = probe;
    train->boarded_us = clock_mono_us();
    list_init(&train->node);
    list_init(&train->riders);
    (void)text_format(train->field, sizeof train->field, "%s:%llu", facade->owner,
                      (unsigned long long)++facade->trains_made);
    train->trip.rules = &facade->rules;
    train->trip.row_lock = probe ? ROW_LOCK_SKIP : ROW_LOCK_WAIT;
    train->trip.job.run = trip_run;
    train->trip.job.done = train_finished;
    return train;
}

static void train_free(struct train *train) {
    train->renewal = loop_timer_free(train->renewal);
    trip_done(&train->trip);
    free(train->trip.riders);
    for (size_t i = 0; i < train->lane_count; i++) lanes_unhold(train->facade->lanes, train->lanes[i]);
    free(train->lanes);
    free(train->held);
    free(train);
}

/* A fair share of what waits for each free slot, so that trains leave side by side. */
static size_t share_of_queue(const struct facade *facade) {
    size_t slots = facade->options.train_slots - facade->slots_used;
    if (slots == 0) slots = 1;
    return (facade->queued + slots - 1) / slots;
}

static void list_lanes_of(struct train *train, bool products) {
    LIST_FOR(node, &train->riders) {
        struct rider *rider = CONTAINER_OF(node, struct rider, node);
        for (size_t i = 0; i < rider->lane_count; i++) {
            struct lane *lane = rider->lanes[i];
            if (lane->listed == train || (lane->key > 0) != products) continue;
            lane->listed = train;
            lane->references++;
            train->lanes[train->lane_count++] = lane;
        }
    }
}

static void list_lanes(struct train *train) {
    size_t count = 0;
    LIST_FOR(node, &train->riders) count += CONTAINER_OF(node, struct rider, node)->lane_count;
    train->lanes = mem_array(count + 1, sizeof(struct lane *));
    list_lanes_of(train, true);
    train->product_count = train->lane_count;
    list_lanes_of(train, false);
    train->held = mem_array(train->product_count + 1, sizeof(bool));
}

bool train_depart(struct facade *facade, bool probe) {
    struct train *train = train_new(facade, probe);
    struct boarding_limits limits = {.commands_max = facade->options.train_max,
                                     .lines_max = TRAIN_LINES_MAX,
                                     .products_max = facade->options.train_products_max,
                                     .share = share_of_queue(facade),
                                     .probe = probe};
    size_t count = board(&facade->queue, &train->riders, train, &limits, ++facade->round, clock_mono_ms());
    if (count == 0) {
        train_free(train);
        return false;
    }
    facade->queued -= count;
    train->trip.count = count;
    *(probe ? &facade->probes_used : &facade->slots_used) += 1;
    list_push(&facade->trains, &train->node);
    list_lanes(train);
    const struct rider *first = CONTAINER_OF(train->riders.next, struct rider, node);
    metric_observe(METRIC_TRAIN_STAGE, STAGE_QUEUE, train->boarded_us - first->arrived_us);
    stock_lock_acquire(train);
    return true;
}

/* -- locks had */

static bool must_leave(const struct rider *rider) {
    for (size_t i = 0; i < rider->lane_count; i++)
        if (rider->lanes[i]->foreign) return true;
    return false;
}

static void leave(struct train *train, struct rider *rider, int64_t now_ms) {
    struct facade *facade = train->facade;
    list_remove(&rider->node);
    train->trip.count--;
    if (rider->lock_wait_since_ms == 0) rider->lock_wait_since_ms = now_ms;
    facade->queued++;
    facade_enqueue(facade, rider);
}

static void note_lock_wait(struct rider *rider, int64_t now_ms) {
    if (rider->lock_wait_since_ms == 0) return;
    metric_observe(METRIC_LOCK_WAIT, 0, (now_ms - rider->lock_wait_since_ms) * 1000);
    rider->lock_wait_since_ms = 0;
}

/* Lanes whose locks are held elsewhere are no longer the train's: whoever waits for one may go, and the lane with it.
 * The others close up; their order is that of the keys in Redis' answers to come. */
static void leave_foreign_lanes(struct train *train) {
    size_t kept = 0;
    for (size_t i = 0; i < train->product_count; i++) {
        struct lane *lane = train->lanes[i];
        if (lane->foreign) {
            lane->train = lane->listed = NULL;
            stock_lock_listen(train->facade, lane);
            lanes_unhold(train->facade->lanes, lane);
            continue;
        }
        train->held[kept] = train->held[i];
        train->lanes[kept++] = lane;
    }
    size_t orders = train->lane_count - train->product_count;
    memmove(train->lanes + kept, train->lanes + train->product_count, orders * sizeof train->lanes[0]);
    train->product_count = kept;
    train->lane_count = kept + orders;
}

static int64_t count_creates(const struct train *train) {
    int64_t count = 0;
    LIST_FOR(node, &train->riders)
    count += CONTAINER_OF(node, struct rider, node)->command.kind == COMMAND_ORDER_CREATE;
    return count;
}

static void submit(struct train *train) {
    struct facade *facade = train->facade;
    struct trip *trip = &train->trip;
    trip->riders = mem_array(trip->count, sizeof trip->riders[0]);
    size_t at = 0;
    LIST_FOR(node, &train->riders) trip->riders[at++] = CONTAINER_OF(node, struct rider, node);
    struct id_range ids = ids_take(&facade->ids, count_creates(train));
    trip->id_next = ids.next;
    trip->id_end = ids.end;
    stock_lock_start_renewal(train);
    if (fault_on(FAULT_UNLOCK_BEFORE_COMMIT)) stock_lock_release(train);
    pool_submit_train(facade->pool, &trip->job);
}

void train_locked(struct train *train) {
    int64_t now_ms = clock_mono_ms();
    train->locked_us = clock_mono_us();
    metric_observe(METRIC_TRAIN_STAGE, STAGE_LOCK, train->locked_us - train->boarded_us);
    LIST_FOR_SAFE(node, &train->riders) {
        struct rider *rider = CONTAINER_OF(node, struct rider, node);
        if (must_leave(rider))
            leave(train, rider, now_ms);
        else
            note_lock_wait(rider, now_ms);
    }
    leave_foreign_lanes(train);
    if (train->trip.count > 0)
        submit(train);
    else
        stock_lock_release(train);
}

/* -- transaction over */

static void note_blocked_rows(struct train *train) {
    int64_t now_ms = clock_mono_ms();
    for (size_t i = 0; i < train->lane_count; i++) train->lanes[i]->row_blocked = false;
    for (size_t i = 0; i < train->trip.blocked_count; i++) {
        struct lane *lane = lanes_find(train->facade->lanes, train->trip.blocked[i]);
        if (lane == NULL) continue;
        lane->row_blocked = true;
        lane->row_retry_ms = lane->row_retry_ms == 0 ? ROW_RETRY_MS_MIN : lane->row_retry_ms * 2;
        if (lane->row_retry_ms > ROW_RETRY_MS_MAX) lane->row_retry_ms = ROW_RETRY_MS_MAX;
        lane->not_before_ms = now_ms + lane->row_retry_ms;
    }
    for (size_t i = 0; i < train->lane_count; i++)
        if (!train->lanes[i]->row_blocked) train->lanes[i]->row_retry_ms = 0;
}

static void settle_rider(struct train *train, struct rider *rider) {
    struct facade *facade = train->facade;
    if (failed(train->trip.job.connection))
        answer_problem(rider, (enum error)train->trip.job.connection.code, "the database is away", NULL);
    else if (rider->fate == FATE_BLOCKED) {
        rider->row_waiting = true;
        facade->probe_wanted = true;
        facade->queued++;
        facade_enqueue(facade, rider);
        return;
    }
    if (rider->fate == FATE_LOOKUP && !failed(train->trip.job.connection)) {
        lookup_again(facade, rider);
        return;
    }
    rider->answer.degraded = train->degraded;
    facade_finish(facade, rider);
}

/* Labels of METRIC_TRAINS. */
enum outcome { OUTCOME_COMMITTED, OUTCOME_NOTHING, OUTCOME_FAILED, OUTCOME_UNKNOWN };

static enum outcome outcome_of(const struct trip *trip) {
    if (trip->unknown) return OUTCOME_UNKNOWN;
    if (trip->failed || failed(trip->job.connection)) return OUTCOME_FAILED;
    return trip->committed ? OUTCOME_COMMITTED : OUTCOME_NOTHING;
}

static void count_train(const struct train *train) {
    const struct trip *trip = &train->trip;
    metric_add(METRIC_TRAINS, outcome_of(trip), 1);
    metric_add(METRIC_TRAIN_COMMANDS, 0, (int64_t)trip->count);
    metric_observe(METRIC_TRAIN_SIZE, 0, (int64_t)trip->count);
    metric_observe(METRIC_TRAIN_STAGE, STAGE_TRANSACTION, trip->transaction_us - trip->commit_us);
    metric_observe(METRIC_TRAIN_STAGE, STAGE_COMMIT, trip->commit_us);
}

/* Others may use the lanes and the slot. */
static void give_up_lanes(struct train *train) {
    struct facade *facade = train->facade;
    if (train->left) return;
    train->left = true;
    for (size_t i = 0; i < train->lane_count; i++) {
        struct lane *lane = train->lanes[i];
        if (lane->train == train) lane->train = NULL;
        if (lane->listed == train) lane->listed = NULL;
    }
    *(train->probe ? &facade->probes_used : &facade->slots_used) -= 1;
    facade->ready = true;
}

/* Redis runs calls in the order they were sent, so the next train's acquire may follow this release without waiting for
 * its answer, unless others were seen at one of the locks: then the answer says whether it is their turn. The train may
 * be gone when this returns. */
static void release(struct train *train) {
    bool contended = false;
    for (size_t i = 0; i < train->product_count; i++) contended |= train->lanes[i]->contended;
    if (!contended) give_up_lanes(train);
    stock_lock_release(train);
}

static void train_finished(struct db_job *job) {
    struct train *train = CONTAINER_OF(job, struct train, trip.job);
    if (train->trip.committed_us == 0)
        train->trip.committed_us = clock_mono_us(); /* no connection: nothing was begun */
    stock_lock_stop_renewal(train);
    ids_give(&train->facade->ids, (struct id_range){train->trip.id_next, train->trip.id_end});
    note_blocked_rows(train);
    count_train(train);
    if (train->trip.committed && train->facade->options.committed != NULL)
        train->facade->options.committed(train->facade->options.committed_arg);
    struct list *node;
    while ((node = list_pop(&train->riders)) != NULL) settle_rider(train, CONTAINER_OF(node, struct rider, node));
    if (train->releasing)
        train_unlocked(train); /* only with the fault switched on: the release was sent before */
    else
        release(train);
}

/* -- locks gone */

static void log_train(const struct train *train) {
    const struct trip *trip = &train->trip;
    if (train->unlocked_us == 0 || trip->committed_us == 0) return;
    metric_observe(METRIC_TRAIN_STAGE, STAGE_UNLOCK, clock_mono_us() - train->unlocked_us);
    if (train->unlocked_us < trip->committed_us) metric_add(METRIC_UNLOCK_EARLY, 0, 1);
    LOG(LOG_DEBUG, "train.done", LOGI("commands", trip->count), LOGI("products", train->product_count),
        LOGI("lockedUs", train->locked_us), LOGI("committedUs", trip->committed_us),
        LOGI("unlockedUs", train->unlocked_us), LOGI("degraded", train->degraded));
}

void train_unlocked(struct train *train) {
    if (!list_empty(&train->riders)) return; /* only with the fault switched on: the transaction is still on its way */
    train->unlocked = true;
    if (train->calls > 0) return; /* an answer is still to come */
    log_train(train);
    give_up_lanes(train);
    list_remove(&train->node);
    train_free(train);
}
