/* One Redis (primary) seen from the loop: a command connection, a subscriber connection, a breaker. Sole user of
   <hiredis.h>, with its neighbours in redis/. All functions and callbacks: loop thread. Nothing blocks.

   Breaker: CLOSED → OPEN at once when a call fails or is unanswered for call_timeout_ms (checked only after the loop
   has read what was ready), or when Redis answers a script with an error: it is no writable primary (READONLY, LOADING,
   MASTERDOWN, NOAUTH) or refuses to write (NOREPLICAS, OOM, MISCONF). All pending calls are then answered with NULL,
   the connections are dropped. While OPEN, calls are refused at once. A probe reconnects (back-off 50 ms … 1 s, anew
   after a call that succeeded): AUTH, SELECT, INFO (role, cluster mode, version, maxmemory-policy), TIME, SCRIPT LOAD;
   then `clean_up` of the owner runs on the new connection; when the owner calls redis_cleaned, the breaker closes.
   Cluster mode, a replica or a Redis before 6.2 never closes it (logged once a minute). */
#pragma once

#include "base/result.h"
#include "base/text.h"
#include "loop/loop.h"

#include <stddef.h>

struct redis;
struct redis_value; /* a reply, valid during the callback */

enum redis_script {
    SCRIPT_TRAIN_ACQUIRE,
    SCRIPT_TRAIN_RENEW,
    SCRIPT_TRAIN_RELEASE,
    SCRIPT_LOCK_ACQUIRE,
    SCRIPT_LOCK_RENEW,
    SCRIPT_LOCK_RELEASE,
    SCRIPT_LOCK_STATUS,
    SCRIPT_LOCK_WATCH,
    SCRIPT_LOCK_FENCE,
    SCRIPT_LOCK_NAMES,
    SCRIPT_LOCK_LIST,
    SCRIPT_LOCK_FORCE,
    SCRIPT_LOCK_BIND,
    SCRIPT_LOCK_WAIT,
    SCRIPT_RW_ACQUIRE,
    SCRIPT_RW_REARM,
    SCRIPT_FAIR_ACQUIRE,
    SCRIPT_FAIR_BEAT,
    SCRIPT_FAIR_LEAVE,
    SCRIPT_SEMAPHORE_ACQUIRE,
    SCRIPT_SEMAPHORE_RENEW,
    SCRIPT_SEMAPHORE_RELEASE,
    SCRIPT_SEMAPHORE_LIMIT,
    SCRIPT_SEMAPHORE_FORCE,
    SCRIPT_SEMAPHORE_STATUS,
    SCRIPT_COUNT
};

struct redis_options {
    const char *url; /* redis://[user:pass@]host[:port][/db], rediss:// is refused with a clear message until TLS is
                        built in; NULL or "" = no Redis: permanently open, silent */
    int64_t call_timeout_ms;
    int64_t replicas, replica_wait_ms; /* see redis_await_replicas; 0 replicas = none is waited for */
    void (*clean_up)(void *arg); /* new connection, breaker still open: redis_eval works for the owner now; ends with
                                    redis_cleaned(). NULL = nothing to do */
    void (*changed)(void *arg, bool up); /* breaker closed (true) or opened (false); may be NULL */
    void *arg;
};

/* NULL value = the call was refused, failed or never answered: then `sent` tells whether it may still take effect.
 * Error replies of Redis arrive as values of type error. */
typedef void (*redis_fn)(void *arg, const struct redis_value *value, bool sent);
typedef void (*redis_message_fn)(void *arg, const char *channel, const char *payload, size_t len);

/* INVALID_REQUEST on a malformed url, with a log line that says why. Starts connecting. SIGPIPE is ignored from here on
   in the whole process: hiredis writes without MSG_NOSIGNAL. */
RESULT redis_new(struct loop *loop, const struct redis_options *options, struct redis **ret);
/* Drops both connections; pending calls are answered with NULL first. Subscriptions still there end with it. Takes
   NULL, returns NULL. Not from a callback of this redis. */
struct redis *redis_free(struct redis *redis);
/* Breaker closed. */
bool redis_is_up(const struct redis *redis);
bool redis_is_configured(const struct redis *redis);
/* run_id of the server of the last connection: another one means another process, which may have lost writes. "" when
 * never known. */
const char *redis_run_id(const struct redis *redis);
/* The owner's clean_up is finished. */
void redis_cleaned(struct redis *redis);

/* EVALSHA with NOSCRIPT fallback to EVAL. words: keys, then arguments, as they go over the wire (redis/command.h);
 * taken in any case. fn is called exactly once (possibly before this returns, when refused). What the scripts take and
 * answer stands in redis/scripts/. Made by redis/call.h. */
struct redis_words {
    enum redis_script script;
    size_t key_count, arg_count;
    struct text words;
};
void redis_eval(struct redis *redis, struct redis_words *words, redis_fn fn, void *arg);

/* Writes the calls made so far now, instead of when the loop polls next: for a caller whose turn has long work behind
 * it. Does nothing inside a reply's callback. May find the connection lost: then pending calls are answered before it
 * returns. */
void redis_flush(struct redis *redis);

/* fn is told, perhaps before this returns, whether as many replicas as the options say have acknowledged, within their
 * time, all writes of this process that were answered before the call. */
typedef void (*redis_replicated_fn)(void *arg, bool acknowledged);
void redis_await_replicas(struct redis *redis, redis_replicated_fn fn, void *arg);
/* Any is waited for. */
bool redis_has_replicas(const struct redis *redis);

/* Estimated Redis clock now, Unix ms (from TIME at connect, corrected by redis_saw_time); 0 when never known. */
int64_t redis_now_ms(const struct redis *redis);
/* A script's reply told the Redis time; sent_mono_ms = when the call was sent. */
void redis_saw_time(struct redis *redis, int64_t redis_ms, int64_t sent_mono_ms);

/* Channels: one subscription per channel and owner. ready (may be NULL) is called when Redis confirmed it, and again
 * after every reconnect. Subscriptions survive reconnects. */
struct redis_subscription;
struct redis_subscription *redis_subscribe(struct redis *redis, const char *channel, redis_message_fn fn,
                                           void (*ready)(void *arg), void *arg);
/* Takes NULL, returns NULL. */
struct redis_subscription *redis_unsubscribe(struct redis_subscription *subscription);
/* Confirmed by Redis and not yet given up: this process counts as one subscriber of the channel. */
bool redis_subscription_is_live(const struct redis_subscription *subscription);

/* Replies. */
enum redis_type { REDIS_NIL, REDIS_INT, REDIS_STR, REDIS_ARRAY, REDIS_ERROR };
enum redis_type redis_type_of(const struct redis_value *value);
int64_t redis_int(const struct redis_value *value);                      /* 0 unless int (or a decimal string) */
const char *redis_str(const struct redis_value *value, size_t *ret_len); /* "" unless string, status or error */
size_t redis_len(const struct redis_value *value);                       /* elements of an array, else 0 */
const struct redis_value *redis_at(const struct redis_value *value, size_t index);
