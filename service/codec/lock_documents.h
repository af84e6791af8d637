/* Reply documents of the lock API (api/openapi.yaml). Each appends one whole JSON value, or members without braces
   where it says so. Pure; any thread. */
#pragma once

#include "codec/json.h"
#include "domain/lock.h"

/* Who holds: the values of one holder. */
struct lock_holder_view {
    const char *owner;    /* NULL = not one of ours: owner, fence, heldForMs and metadata are null */
    const char *metadata; /* JSON text, "" = null */
    int64_t fence, held_for_ms;
    int64_t expires_in_ms; /* -1 = null */
};
void document_lock_holder(struct text *out, const struct lock_holder_view *view);

/* Members of the problems LCK-001 (name NULL: left out; view NULL: nobody holds it, others were first), LCK-002,
 * LCK-005. */
struct lock_held_view {
    const char *name;
    const struct lock_holder_view *holder;
    size_t waiters;
    int64_t retry_after_ms;
};
void members_lock_held(struct text *out, const struct lock_held_view *view);
void members_lease_lost(struct text *out, const char *reason, int64_t other_since_ms);
void members_lock_kind(struct text *out, const char *kind);

/* Member of LCK-007: "cycle". A token of it; NULL = null: the reader may not know. */
struct lock_link_view {
    const char *name, *owner;
    int64_t fence; /* 0 = null */
    const char *waits_for;
    int64_t waited_ms;
};
void members_lock_cycle(struct text *out, const struct lock_link_view *links, size_t count);

/* GET /v1/locks/{name}, and its like in the list. */
struct lock_status_view {
    const char *name, *kind; /* kind "" = null */
    const char *store;       /* of the list; NULL: left out */
    bool held;
    enum lock_mode mode; /* when held */
    const struct lock_holder_view *holders;
    size_t holder_count;
    int64_t fence; /* 0 = null */
    size_t waiters;
};
void document_lock_status(struct text *out, const struct lock_status_view *view);

/* GET /v1/semaphores/{name}, and its like in the list of locks. */
struct semaphore_holder_view {
    struct lock_holder_view lock;
    int64_t permits;
};
struct semaphore_status_view {
    const char *name, *kind; /* kind "" = null */
    const char *store;       /* of the list, with what its other items have too; NULL: left out */
    bool exists;             /* else limit and available are null */
    int64_t limit, available;
    const struct semaphore_holder_view *holders;
    size_t holder_count;
    int64_t fence; /* 0 = null */
    size_t waiters;
};
void document_semaphore_status(struct text *out, const struct semaphore_status_view *view);

/* An event of a stream: {"name","kind","held","holder","waiters"}. */
struct lock_event_view {
    const char *name, *kind;               /* kind "" = null */
    bool held;                             /* now */
    const struct lock_holder_view *holder; /* whom it tells of; NULL = null */
    size_t waiters;
};
void document_lock_event(struct text *out, const struct lock_event_view *view);
/* {"name"}: nobody can say how it stands. */
void document_lock_unknown(struct text *out, const char *name);

/* 202: {"status":"queued",…} */
void document_lock_queued(struct text *out, const char *token, size_t position, int64_t retry_within_ms);
/* Items of what was done for all a token holds. */
void document_lock_renewed(struct text *out, const char *name, int64_t fence);
void document_lock_lost(struct text *out, const char *name, const char *reason);
/* {"highest":n} */
void document_fence(struct text *out, int64_t highest);

struct lock_grant_view {
    const char *const *names; /* one: "name" and "fence"; a set: "locks" of both */
    size_t count;
    bool is_set;
    const char *token, *owner, *kind;
    enum lock_mode mode;
    enum lock_safety safety;
    const int64_t *fences; /* one per name; NULL = null */
    int64_t ttl_ms, safe_for_ms, waited_ms;
    int64_t permits; /* > 0: of a semaphore, which has no mode */
};
void document_lock_grant(struct text *out, const struct lock_grant_view *view);
