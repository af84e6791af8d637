/* The waiting line: bounded, in arrival order; deadlines; who goes next is boarding.c's to say.
   Invariant: a rider is in exactly one of lookup list, queue, train, a twin's followers. */
#include "base/clock.h"
#include "base/memory.h"
#include "facade/answer.h"
#include "facade/internal.h"
#include "metrics/metrics.h"

#include <stdlib.h>

#define SWEEP_MS 20 /* how late a deadline may be noticed */

struct facade *facade_new(struct loop *loop, struct pool *pool, const struct facade_options *options) {
    struct facade *facade = mem_new(sizeof *facade);
    facade->loop = loop;
    facade->pool = pool;
    facade->options = *options;
    facade->rules = (struct trip_rules){options->reservation_ttl_ms, pool};
    text_uuid(facade->owner);
    facade->lanes = lanes_new(stock_lock_unlisten);
    facade->twins = mem_array(TWIN_BUCKETS, sizeof facade->twins[0]);
    list_init(&facade->queue);
    list_init(&facade->trains);
    list_init(&facade->lookups);
    list_init(&facade->lookup_queue);
    list_init(&facade->leftovers);
    facade->outside = outside_new(facade);
    return facade;
}

void facade_use_redis(struct facade *facade, struct redis *redis) { facade->redis = redis; }

static void refuse_all(struct facade *facade, struct list *riders) {
    struct list *node;
    while ((node = list_pop(riders)) != NULL)
        facade_refuse(facade, CONTAINER_OF(node, struct rider, node), ERROR_UNAVAILABLE, "the service is stopping",
                      NULL);
}

void facade_stop(struct facade *facade) {
    outside_close(facade->outside);
    refuse_all(facade, &facade->queue);
    refuse_all(facade, &facade->lookup_queue);
    facade->sweep = loop_timer_free(facade->sweep);
    facade->yields = loop_timer_free(facade->yields);
    lanes_let_go(facade->lanes);
    facade->stopped = true;
}

struct facade *facade_free(struct facade *facade) {
    if (facade == NULL) return NULL;
    if (!facade->stopped) facade_stop(facade);
    stock_lock_forget_leftovers(facade);
    facade->outside = outside_free(facade->outside);
    facade->lanes = lanes_free(facade->lanes);
    free(facade->twins);
    free(facade);
    return NULL;
}

bool facade_is_idle(const struct facade *facade) {
    return list_empty(&facade->queue) && list_empty(&facade->trains) && facade->lookup == NULL &&
           outside_is_idle(facade->outside);
}

void facade_finish(struct facade *facade, struct rider *rider) {
    twins_leave(facade, rider);
    if (rider->lanes != NULL) lanes_detach(facade->lanes, rider);
    if (rider->answer.replayed) metric_add(METRIC_IDEMPOTENT_REPLAYS, 0, 1);
    if (rider->done != NULL) rider->done(rider->arg, &rider->answer);
    rider_free(rider);
}

void facade_refuse(struct facade *facade, struct rider *rider, enum error error, const char *detail,
                   const char *extras) {
    answer_problem(rider, error, detail, extras);
    facade_finish(facade, rider);
}

static void sweep(void *arg);

/* Until nobody waits any more. */
static void watch_the_clock(struct facade *facade) {
    if (facade->sweep == NULL) facade->sweep = loop_timer_new(facade->loop, sweep, facade);
    if (!loop_timer_is_active(facade->sweep)) loop_timer_start(facade->sweep, SWEEP_MS, SWEEP_MS);
}

void facade_submit(struct facade *facade, struct rider *rider) {
    rider->sequence = ++facade->sequence;
    rider->deadline_ms = rider->arrived_us / 1000 + facade->options.deadline_ms;
    if (facade->queued >= facade->options.queue_max) {
        metric_add(METRIC_REFUSED, 0, 1);
        facade_refuse(facade, rider, ERROR_UNAVAILABLE, "the queue is full", NULL);
        return;
    }
    facade->queued++;
    rider->in_queue = true;
    watch_the_clock(facade);
    if (twins_join(facade, rider)) return;
    if (lookup_is_needed(rider))
        lookup_add(facade, rider);
    else
        facade_enqueue(facade, rider);
}

static void remove_from_queue(struct facade *facade, struct rider *rider) {
    list_remove(&rider->node);
    rider->in_queue = false;
    facade->queued--;
}

void facade_abandon(struct facade *facade, struct rider *rider) {
    rider->done = NULL;
    if (!rider->in_queue || !list_empty(&rider->followers)) return; /* it travels, or others wait for it */
    remove_from_queue(facade, rider);
    facade_finish(facade, rider);
}

/* PRD-004: the lock was not had within the wait. */
static void refuse_busy(struct facade *facade, struct rider *rider) {
    char extras[96];
    int64_t product_id = 0;
    for (size_t i = 0; i < rider->lane_count && product_id == 0; i++)
        if (rider->lanes[i]->foreign) product_id = rider->lanes[i]->key;
    if (product_id == 0) product_id = rider->command.lines[0].product_id;
    (void)text_format(extras, sizeof extras, STOCK_BUSY_EXTRAS, (long long)product_id);
    metric_add(METRIC_REFUSED, 2, 1);
    facade_refuse(facade, rider, ERROR_STOCK_BUSY, "another holder kept the stock lock for the whole wait", extras);
}

static void expire(struct facade *facade, struct rider *rider, int64_t now_ms) {
    facade->probe_wanted |= rider_is_blocked(rider);
    bool lock_wait_over =
        rider->lock_wait_since_ms != 0 && now_ms - rider->lock_wait_since_ms >= facade->options.lock_wait_ms;
    if (!lock_wait_over && now_ms < rider->deadline_ms) return;
    remove_from_queue(facade, rider);
    facade->ready = true; /* it reserved lanes against those behind it */
    if (lock_wait_over) {
        refuse_busy(facade, rider);
        return;
    }
    metric_add(METRIC_REFUSED, 1, 1);
    facade_refuse(facade, rider, ERROR_DEADLINE,
                  rider->row_waiting ? "another session holds a row of this command"
                                     : "the deadline passed before the command could travel",
                  NULL);
}

static void expire_all(struct facade *facade, struct list *riders, int64_t now_ms) {
    LIST_FOR_SAFE(node, riders) { expire(facade, CONTAINER_OF(node, struct rider, node), now_ms); }
}

static void sweep(void *arg) {
    struct facade *facade = arg;
    int64_t now_ms = clock_mono_ms();
    facade->probe_wanted = false; /* unless somebody still waits for one */
    expire_all(facade, &facade->queue, now_ms);
    expire_all(facade, &facade->lookups, now_ms);
    expire_all(facade, &facade->lookup_queue, now_ms);
    twins_sweep(facade, now_ms);
    lanes_sweep(facade->lanes, now_ms);
    int64_t age_us = 0;
    if (!list_empty(&facade->queue))
        age_us = clock_mono_us() - CONTAINER_OF(facade->queue.next, struct rider, node)->arrived_us;
    metric_set(METRIC_QUEUE_AGE, 0, age_us / 1000);
    metric_set(METRIC_QUEUE_DEPTH, 0, (int64_t)facade->queued);
    facade->ready = true;
    if (facade_is_idle(facade) && lanes_count(facade->lanes) == 0) loop_timer_stop(facade->sweep);
}

void facade_enqueue(struct facade *facade, struct rider *rider) {
    if (rider->lanes == NULL) lanes_attach(facade->lanes, rider);
    queue_insert(&facade->queue, rider);
    if (!facade->ready) facade->ready = rider_is_ready(rider, clock_mono_ms());
}

static void depart_all(struct facade *facade) {
    if (!facade->ready) return;
    facade->ready = false;
    /* One rider with a blocked row at a time, beside the slots: a foreign session's row must not cost the others
     * theirs. It goes first, when it may: it reserves nothing, and what else it needs may be in use but for this
     * moment. */
    if (facade->probe_wanted && facade->probes_used == 0) (void)train_depart(facade, true);
    while (facade->slots_used < facade->options.train_slots && !list_empty(&facade->queue))
        if (!train_depart(facade, false)) break;
}

void facade_pump(void *arg) {
    struct facade *facade = arg;
    depart_all(facade);
    redis_flush(facade->redis); /* lock calls travel while this turn's answers are written */
}
