/* Who waits for what in this process: a queue per name, first come first served, of places; a place holds the asks
   (HTTP requests) of one token for one name or one set of names. Pure bookkeeping: no I/O, no clock, no timers of its
   own.

   Invariants
   1. A place stands in exactly one queue at a time: that of the name it waits for. A set moves from queue to queue, and
      its sequence number decides where in the next it stands, so it is never overtaken for having moved.
   2. A queue exists while it has places or a call on its way for it.
   3. The same token asking for the same names has one place, however many requests wait there. */
#pragma once

#include "base/list.h"
#include "locks/locks.h"

#define PLACE_ASKS_MAX 64 /* requests of one token for the same names; above: LCK-004 */

struct ask {
    struct list node; /* in place->asks */
    struct place *place;
    int64_t received_ms, wait_until_ms, slice_until_ms;
    int64_t ttl_ms;
    enum lock_mode mode; /* what it asked for */
    enum lock_when_down when_down;
    enum error refusal; /* what it is told when its wait is over */
    bool (*is_here)(void *arg);
    lock_done_fn done;
    void *arg;
    size_t count;    /* names */
    char **names;    /* ascending by bytes, each owned with this block */
    unsigned *order; /* order[i]: where names[i] stood in the request */
};

struct place {
    struct list node;  /* in queue->places */
    struct list chain; /* hash chain of places */
    struct list kin;   /* hash chain of places by holder */
    struct queue *queue;
    struct locks *locks; /* set by its owner */
    uint64_t sequence;
    size_t count;
    char **names;
    struct list asks;
    size_t ask_count;
    char holder[LOCK_HOLDER_SIZE];
    char grant[LOCK_GRANT_SIZE]; /* of the last acquire or hand-over sent; new for each */
    bool token_made;
    int64_t ttl_ms;
    enum lock_kind kind;
    enum lock_mode mode;    /* exclusive when any of its asks is */
    int64_t permits, limit; /* semaphore */
    char owner[LOCK_OWNER_MAX + 1];
    char *metadata;          /* never NULL */
    int64_t ticket_until_ms; /* after a 202: kept until then without an ask; 0 = no ticket */
    unsigned calls;          /* on their way that refer to it */
    unsigned lates;          /* acquires that came after their last moment */
    bool counted;            /* in locks->waiters */
    /* cycles.c */
    int64_t since_ms;         /* since when it waits, on Redis' clock; 0 = not known yet */
    bool holds;               /* its token holds something, as last told */
    struct known_wait *known; /* NULL: none */
    struct loop_timer *timer;
    /* fair.c: of a kind whose waiters stand in a queue in Redis. */
    char keeper[LOCK_GRANT_SIZE]; /* whose the place in Redis is; "" = has not asked */
    bool lined_up;                /* may stand there */
    bool asking;                  /* its acquire is on its way */
    bool again;                   /* to be asked once more */
    size_t rank;                  /* there, as last told; 0 = not known */
    struct redis_subscription *subscription;
};

struct queue {
    struct list chain; /* hash chain of queues */
    struct list places;
    size_t count;
    struct locks *locks;  /* set by its owner, as all below */
    struct place *asking; /* its acquire, or a release that hands over to it, is on its way */
    bool stirred;         /* something happened meanwhile: ask again */
    bool polled;          /* the last ask was sent because time had passed */
    bool pinned;          /* an answer is being taken: it stays, even empty */
    unsigned handoffs;    /* local hand-overs in a row */
    int32_t yield_ms;
    int64_t not_before_ms;    /* the next acquire is not sent earlier: others have their turn */
    struct loop_timer *timer; /* the next look without a message */
    struct redis_subscription *subscription;
    enum lock_kind heard;      /* the subscription is to the channel of this kind */
    struct lock_holder holder; /* as last seen; held_for_ms and expires_in_ms at seen_ms */
    int64_t seen_ms;
    unsigned looks;  /* fair: looks on their way, */
    int64_t look_ms; /* until the next while the lock is free, */
    struct loop_timer *beat_timer;
    char name[];
};

struct queues;
struct queues *queues_new(void);
/* Empty. Takes NULL, returns NULL. */
struct queues *queues_free(struct queues *queues);
size_t queues_count(const struct queues *queues);

struct queue *queue_find(struct queues *queues, const char *name);
/* Made when it is new. */
struct queue *queue_of(struct queues *queues, const char *name);
/* It has no places. */
void queue_remove(struct queues *queues, struct queue *queue);
/* fn may remove the queue it is given, and no other. */
void queues_for_each(struct queues *queues, void (*fn)(void *arg, struct queue *queue), void *arg);
/* First place that `is_ready`; NULL when there is none. */
struct place *queue_first(const struct queue *queue, bool (*is_ready)(const struct place *place));
/* From 1; beyond POSITION_MAX the length of the queue, since thousands may ask in one moment. */
#define POSITION_MAX 256
size_t queue_position(const struct queue *queue, const struct place *place);

/* The place of this token for these names (ascending); NULL when it has none. */
struct place *place_find(struct queues *queues, const char *holder, char *const *names, size_t count);
/* Every place of this holder. fn removes none. */
void places_of_holder(struct queues *queues, const char *holder, void (*fn)(void *arg, struct place *place), void *arg);
/* A new place at the end of the queue of names[0], with copies of the names. */
struct place *place_new(struct queues *queues, const char *holder, char *const *names, size_t count);
/* Into the queue of another of its names, by its sequence. The queue it leaves may then be empty. */
void place_move(struct queues *queues, struct place *place, const char *name);
/* Out of its queue and out of reach; freed by place_free. */
void place_leave(struct queues *queues, struct place *place);
/* It has left, has no asks and no calls. */
void place_free(struct place *place);
void place_add_ask(struct place *place, struct ask *ask);
void place_drop_ask(struct place *place, struct ask *ask);
