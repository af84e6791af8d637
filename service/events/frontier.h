/* How far a relay has come in the outbox for some of its parts, and which ids below are still undecided. Pure.

   Ids are drawn before they are committed, so a row can appear below a row that was read. Each id that was missing when
   it was passed is remembered in a hole until its row comes, or until it is sure that none will. */
#pragma once

#include "store/outbox.h"

#define FRONTIER_HOLES_MAX 128 /* then it stops at the next gap until one is closed */

struct hole {
    struct outbox_span span;
    unsigned looks; /* times it was seen empty, some while apart */
};

/* Invariant: holes are ascending, apart from each other, and end at or below `last`. */
struct frontier {
    uint64_t parts;
    int64_t last; /* every row up to here was handled, but for the holes */
    struct hole *holes;
    size_t hole_count, hole_room;
};

void frontier_done(struct frontier *frontier);
/* A copy with memory of its own. */
struct frontier frontier_copy(const struct frontier *frontier);
/* The row `id` above `last` was handled: `last` moves there, ids in between become a hole. False, and nothing
   changed, when there is no room for it. */
bool frontier_pass(struct frontier *frontier, int64_t id);
/* There is no row in (last, upto] as far as can be seen: a hole, too. */
bool frontier_pass_empty(struct frontier *frontier, int64_t upto);
/* The row `id` of a hole was handled. */
void frontier_fill(struct frontier *frontier, int64_t id);
/* No row will come in hole number `index`. */
void frontier_close(struct frontier *frontier, size_t index);
/* Everything up to here is handled. */
int64_t frontier_low(const struct frontier *frontier);
/* "3,7-9"; false when it does not fit. */
bool frontier_write_holes(const struct frontier *frontier, char *out, size_t size);
/* False at text that frontier_write_holes cannot have written. */
bool frontier_read_holes(struct frontier *frontier, const char *text);
/* Both have come equally far. */
bool frontier_is_level(const struct frontier *a, const struct frontier *b);
