/* The epoch all fences of this instance begin with, and how it is had (design.md §4).

        UNKNOWN ──fence_want──▶ LOOKING (Redis) ──none fits──▶ DRAWING (MySQL) ──▶ BINDING, SETTING (Redis) ──▶ KNOWN
           ▲                       └── a good one stands: adopted ──────────────────────────────────────▲ │
           └── failure; Redis away; a script said "epoch" ────────────────────────────────────────────────┘

   Invariants
   1. A marker is "epoch:run_id". A standing one with the run id of the server we talk to is adopted; any other means
      that this server may have lost numbers, so a new epoch above it is drawn from MySQL and set.
   2. An epoch is drawn only to be set, and is above every epoch drawn before and above the one standing in Redis. A
   good marker is replaced only for names whose fences in the database are ahead of it (ahead.c).
   3. Granting scripts compare the marker themselves: a wrong belief here costs a round trip, never a fence twice. */
#pragma once

#include "redis/redis.h"
#include "store/pool.h"

struct fence;
#define FENCE_MARKER_SIZE 80

/* ready: the marker is known, or (failed) was not to be had now. */
struct fence *fence_new(struct pool *pool, void (*ready)(void *arg, struct result result), void *arg);
/* It is idle. Takes NULL, returns NULL. */
struct fence *fence_free(struct fence *fence);
void fence_use_redis(struct fence *fence, struct redis *redis);
/* "epoch:run_id", or NULL while it is not known. */
const char *fence_marker(const struct fence *fence);
/* What we believe is wrong or nothing: find the right marker. Ends with ready(), perhaps before this returns. A second
   call before that changes nothing. */
void fence_want(struct fence *fence);
/* The good marker is replaced by one of a new epoch above `above`, unless another stands by now. What is granted
   meanwhile has the old one; nothing changes when it fails. */
void fence_renew(struct fence *fence, const char *marker, int64_t above);
/* Redis went away: what we knew may be wrong. */
void fence_forget(struct fence *fence);
bool fence_is_idle(const struct fence *fence);
