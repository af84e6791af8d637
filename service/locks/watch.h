/* Who watches a name and is told what happens to it. Loop thread.

   Invariants
   1. However many watch a name here, it is looked at once: when something happens to it in this process, when a
   stranger's release is heard, when a lease seen ends, and at the latest after POLL_MS_MAX; never twice within
   WATCH_GAP_MS.
   2. What is told is the difference of two looks. Between two looks a name may have changed hands unseen; its fence
      tells that it did.
   3. A watcher is first told the state. tell() and end() are never called from within watcher_new.
   4. Looking writes nothing, and no release waits for a watcher: channels that releases count their listeners on are
      listened to only while nobody of ours can release. */
#pragma once

#include "locks/locks.h"

#define WATCH_GAP_MS 20      /* what happens within it is told together */
#define WATCH_HOLDERS_MAX 16 /* of many readers, the first are told of; bounds what one look can say */

enum lock_event {
    LOCK_EVENT_STATE,   /* all there is to know; the first, and the next after UNKNOWN */
    LOCK_EVENT_GRANTED, /* the holder is new */
    LOCK_EVENT_RELEASED,
    LOCK_EVENT_EXPIRED,
    LOCK_EVENT_FORCED,
    LOCK_EVENT_LOST,   /* gone before its lease was over, and nobody released it */
    LOCK_EVENT_QUEUE,  /* how many wait here has changed, and nothing else */
    LOCK_EVENT_UNKNOWN /* nobody can say for now */
};
const char *lock_event_name(enum lock_event event);

struct watcher_options {
    /* One event as the watchers want it; the same function for all. holder: whom it tells of, NULL = nobody; of one
       that is gone owner and fence are known. status of UNKNOWN has only a name. */
    void (*write)(struct text *out, enum lock_event event, const struct lock_status *status,
                  const struct lock_holder *holder);
    void (*tell)(void *arg, const char *events, size_t len);
    void (*end)(void *arg, enum error why); /* nothing more is told, and the watcher is gone: the store is away and was
                                               from the beginning, or the instance stops */
    void *arg;
};

struct watcher;
/* NULL: options.watchers_max of them are there. */
struct watcher *watcher_new(struct locks *locks, const char *name, const struct watcher_options *options);
/* Takes NULL, returns NULL. Not after end(). */
struct watcher *watcher_free(struct watcher *watcher);
