/* Names kept in MySQL ("store": "database"): the kind LOCK_KIND_DATABASE of queues and places, whose heads ask the
   database instead of Redis. Redis is told that such a name is bound, so that it is not given there, and wakes waiters.

   Invariants
   1. What is held stands in lock_leases alone; Redis may be away or empty at any time.
   2. A grant is answered only after Redis, when it is there, has been told of the name and had no other use for it; and
   a new epoch of fences is set only after Redis has been told of all such names again (fence.c).
   3. A take whose answer never came is undone by its grant id, again and again until the lease would be over. */
#pragma once

#include "locks/internal.h"
#include "store/leases.h"

/* The head asks (queue->asking is set by the caller), or a place behind it looks whether its token holds already. */
void database_take(struct locks *locks, struct place *place, bool look);
/* A grant that reached nobody. Takes the ref. */
void database_undo(struct grant_ref *ref);
/* What was not to be had from Redis may be held here: asked before the answer is given. ttl_ms 0: a release. False: it
   is not for the database, and nothing was done. */
bool database_change(struct locks *locks, const struct grant_ref *ref, int64_t ttl_ms, const struct lock_answer *answer,
                     lock_done_fn done, void *arg);
/* As locks_status. */
void database_status(struct locks *locks, const char *name, const struct status_listener *listener);
/* As locks_force; NULL also when the name was never used here. */
void database_force(struct locks *locks, const char *name, lock_forced_fn fn, void *arg);

/* database_many.c: all that a holder has here, renewed or (ttl_ms 0) released. fn is called for each name, then once
   with an each without a name; or with NULL at the end, when the database did not answer in DATABASE_SESSION_MS: it may
   still do what it was asked. A heartbeat for leases in Redis does not wait longer for a database that hangs. */
#define DATABASE_SESSION_MS 1000
typedef void (*database_session_fn)(void *arg, const struct lock_each *each);
struct database_session {
    const char *holder;
    int64_t ttl_ms;
    database_session_fn fn;
    void *arg;
};
void database_session(struct locks *locks, const struct database_session *asked);

/* database_many.c: what list asks for, list->limit at most. NULL: the database is away. Valid during the call, unless
   fn takes rows (and frees them). */
struct database_lease {
    char name[LOCK_NAME_MAX + 1];
    struct lease lease;
};
struct database_leases {
    struct database_lease *rows;
    size_t count;
    bool is_full; /* there may be more behind the last */
};
void database_list(struct locks *locks, const struct lock_list *list,
                   void (*fn)(void *arg, struct database_leases *leases), void *arg);

/* What its files share. */
/* Tells of a lease as of a name's status. */
void database_tell(struct locks *locks, const char *name, const struct lease *lease,
                   const struct status_listener *listener);
/* Its lease lasts ms from now: Redis keeps it bound as long, and a day. */
void database_keep_bound(struct locks *locks, const char *name, int64_t ms);
/* A name is free again: waiters of all instances look. */
void database_wake(struct locks *locks, const char *name);
void database_change_of(struct lease_change *change, const struct grant_ref *ref, int64_t ttl_ms);
