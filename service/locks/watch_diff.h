/* What happened to a name between two looks. Pure. */
#pragma once

#include "locks/watch.h"

/* A holder as remembered from the look before. */
struct seen {
    char id[LOCK_HOLDER_SIZE]; /* "" = not one of ours, or kept in the database */
    bool ours;
    char owner[LOCK_OWNER_MAX + 1];
    int64_t fence;
    int64_t ends_ms; /* monotonic, as the last look told; -1 = without an end */
};

struct look {
    struct lock_status status; /* with WATCH_HOLDERS_MAX holders at most */
    const char *ids[WATCH_HOLDERS_MAX];
    const char *fates[WATCH_HOLDERS_MAX]; /* of those seen before; NULL = not told */
    int64_t now_ms;
};

struct change {
    enum lock_event event;
    size_t index; /* GRANTED: in look.status.holders; gone: among those seen */
};
#define CHANGES_MAX (2 * WATCH_HOLDERS_MAX + 1)

/* Who is gone, then who is new, else QUEUE when waiters differ. Returns how many; out has CHANGES_MAX. */
size_t watch_diff(const struct seen *before, size_t count, size_t waiters_before, const struct look *look,
                  struct change *out);
/* Returns how many; out has WATCH_HOLDERS_MAX. */
size_t watch_remember(const struct look *look, struct seen *out);
