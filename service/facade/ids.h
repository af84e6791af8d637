/* Order ids in hand: what trips drew from id_blocks and did not use. Pure; loop thread.
   Invariant: ranges do not overlap; an id that was given out comes back at most once. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct id_range {
    int64_t next, end; /* next..end-1; empty when equal */
};

#define ID_RANGES_MAX 16 /* trips in the air leave one each, at most; beyond it the smallest is let go */
struct ids {
    struct id_range list[ID_RANGES_MAX];
    size_t count;
};

/* Exactly `wanted` ids, from the lowest range that has as many; empty when none has: then the trip draws its own. */
struct id_range ids_take(struct ids *ids, int64_t wanted);
/* What a trip did not use, or drew beyond its need. */
void ids_give(struct ids *ids, struct id_range range);
