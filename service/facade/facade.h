/* The order path: queue → train → lock → transaction → commit → answers → unlock, in that order, always. Loop thread.
 */
#pragma once

#include "facade/rider.h"
#include "loop/loop.h"
#include "redis/redis.h"
#include "store/pool.h"

struct facade;

struct facade_options {
    size_t queue_max;
    size_t train_max, train_products_max, train_slots;
    int64_t deadline_ms, lock_wait_ms, lock_lease_ms, redis_timeout_ms;
    int64_t reservation_ttl_ms;
    void (*committed)(void *arg); /* a train has committed something; loop thread; may be NULL */
    void *committed_arg;
};

/* The pool and Redis outlive it. Redis is given later by facade_use_redis: its callbacks need the facade first. */
struct facade *facade_new(struct loop *loop, struct pool *pool, const struct facade_options *options);
void facade_use_redis(struct facade *facade, struct redis *redis);
/* No train is in a transaction. Answers who still waits with SYS-011 and gives up what it listens to in Redis, which is
 * still there. Once. */
void facade_stop(struct facade *facade);
/* After Redis is gone: its last answers still come to the trains. Takes NULL, returns NULL. */
struct facade *facade_free(struct facade *facade);

/* Takes the rider. done() is called once, perhaps before this returns (queue full, draining). */
void facade_submit(struct facade *facade, struct rider *rider);
/* The client went away: done() will not be called. A rider that has not boarded is dropped and does nothing. */
void facade_abandon(struct facade *facade, struct rider *rider);

/* Makes trains while there are slots and riders. To be registered as a turn callback. */
void facade_pump(void *facade);

/* Nothing waits, nothing is on its way, every lock of a train has been let go. */
bool facade_is_idle(const struct facade *facade);

/* Hooks for redis_options. */
void facade_clean_up(void *facade);
void facade_redis_changed(void *facade, bool up);
