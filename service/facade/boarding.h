/* Which waiting riders the next train takes: first come first served, disjoint from the trains on their way; one that
   must wait for us reserves its lanes against later arrivals, one that must wait for a stranger does not. Pure. */
#pragma once

#include "facade/lanes.h"

struct boarding_limits {
    size_t commands_max, lines_max, products_max;
    size_t share; /* commands that are this train's part of what waits: beyond it only those that could ride no other,
                     all their lanes being in this one */
    bool probe;   /* take one rider with a blocked row, and it alone; else only riders without */
};

/* Moves riders from `queue` (arrival order) to `boarded`, marks their lanes as used by `train`. `round` differs from
 * every earlier call's. Returns how many boarded. */
size_t board(struct list *queue, struct list *boarded, struct train *train, const struct boarding_limits *limits,
             uint64_t round, int64_t now_ms);
/* Could this rider board if it stood first? */
bool rider_is_ready(const struct rider *rider, int64_t now_ms);
/* A row it needs was found locked by a foreign session. */
bool rider_is_blocked(const struct rider *rider);
/* Puts the rider at its place by arrival order. */
void queue_insert(struct list *queue, struct rider *rider);
