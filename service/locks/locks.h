/* Locks as a service: fenced leases in Redis, asked for over HTTP. Loop thread; nothing blocks, MySQL work rides the
   pool.

   Invariants
   1. What is held stands in Redis alone (Redisson's RLock layout, wire.md §2, and a record of our own beside it). This
      process keeps only who waits, what is on its way, and grants whose delivery is in doubt.
   2. A grant is made by one script, which draws its fence; nothing here hands a lock on without it.
   3. An acquire does nothing after its last moment (notAfter), and one whose answer never came is released by holder
      and grant id before the breaker closes: nobody holds a lock without knowing.
   4. A grant is delivered (its reply was written whole), confirmed (its token came again), or given back.
   5. Of the places of one name only the head talks to Redis. A place without a request that is here is passed over.
   6. done() of an ask is called exactly once, unless it was abandoned; perhaps before the function returns. */
#pragma once

#include "domain/lock.h"
#include "loop/loop.h"
#include "redis/redis.h"
#include "store/pool.h"

struct locks;

#define LOCK_HOLDER_SIZE 65  /* hex of SHA-256 and a NUL */
#define LOCK_GRANT_SIZE 37   /* a UUID */
#define LOCK_SLICE_MS 20000  /* one request waits no longer; then 202 */
#define LOCK_TICKET_MS 10000 /* the place is kept this long after a 202 */

struct locks_options {
    size_t waiters_max;  /* places with more than a try in this process; above: LCK-004 */
    size_t watchers_max; /* see locks/watch.h */
    int64_t redis_timeout_ms;
    const char *redisson_fenced; /* prefixes, comma-separated: names that keep Redisson's own fence counter too */
    bool open_when_down;         /* what onRedisDown is when a request does not say */
    void (*cleaned)(void *arg);  /* locks_clean_up is finished */
    void *arg;
};

struct locks *locks_new(struct loop *loop, struct pool *pool, const struct locks_options *options);
void locks_use_redis(struct locks *locks, struct redis *redis);
/* After redis_free and pool_stop: every call has been answered. Takes NULL, returns NULL. */
struct locks *locks_free(struct locks *locks);
/* Hooks for redis_options. clean_up ends with options.cleaned, unless the connection goes first. */
void locks_clean_up(void *locks);
void locks_redis_changed(void *locks, bool up);
/* Parked requests are answered UNAVAILABLE with Retry-After 0; from now on nothing is parked. */
void locks_drain(struct locks *locks);
/* Nothing waits, nothing is on its way, no delivery is in doubt. */
bool locks_is_idle(const struct locks *locks);

/* The holder field of a token: SHA-256(credential ‖ 0 ‖ token) in hex. The token itself goes no further than this. */
void lock_holder_of(const char *credential, const char *token, char out[LOCK_HOLDER_SIZE]);

/* -- answers */

/* Who holds a name, as far as it is known. */
struct lock_holder {
    bool held;
    bool ours; /* held through this service: owner, fence, metadata and held_for_ms are known */
    char owner[LOCK_OWNER_MAX + 1];
    int64_t fence, held_for_ms, expires_in_ms; /* -1 = without an end (a foreign holder's) */
    struct text metadata;                      /* JSON object text, empty = none */
};
void lock_holder_done(struct lock_holder *holder);

/* One token of a cycle: what it holds of what the one before waits for, and what it waits for. Borrowed. */
struct lock_link {
    const char *name, *owner;
    int64_t fence;
    const char *waits_for;
    int64_t waited_ms;
};

enum lock_outcome { LOCK_DONE, LOCK_GRANTED, LOCK_REPEATED, LOCK_QUEUED };

struct delivery; /* a grant whose reply is on its way */

/* Valid during done(). */
struct lock_answer {
    enum error error; /* ERROR_NONE: outcome and what belongs to it */
    enum lock_outcome outcome;
    enum lock_safety safety;
    const int64_t *fences; /* one per name in the order asked; NULL = null */
    int64_t ttl_ms, safe_for_ms, waited_ms;
    struct delivery *delivery; /* GRANTED and REPEATED; ends with locks_delivered. NULL: nothing to watch */

    size_t position, waiters;         /* QUEUED; LOCK_HELD */
    const char *name;                 /* LOCK_HELD, LEASE_LOST of a set: which one */
    const struct lock_holder *holder; /* LOCK_HELD */
    int64_t retry_ms;                 /* LOCK_HELD */
    const char *reason;               /* LEASE_LOST: expired, released, forced, vanished, superseded, unknown */
    int64_t other_since_ms;           /* LEASE_LOST: Unix ms; 0 = nobody we know of */
    const char *kind;                 /* LOCK_KIND; DONE of a renewal */
    const char *owner;                /* DONE of a renewal */
    int64_t permits;                  /* GRANTED, REPEATED, DONE of a semaphore's renewal; else 0 */
    enum lock_mode mode;           /* GRANTED, REPEATED, DONE of a renewal: exclusive may answer who asked for shared */
    int64_t limit;                 /* LOCK_KIND: the semaphore has this limit; else 0 */
    const struct lock_link *cycle; /* LOCK_DEADLOCK: from the asker on */
    size_t cycle_count;
    const char *detail; /* may be NULL */
    const char *away;   /* DONE of all of a token: the store that could not be asked; NULL: none */
    int retry_after_s;  /* -1 = the error's default */
};
typedef void (*lock_done_fn)(void *arg, const struct lock_answer *answer);

/* -- acquire */

struct ask; /* one PUT */

/* names: 1..LOCK_SET_MAX, all different. Filled in by the caller before locks_acquire. */
struct ask *ask_new(const char *const *names, size_t count);
struct ask_terms {
    char holder[LOCK_HOLDER_SIZE];
    bool token_made; /* by the service: an undelivered grant goes back at once */
    int64_t ttl_ms, wait_ms, received_ms;
    enum lock_kind kind;
    enum lock_mode mode; /* rw; else exclusive */
    enum lock_when_down when_down;
    char owner[LOCK_OWNER_MAX + 1];
    const char *metadata;       /* JSON text, "" = none; copied */
    int64_t permits, limit;     /* semaphore: how many of how many (0 = as it is, else NOT_FOUND) */
    bool (*is_here)(void *arg); /* the client has not hung up */
    lock_done_fn done;
    void *arg;
};
/* Takes the ask. */
void locks_acquire(struct locks *locks, struct ask *ask, const struct ask_terms *terms);
/* The client hung up: done() will not be called. A place without asks is dropped and never granted. */
void locks_abandon(struct locks *locks, struct ask *ask);
/* The reply to a grant was written whole, or will never be. Once for each answer that had a delivery. */
void locks_delivered(struct locks *locks, struct delivery *delivery, bool whole);

/* -- what a token does with a name it holds. fence 0 = whichever. */
struct lock_ref {
    enum lock_kind kind; /* lock: of any kind but the semaphore */
    const char *name;
    const char *holder;
    int64_t fence;
};
void locks_renew(struct locks *locks, const struct lock_ref *ref, int64_t ttl_ms, lock_done_fn done, void *arg);
/* Hands the lock to the head of the local queue in the same script call. */
void locks_release(struct locks *locks, const struct lock_ref *ref, lock_done_fn done, void *arg);

/* -- everything a token holds: locks and permits in Redis, SESSION_SLICE in a script call, and leases in the database;
   of each name by name in the order of their bytes. One of the two stores may be away: what the other one did is told,
   when it did anything; else LOCK_STORE_DOWN. */
#define SESSION_SLICE 64
struct lock_each {
    const char *name;
    bool done;          /* renewed or released */
    int64_t fence;      /* of a renewal */
    const char *reason; /* !done */
};
typedef void (*lock_each_fn)(void *arg, const struct lock_each *each);
struct lock_session {
    const char *holder;
    lock_each_fn each; /* for every name */
    lock_done_fn done; /* at the end: safe_for_ms counts from before the first call. What was done before a failure
                          stays done, and has been told */
    void *arg;
};
void locks_renew_all(struct locks *locks, const struct lock_session *session, int64_t ttl_ms);
void locks_release_all(struct locks *locks, const struct lock_session *session);

/* -- an operator's hand: a lock of any kind, or (kind semaphore) all permits that are out. NULL: the store is away. */
struct lock_forced {
    const char *kind;                 /* another kind of thing stands there, and stays; NULL: done */
    const struct lock_holder *holder; /* whom it was taken from, of several the newest; NULL: it was free */
    int64_t fence;                    /* drawn now: above all that were granted */
};
#define FORCES_MAX 64 /* waiting for an epoch; above: the store counts as away */
typedef void (*lock_forced_fn)(void *arg, const struct lock_forced *forced);
void locks_force(struct locks *locks, enum lock_kind kind, const char *name, lock_forced_fn fn, void *arg);

#define LOCK_HOLDERS_MAX 500 /* told of by one status; the scripts hold the same bound */

/* -- looking. Valid during the call; NULL: the store is away. */
struct lock_status {
    const char *name;
    enum lock_safety store; /* redis or database */
    const char *kind;       /* "" = not in use for a day */
    bool held;
    enum lock_mode mode;
    const struct lock_holder *holders; /* first come first; others' last */
    size_t holder_count; /* 0 when free, and when another kind of thing stands at the name; 1 when exclusive */
    int64_t fence;       /* of the last grant; 0 = none known */
    size_t waiters;      /* in this process */
};
typedef void (*lock_status_fn)(void *arg, const struct lock_status *status);
void locks_status(struct locks *locks, const char *name, lock_status_fn fn, void *arg);

/* -- semaphores: taken by locks_acquire, renewed and released as locks are, with kind semaphore. */
#define SEMAPHORE_HOLDERS_MAX 500 /* told of by one status */
struct semaphore_holder {
    struct lock_holder lock; /* ours false: what others, Java services, hold together */
    int64_t permits;
};
struct semaphore_status {
    const char *name;
    const char *kind;                       /* "" = not in use for a day */
    bool exists;                            /* limit, available and holders are known */
    int64_t limit, available;               /* available: below 0 after the limit was lowered */
    int64_t fence;                          /* of the last grant; 0 = none known */
    const struct semaphore_holder *holders; /* first come first; others' last */
    size_t holder_count, waiters;
};
typedef void (*semaphore_status_fn)(void *arg, const struct semaphore_status *status);
void semaphores_status(struct locks *locks, const char *name, semaphore_status_fn fn, void *arg);
/* Changes how many permits there are. done: DONE, NOT_FOUND when there is no semaphore, LOCK_KIND, LOCK_STORE_DOWN. */
void semaphores_limit(struct locks *locks, const char *name, int64_t limit, lock_done_fn done, void *arg);

/* Held names under a prefix, of all kinds and both stores, ascending, from after `after` ("" = the first); `limit` of
   them at most, perhaps fewer. each, or each_semaphore, is called per name that is held now. done once: next is where
   to go on, "" at the end, NULL: nobody can say. away: the store that could not be asked, NULL: none. */
struct lock_list {
    const char *prefix, *after;
    size_t limit;
    lock_status_fn each;
    semaphore_status_fn each_semaphore;
    void (*done)(void *arg, const char *next, const char *away);
    void *arg;
};
void locks_list(struct locks *locks, const struct lock_list *list);
