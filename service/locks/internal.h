/* What the files of locks/ share. Loop thread. */
#pragma once

#include "locks/fence.h"
#include "locks/queue.h"
#include "redis/call.h"

#define NOT_AFTER_SLACK_MS 50 /* between our estimate of Redis' clock and its own */
#define LATES_MAX 3           /* acquires in a row that came after their last moment; then the store counts as away */
#define POLL_MS_MAX 1000  /* a head looks again this often even if no message comes: expiry and DEL announce nothing */
#define HANDOFFS_MAX 8    /* local hand-overs in a row while others listen */
#define YIELD_MS_MIN 2    /* then this long nothing is asked for here, */
#define YIELD_MS_MAX 32   /* doubling while nobody takes the turn */
#define DOUBT_MS 1000     /* an undelivered grant of a client's own token may be confirmed this long */
#define RETRY_MS_MAX 1000 /* retryAfterMs of a refusal: no longer than our own look */

struct locks {
    char id[LOCK_GRANT_SIZE]; /* of this instance, new at each start */
    struct loop *loop;
    struct pool *pool;
    struct redis *redis;
    struct locks_options options;
    struct queues *queues;
    struct fence *fence;
    struct watches *watches;
    size_t waiters; /* places that count against waiters_max */
    bool draining;
    size_t calls;          /* to Redis, on their way */
    size_t deliveries;     /* replies on their way */
    size_t tellings;       /* grants that replicas have not acknowledged yet */
    struct list leftovers; /* what may be held in Redis with nobody to know of it */
    size_t cleaning;       /* leftovers being released, before the breaker closes */
    struct list doubts;    /* undelivered grants that may yet be confirmed, oldest first */
    struct loop_timer *doubt_timer;
    size_t known_waits;
    char moved_to[LOCK_NAME_MAX + 1]; /* the queue a set has just moved to; "" = none */
    struct list forces;               /* waiting for an epoch */
    size_t force_count;
    struct loop_timer *sweep_timer;
    bool sweeping;
    struct loop_timer *rearm_timer;
    bool rearming;
    struct loop_timer *ahead_timer;
    bool looking_ahead;
    char swept[LOCK_NAME_MAX + 1]; /* where the sweep goes on; "" = at the first name */
};

/* A grant by its names, or what a release was to free: enough to give it back. */
struct grant_ref {
    struct list node;
    struct locks *locks;
    char holder[LOCK_HOLDER_SIZE];
    char grant[LOCK_GRANT_SIZE]; /* "" = whichever */
    enum lock_kind kind;
    int64_t fence;                /* 0 = whichever */
    int64_t due_ms;               /* of a doubt */
    char keeper[LOCK_GRANT_SIZE]; /* not "": no grant, but a place in the queue of a fair lock */
    size_t count;
    char *names[];
};
struct grant_ref *grant_ref_new(struct locks *locks, const char *holder, char *const *names, size_t count);
struct grant_ref *grant_ref_of(struct locks *locks, const struct place *place);
struct grant_ref *grant_ref_free(struct grant_ref *ref);

/* locks.c */
int64_t not_after_ms(const struct locks *locks);
/* Fence as an argument: "" for 0. */
void call_add_fence(struct call *call, int64_t fence);

struct grant {
    const int64_t *fences; /* one per name of the place */
    int64_t left_ms, sent_ms;
    int64_t permits; /* semaphore */
    enum lock_mode mode;
    bool is_new;
};

/* holder.c */
/* What holder_of of the scripts tells, from element `from` on. */
void lock_holder_read(struct lock_holder *ret, const struct redis_value *value, size_t from);
/* A refusal tells when it was, which is when the wait begins, and whether the token holds anything. */
#define HELD_HOLDS 8 /* element of "held" that does, behind where and holder_of */
void place_note_holding(struct place *place, const struct redis_value *value, size_t index);
/* The mode a script tells of. */
enum lock_mode mode_read(const struct redis_value *value);
/* What is known of the holder: nobody; as holder_of tells, from element `from` on; our own grant. */
void queue_note_free(struct queue *queue);
void queue_note_holder(struct queue *queue, const struct redis_value *value, size_t from);
void queue_note_own(struct queue *queue, const struct place *place, const struct grant *grant);

/* kinds.c: what differs from kind to kind. */
struct kind_ways {
    enum redis_script acquire, renew, release;
    const char *channel; /* of releases: this, then the name in braces */
    bool in_database;    /* asked by database.c; there are no scripts */
    bool lined;          /* who waits stands in a queue that all instances share; asked by fair.c */
    bool shared;         /* when one has got its share, the next may have one too */
};
const struct kind_ways *kind_ways(enum lock_kind kind);
/* What the kind's acquire script takes behind the terms and the mode. */
void kind_add_args(struct call *call, const struct place *place);

/* turn.c: heads of queues, from asking to granting. */
/* Lets the head ask, now or when it may; ends a queue that nobody needs. The queue may be gone when this returns. */
void turn(struct locks *locks, struct queue *queue);
/* The head waits for a message, a change or time. */
void turn_wait(struct locks *locks, struct queue *queue, int64_t left_ms);
/* Behind others: asks only whether the token holds the name already. */
void turn_look(struct locks *locks, struct place *place);
/* The place that was `asking` has it now (handed: by a local release). Place and queue may be gone when this returns.
 */
void turn_granted(struct locks *locks, struct place *place, const struct grant *grant, bool handed);
/* The release that was to hand the lock to it did not. yield: others have been told and have their turn first. */
void turn_not_handed(struct locks *locks, struct place *place, bool is_free, bool yield);
/* A queue without places and calls ends; so may be gone when this returns. */
void queue_settle(struct locks *locks, struct queue *queue);
bool place_is_ready(const struct place *place);
/* False: the store did not answer, or not what it should. */
bool turn_is_answer(const struct redis_value *value, const char *event);
/* A grant as an acquire script tells it; fences has room for one per name. */
struct grant turn_read_grant(const struct place *place, const struct redis_value *value, int64_t *fences);
/* Refuses the place for good when the answer says so: another kind of thing, or too many names. It may be gone then. */
bool turn_refused(struct locks *locks, struct place *place, const struct redis_value *value);
/* The next holder's part of an acquire or a release: holder, lease, last moment, marker, grant id, owner, metadata,
 * kind, prefixes that keep Redisson's own fences. */
void call_add_terms(struct call *call, struct locks *locks, const struct place *place, const char *grant);

/* place.c: asks of a place, their time and their answers. */
/* A place that nobody needs ends; it may be gone when this returns, and its queue with it. */
void place_settle(struct locks *locks, struct place *place);
/* Answers those whose time is over, and sets the timer for the next. The place may be gone when this returns. */
void place_due(struct locks *locks, struct place *place);
/* All its asks get this answer. */
void place_refuse(struct locks *locks, struct place *place, const struct lock_answer *answer);
/* Its first ask, out of it; NULL when it has none. */
struct ask *place_take_ask(struct place *place);
/* It got the read lock, or has it: who asked to write must not believe that it may, and is told so. */
void place_refuse_writers(struct place *place);
/* The same, and if any ask is left, it waits on. */
void place_refuse_own(struct locks *locks, struct place *place);
/* The lock store is away: unprotected grants or LCK-003, as each ask wants it. */
void place_down(struct locks *locks, struct place *place, const char *detail);
/* granted.c */
/* Held now (is_new false: held before): all its asks are told, when replicas have it where that is asked for. A place
   that nobody asks for any more gives a new grant back. The place may be gone when this returns. */
void place_granted(struct locks *locks, struct place *place, const struct grant *grant);
/* What an ask is told that must not wait. Frees the ask, which is in no place. */
void ask_answer(struct ask *ask, const struct lock_answer *answer);
void ask_down(struct locks *locks, struct ask *ask, const char *detail);
struct lock_answer answer_new(enum error error);

/* cycles.c: waits that close a cycle of tokens are refused. */
/* The place waits and its token holds something: its wait is known from now on, and searched from. */
void cycles_note(struct locks *locks, struct place *place);
/* It waits no more. cycles_end: and Redis is not told. Nothing when it is not known. */
void cycles_forget(struct place *place);
void cycles_end(struct place *place);
/* Other waits of this holder, which has just got something, are known from now on. */
void cycles_holds_more(struct locks *locks, const char *holder);
/* From now on waits are made known when others ask after them. */
void cycles_listen(struct locks *locks);

/* fair.c: places of kinds that are `lined`. */
/* Asks for the place, now or once its call on the way is answered; it lines up when one of its asks waits. */
void fair_take(struct locks *locks, struct place *place);
/* Looks how lock and queue stand, and asks for whom it is due. */
void fair_turn(struct locks *locks, struct queue *queue);
/* The place ends: gives up its place in Redis, if it has one. */
void fair_step_out(struct locks *locks, struct place *place);

/* status.c */
struct status_listener {
    lock_status_fn fn;
    void *arg;
};
/* Tells what a script said of a name: kind, what is there, fence, then as holder_of, from element `from` on. */
void status_tell(struct locks *locks, const char *name, const struct redis_value *result, size_t from,
                 const struct status_listener *listener);

/* semaphores.c */
struct semaphore_listener {
    semaphore_status_fn fn;
    void *arg;
};
/* The reply tells of a semaphore, not of something else that stands at its name. */
bool semaphore_is_told(const struct redis_value *value);
/* Tells what semaphore_status of the scripts said, behind its first element. */
void semaphore_tell(struct locks *locks, const char *name, const struct redis_value *value,
                    const struct semaphore_listener *listener);

/* names.c: the index of held names loses those whose lease ended without a release. */
#define SWEEP_MS 10000
#define SWEEP_NAMES 256 /* in one script call; the next follows at once when a quarter of them had ended */
void sweep_start(struct locks *locks);
void sweep_stop(struct locks *locks);

/* rearm.c: readers live as long as their leases, whatever a watchdog of Redisson's sets. */
#define REARM_MS 4000  /* and as much in the script: together below the third of its timeout */
#define REARM_NAMES 32 /* in one script call; the next follows at once when there are more */
void rearm_start(struct locks *locks);
void rearm_stop(struct locks *locks);

/* watch.c */
struct watches *watches_new(void);
/* Nobody watches any more. Takes NULL, returns NULL. */
struct watches *watches_free(struct watches *watches);
/* All watchers are told that it is over. */
void watches_drain(struct watches *watches);
/* Something may have happened to the name: who watches it is told soon. */
void watch_stir(struct locks *locks, const char *name);

/* ahead.c: names of the database store whose fences Redis would not reach. */
void ahead_start(struct locks *locks);
void ahead_stop(struct locks *locks);

/* force.c */
/* The epoch is known, or not to be had: forces that waited for it go on. */
void forces_go_on(struct locks *locks, bool known);
/* Our own word for why a lease was lost, counted; the script's does not outlive its call. */
const char *loss_reason(const char *word);
/* The same in two steps: another store may know better. */
const char *loss_word(const char *word);
void count_loss(const struct lock_answer *answer);

/* delivery.c */
/* A call that did not do what it should: never sent; refused by Redis with an error, perhaps half way; or its answer
 * never came. */
enum unanswered { UNANSWERED_UNSENT, UNANSWERED_ERROR, UNANSWERED_LOST };
enum unanswered unanswered_how(const struct redis_value *value, bool sent);
/* What such a call may have granted is given back: now, before the breaker closes, or there is nothing. Takes the ref.
 */
void grant_settle(struct grant_ref *ref, enum unanswered how);
/* Gives a grant back unless it has been confirmed: at once, or after DOUBT_MS. Takes the ref. */
void grant_undo(struct grant_ref *ref, bool at_once);
/* It may stand in Redis, and nobody will release it: done before the breaker closes. Takes the ref. */
void grant_leave(struct grant_ref *ref);
/* A place in the queue of a fair lock ends: now, or before the breaker closes. Takes the ref, which has a keeper. */
void grant_step_out(struct grant_ref *ref);
/* Gives it back now, or before the breaker closes, unless it has been confirmed. Takes the ref. */
void grant_give_back(struct grant_ref *ref);
/* Takes the ref. */
struct delivery *delivery_new(struct grant_ref *ref, bool token_made, size_t replies);
void delivery_free_all(struct locks *locks);
