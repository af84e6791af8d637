/* Lanes: what commands must not touch at the same time in this process. Key > 0 is a product, key < 0 an
   order (-id) or a reservation (reservation_key). A
   lane lives while riders refer to it, a train uses it, or it must not be acquired yet. Pure bookkeeping, loop thread.
 */
#pragma once

#include "facade/rider.h"

struct facade;
struct train;
struct redis_subscription;

struct lane {
    int64_t key;
    struct lane *next;       /* hash chain */
    unsigned references;     /* riders and trains that point here */
    struct train *train;     /* in use by; NULL = free */
    uint64_t reserved_round; /* boarding round in which an earlier rider waits for it */
    int64_t not_before_ms;   /* no train takes it earlier: held elsewhere, yielding, or its row was busy */
    int32_t yield_ms;        /* last yield; doubles while listeners do not take their turn; 0 = none */
    bool contended;          /* others were seen at its lock: its release is waited for, so that they have their turn */
    bool foreign;            /* its lock was found held elsewhere */
    bool row_blocked;        /* its row was found locked by a foreign session: rides alone until it answers */
    int32_t row_retry_ms;
    struct redis_subscription *subscription; /* while foreign */
    struct facade *facade;                   /* for the subscription's callbacks */
    struct train *listed;                    /* the train that has it in its list */
};

struct lanes;
/* drop lets go of what a lane holds when it is freed. */
struct lanes *lanes_new(void (*drop)(struct lane *lane));
/* No rider refers to any lane. Takes NULL, returns NULL. */
struct lanes *lanes_free(struct lanes *lanes);
/* Gives the rider its lanes by its command (products that move, and its order or reservation). */
void lanes_attach(struct lanes *lanes, struct rider *rider);
void lanes_detach(struct lanes *lanes, struct rider *rider);
/* One reference less; the lane may be gone when this returns. */
void lanes_unhold(struct lanes *lanes, struct lane *lane);
/* All let go of what they hold (they listen no more), and stay. */
void lanes_let_go(struct lanes *lanes);
struct lane *lanes_find(struct lanes *lanes, int64_t key);
/* Locks found held elsewhere are forgotten: Redis is away. */
void lanes_forget_foreign(struct lanes *lanes);
/* Frees lanes that nobody needs any more. */
void lanes_sweep(struct lanes *lanes, int64_t now_ms);
size_t lanes_count(const struct lanes *lanes);

static inline bool lane_is_free(const struct lane *lane, int64_t now_ms) {
    return lane->train == NULL && lane->not_before_ms <= now_ms;
}
