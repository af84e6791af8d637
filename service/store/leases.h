/* Leases of locks kept in the database (lock_leases). Each change is one UPDATE that compares what it found with what
   it expects, with the database's own time; its row count is the answer. On a worker, in autocommit.

   Invariants
   1. At most one holder: a row is given only when it has none, or the lease of the one it has is over.
   2. fence grows with every grant of a name, and begins above all fences Redis was ever given numbers for. */
#pragma once

#include "domain/lock.h"
#include "store/db.h"

#define LEASE_HOLDER_SIZE 65 /* hex of SHA-256 and a NUL */
#define LEASE_GRANT_SIZE 37  /* a UUID */
#define LEASE_REASON_SIZE 13
#define LEASES_BOUND_MAX 10000 /* names told of by leases_bound */

enum lease_state { LEASE_FREE, LEASE_HELD, LEASE_REPEATED, LEASE_GRANTED };

/* Who holds, as far as the state says that somebody does. */
struct lease {
    enum lease_state state;
    int64_t fence; /* of the last grant; 0 = the name was never used here */
    int64_t left_ms, held_ms;
    char owner[LOCK_OWNER_MAX + 1];
    char metadata[LOCK_METADATA_MAX + 1];
};

struct lease_terms {
    char name[LOCK_NAME_MAX + 1];
    char holder[LEASE_HOLDER_SIZE];
    char grant[LEASE_GRANT_SIZE];
    char owner[LOCK_OWNER_MAX + 1];
    char metadata[LOCK_METADATA_MAX + 1];
    int64_t ttl_ms;
};
/* Takes the name unless another holds it. REPEATED: the holder has it already; another grant id confirms that grant. */
RESULT leases_take(struct db *db, const struct lease_terms *terms, struct lease *ret);
/* As leases_take, without ever granting. */
RESULT leases_look(struct db *db, const struct lease_terms *terms, struct lease *ret);
/* HELD or FREE. */
RESULT leases_read(struct db *db, const char *name, struct lease *ret);

/* A renewal, or with ttl_ms 0 a release. */
struct lease_change {
    char name[LOCK_NAME_MAX + 1];
    char holder[LEASE_HOLDER_SIZE];
    int64_t fence;                /* 0 = whichever */
    char grant[LEASE_GRANT_SIZE]; /* "" = whichever; else only that grant, and only when nobody has confirmed it */
    int64_t ttl_ms;
};
struct lease_changed {
    bool is_known; /* the name has a row in which this holder is, or was the last before */
    bool done;     /* renewed or released, also when released a minute ago at most */
    int64_t fence, held_ms;
    char owner[LOCK_OWNER_MAX + 1];
    char reason[LEASE_REASON_SIZE]; /* !done: expired, released, superseded */
    int64_t other_since_ms;         /* !done: Unix ms; 0 = nobody */
};
RESULT leases_change(struct db *db, const struct lease_change *change, struct lease_changed *ret);

/* leases_many.c: all that a holder has, renewed or (ttl_ms 0) released, LEASES_SLICE in one transaction; and what it
   has lost, once. fn is called for each name, ascending by bytes, when its transaction is through. */
#define LEASES_SLICE 64
#define LEASES_OF_MAX 10000 /* of one holder; with more it fails at the end */
typedef void (*lease_changed_fn)(void *arg, const char *name, const struct lease_changed *changed);
RESULT leases_change_all(struct db *db, const char *holder, int64_t ttl_ms, lease_changed_fn fn, void *arg);

/* leases_many.c: what is held now, ascending by bytes: names that begin with prefix and come after `after` ("" = from
   the first), `limit` at most. */
struct lease_range {
    const char *prefix, *after;
    size_t limit;
};
RESULT leases_list(struct db *db, const struct lease_range *range,
                   void (*fn)(void *arg, const char *name, const struct lease *lease), void *arg);

/* Takes the name from its holder: *ret_was is what stood there. A fence is drawn above all that were given, also when
   it was free; *ret_fence 0: the name was never used here. */
RESULT leases_force(struct db *db, const char *name, struct lease *ret_was, int64_t *ret_fence);

/* The highest fence from `fence` on of a name that has not been in use for LEASES_IDLE_H; 0: none has one. */
/* A name is bound for 24 h: that leaves time to try again, and no epoch is drawn more often. */
#define LEASES_IDLE_H 6
RESULT leases_ahead(struct db *db, int64_t fence, int64_t *ret_highest);

/* Names that are bound to this store: in use now or within a day. The latest first, LEASES_BOUND_MAX at most. */
RESULT leases_bound(struct db *db, void (*fn)(void *arg, const char *name), void *arg);
