/* The lock of the seed's way: Redisson's RLock from a blocking client, and how Redisson waits for it.
   A `seed_client` is what one JVM with Redisson is: one subscription for all its threads, and each unlock message wakes
   one of them. A poller (poll_ms > 0) subscribes to nothing and asks again after a rest. Redisson's unlock latch, a
   second round trip per release, is left out: it would only slow this side down. */
#pragma once

#include "base/result.h"
#include "bench/random.h"

#include <pthread.h>
#include <stdatomic.h>

struct redisContext;

struct seed_redis {
    const char *host;
    int port;
};

/* Waiters of one client. permits grows by one per message and falls by one per wake-up, as Redisson's latch does. */
struct seed_client {
    char channel[128];
    struct redisContext *subscription;
    pthread_t listener;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    int waiters;
    int64_t permits;
    atomic_bool stopping;
};

/* Subscribes and starts the listener. False, with a line on stderr, when Redis does not answer. */
bool seed_client_start(struct seed_client *client, const struct seed_redis *redis, const char *key);
/* Wakes all waiters for good; the listener ends. */
void seed_client_stop(struct seed_client *client);

/* One thread's hand on the lock. */
struct seed_lock {
    struct seed_client *client; /* NULL = poller */
    struct redisContext *redis;
    const char *key;
    char owner[64];
    char acquire_sha[41], release_sha[41];
    int64_t lease_ms, poll_ms;
    struct random random; /* of the poller's rests */
    uint64_t tries;
    atomic_bool *stopping;
};

bool seed_lock_open(struct seed_lock *lock, const struct seed_redis *redis, int number);
void seed_lock_close(struct seed_lock *lock);
/* tryLock(wait_ms): true when held. */
bool seed_lock_take(struct seed_lock *lock, int64_t wait_ms);
/* DEL and PUBLISH 0. */
void seed_lock_give(struct seed_lock *lock);
