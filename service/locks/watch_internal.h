/* What the files of a watched name share. Loop thread. */
#pragma once

#include "locks/internal.h"
#include "locks/watch_diff.h"

struct watch {
    struct list chain; /* in watches.by_name */
    struct list watchers;
    struct locks *locks;
    struct loop_timer *timer;
    struct redis_subscription *subscription; /* a stranger's release */
    bool looking, stirred;
    bool away; /* those who were told a state have been told that it is unknown */
    int64_t looked_ms;
    size_t waiters;
    size_t seen_count;
    struct seen seen[WATCH_HOLDERS_MAX];
    char name[LOCK_NAME_MAX + 1];
};

/* Looks; ends with watch_looked, perhaps before it returns. */
void watch_look(struct watch *watch);
/* NULL: the store is away. The watch may be gone when this returns. */
void watch_looked(struct watch *watch, const struct look *look);
