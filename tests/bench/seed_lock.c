#include "bench/seed_lock.h"

#include "base/clock.h"
#include "base/text.h"

#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HELD (-1)
#define STOP_POLL_MS 50 /* how soon the listener sees that it shall end */

/* In Redisson's layout: a hash with the owner's hold count, the lease on the key. Reply: nil = held, else the TTL. */
static const char acquire_script[] =
    "if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then "
    "redis.call('HINCRBY', KEYS[1], ARGV[1], 1) "
    "redis.call('PEXPIRE', KEYS[1], ARGV[2]) return nil end "
    "return redis.call('PTTL', KEYS[1])";
static const char release_script[] =
    "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return nil end "
    "if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then "
    "redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 0 end "
    "redis.call('DEL', KEYS[1]) "
    "redis.call('PUBLISH', 'redisson_lock__channel:{' .. KEYS[1] .. '}', '0') return 1";

/* The bench has no way on without Redis. */
static void die(const char *what, const redisContext *redis) {
    fprintf(stderr, "seed way: %s: %s\n", what, redis && redis->errstr[0] ? redis->errstr : "no answer");
    exit(1);
}

static redisContext *open_redis(const struct seed_redis *options) {
    redisContext *redis = redisConnect(options->host, options->port);
    if (!redis || redis->err) die("connect", redis);
    return redis;
}

/* One unlock message: one waiter goes on. */
static void add_permit(struct seed_client *client) {
    pthread_mutex_lock(&client->mutex);
    if (client->waiters > 0) client->permits++;
    pthread_cond_signal(&client->wake);
    pthread_mutex_unlock(&client->mutex);
}

static void handle_messages(struct seed_client *client) {
    void *reply = NULL;
    while (redisReaderGetReply(client->subscription->reader, &reply) == REDIS_OK && reply) {
        const redisReply *message = reply;
        if (message->elements == 3 && strcmp(message->element[0]->str, "message") == 0) add_permit(client);
        freeReplyObject(reply);
    }
}

static void *listen_for_unlocks(void *arg) {
    struct seed_client *client = arg;
    struct pollfd ready = {.fd = client->subscription->fd, .events = POLLIN};
    while (!atomic_load(&client->stopping)) {
        if (poll(&ready, 1, STOP_POLL_MS) <= 0) continue;
        if (redisBufferRead(client->subscription) != REDIS_OK) die("subscription", client->subscription);
        handle_messages(client);
    }
    return NULL;
}

bool seed_client_start(struct seed_client *client, const struct seed_redis *redis, const char *key) {
    pthread_condattr_t monotonic;
    if (!text_format(client->channel, sizeof client->channel, "redisson_lock__channel:{%s}", key)) return false;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&client->mutex, NULL);
    pthread_cond_init(&client->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    client->subscription = open_redis(redis);
    redisReply *reply = redisCommand(client->subscription, "SUBSCRIBE %s", client->channel);
    if (!reply || reply->type != REDIS_REPLY_ARRAY) die("SUBSCRIBE", client->subscription);
    freeReplyObject(reply);
    return pthread_create(&client->listener, NULL, listen_for_unlocks, client) == 0;
}

void seed_client_stop(struct seed_client *client) {
    atomic_store(&client->stopping, true);
    pthread_mutex_lock(&client->mutex);
    pthread_cond_broadcast(&client->wake);
    pthread_mutex_unlock(&client->mutex);
    pthread_join(client->listener, NULL);
    redisFree(client->subscription);
}

static void load_script(redisContext *redis, const char *script, char *sha) {
    redisReply *reply = redisCommand(redis, "SCRIPT LOAD %s", script);
    if (!reply || reply->type != REDIS_REPLY_STRING) die("SCRIPT LOAD", redis);
    (void)text_format(sha, 41, "%s", reply->str);
    freeReplyObject(reply);
}

bool seed_lock_open(struct seed_lock *lock, const struct seed_redis *redis, int number) {
    char uuid[TEXT_UUID_SIZE];
    text_uuid(uuid);
    lock->redis = open_redis(redis);
    random_init(&lock->random, (uint64_t)number);
    load_script(lock->redis, acquire_script, lock->acquire_sha);
    load_script(lock->redis, release_script, lock->release_sha);
    return text_format(lock->owner, sizeof lock->owner, "%s:%d", uuid, number);
}

void seed_lock_close(struct seed_lock *lock) { redisFree(lock->redis); }

/* HELD or the TTL of whoever holds it. */
static int64_t try_once(struct seed_lock *lock) {
    lock->tries++;
    redisReply *reply = redisCommand(lock->redis, "EVALSHA %s 1 %s %s %lld", lock->acquire_sha, lock->key, lock->owner,
                                     (long long)lock->lease_ms);
    if (!reply || reply->type == REDIS_REPLY_ERROR) die("acquire", lock->redis);
    int64_t ttl = reply->type == REDIS_REPLY_NIL ? HELD : reply->integer;
    freeReplyObject(reply);
    return ttl;
}

void seed_lock_give(struct seed_lock *lock) {
    redisReply *reply = redisCommand(lock->redis, "EVALSHA %s 1 %s %s %lld", lock->release_sha, lock->key, lock->owner,
                                     (long long)lock->lease_ms);
    if (!reply || reply->type == REDIS_REPLY_ERROR) die("release", lock->redis);
    freeReplyObject(reply);
}

static struct timespec at(int64_t mono_us) {
    return (struct timespec){.tv_sec = mono_us / 1000000, .tv_nsec = (mono_us % 1000000) * 1000};
}

/* Until a message wakes this thread, or `us` have passed. */
static void wait_for_unlock(struct seed_client *client, int64_t us) {
    struct timespec until = at(clock_mono_us() + us);
    int timed_out = 0;
    while (client->permits == 0 && !timed_out && !atomic_load(&client->stopping))
        timed_out = pthread_cond_timedwait(&client->wake, &client->mutex, &until);
    if (client->permits > 0) client->permits--;
}

static bool take_by_message(struct seed_lock *lock, int64_t until_us) {
    struct seed_client *client = lock->client;
    int64_t ttl = 0;
    pthread_mutex_lock(&client->mutex);
    client->waiters++;
    for (;;) {
        pthread_mutex_unlock(&client->mutex);
        ttl = try_once(lock); /* once more after subscribing: the message may have gone before */
        pthread_mutex_lock(&client->mutex);
        int64_t left_us = until_us - clock_mono_us();
        if (ttl == HELD || left_us <= 0 || atomic_load(lock->stopping)) break;
        wait_for_unlock(client, ttl * 1000 < left_us ? ttl * 1000 : left_us);
    }
    if (--client->waiters == 0) client->permits = 0;
    pthread_mutex_unlock(&client->mutex);
    return ttl == HELD;
}

static bool take_by_polling(struct seed_lock *lock, int64_t until_us) {
    while (clock_mono_us() < until_us && !atomic_load(lock->stopping)) {
        /* 0.5 … 1.5 of the rest, lest all ask in step */
        int64_t rest_us = lock->poll_ms * (500 + (int64_t)random_below(&lock->random, 1000));
        struct timespec until = at(clock_mono_us() + rest_us);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        if (try_once(lock) == HELD) return true;
    }
    return false;
}

bool seed_lock_take(struct seed_lock *lock, int64_t wait_ms) {
    int64_t until_us = clock_mono_us() + wait_ms * 1000;
    if (try_once(lock) == HELD) return true;
    return lock->client ? take_by_message(lock, until_us) : take_by_polling(lock, until_us);
}
