/* What the loop-side files of the facade share. Loop thread. */
#pragma once

#include "facade/boarding.h"
#include "facade/facade.h"
#include "facade/ids.h"
#include "facade/trip.h"

struct outside;

#define OWNER_SIZE 80
#define TWIN_BUCKETS 4096u /* power of two, about the queue */

struct facade {
    struct loop *loop;
    struct redis *redis;
    struct pool *pool;
    struct facade_options options;
    struct trip_rules rules;
    char owner[TEXT_UUID_SIZE]; /* this instance, in the fields of its locks */
    uint64_t trains_made;       /* with owner: a lock field that is never used twice */

    struct lanes *lanes;
    struct list queue; /* arrival order */
    size_t queued;
    uint64_t sequence, round;
    bool probe_wanted;  /* somebody in the queue needs a row that a foreign session holds */
    bool told_degraded; /* of this outage of Redis */
    bool stopped;
    bool ready; /* somebody in the queue may be able to board */
    struct list trains;
    size_t slots_used, probes_used;
    struct loop_timer *sweep;  /* deadlines, locks held elsewhere, yields; runs while somebody waits */
    struct loop_timer *yields; /* the end of the next yield */
    struct ids ids;            /* order ids in hand */

    struct rider **twins; /* hash table of riders with an Idempotency-Key that are on their way */

    struct list lookups; /* riders whose order's lines are being read */
    struct list lookup_queue;
    struct lookup *lookup; /* on its way; NULL = none */

    struct list leftovers; /* lock calls whose answer never came */
    size_t cleaning;       /* clean-up calls on their way */

    struct outside *outside; /* calls of other threads */
};

/* queue.c */
/* Puts the rider into the queue at its place. */
void facade_enqueue(struct facade *facade, struct rider *rider);
/* Delivers the rider's answer and frees it. It is in no list. */
void facade_finish(struct facade *facade, struct rider *rider);
void facade_refuse(struct facade *facade, struct rider *rider, enum error error, const char *detail,
                   const char *extras);

/* outside.c: calls of other threads. */
struct outside *outside_new(struct facade *facade);
/* Calls that have not been taken yet, and all that come from now on, are refused. */
void outside_close(struct outside *outside);
bool outside_is_idle(struct outside *outside);
/* Takes NULL, returns NULL. No thread is in a call. */
struct outside *outside_free(struct outside *outside);

/* twins.c: riders with the same Idempotency-Key in this process. */
/* True: the rider follows an earlier twin and is kept there. False: it leads now (or has no key). */
bool twins_join(struct facade *facade, struct rider *rider);
/* The rider is about to be answered: its followers get the same, or go on. */
void twins_leave(struct facade *facade, struct rider *rider);
/* Followers that have waited too long get IDM-003. */
void twins_sweep(struct facade *facade, int64_t now_ms);

/* lookup.c */
bool lookup_is_needed(const struct rider *rider);
void lookup_add(struct facade *facade, struct rider *rider);
/* What was looked up no longer holds. The rider was in a train and is in no list. */
void lookup_again(struct facade *facade, struct rider *rider);

/* train.c */
struct train {
    struct trip trip; /* first: a job is its trip is its train */
    struct facade *facade;
    struct list node;
    struct list riders;
    struct lane **lanes;
    size_t lane_count, product_count; /* lanes of products come first */
    bool probe;
    bool degraded; /* Redis was away */

    /* stock_lock.c */
    char field[OWNER_SIZE];
    bool *held;     /* per product lane: this train's field stands in its lock */
    unsigned lates; /* acquires that came after their last moment */
    int64_t sent_ms, boarded_us, locked_us, unlocked_us;
    struct loop_timer *renewal;
    unsigned calls; /* renewals and the release on their way that refer to the train */
    bool releasing; /* the release was sent */
    bool left;      /* its lanes and its slot are for others */
    bool unlocked;  /* over but for those calls */
};
/* Boards one train; false when nobody could. */
bool train_depart(struct facade *facade, bool probe);

/* stock_lock.c: the train's locks in Redis, all in one call. */
/* Ends with train_locked. */
void stock_lock_acquire(struct train *train);
void stock_lock_release(struct train *train);
void stock_lock_start_renewal(struct train *train);
void stock_lock_stop_renewal(struct train *train);
/* A lane whose lock is held elsewhere: listen for its release. */
void stock_lock_listen(struct facade *facade, struct lane *lane);
void stock_lock_unlisten(struct lane *lane);
void stock_lock_forget_leftovers(struct facade *facade);

/* -- train.c, called by stock_lock.c */
/* The locks are had as far as they could be; lanes marked foreign were not. */
void train_locked(struct train *train);
/* The locks are let go: the lanes are free. */
void train_unlocked(struct train *train);
