/* The outbox for those who look, replay and discard. On a worker; autocommit or a transaction of its own. What is
   changed here are failures alone: a relay meets them at its next look. */
#pragma once

#include "domain/outbox.h"
#include "store/db.h"

/* Newest first, id < before_id; status NULL = any. */
struct outbox_page {
    const char *status;
    int64_t before_id;
    size_t limit;
};
RESULT outbox_list(struct db *db, const struct outbox_page *page,
                   void (*fn)(void *arg, const struct outbox_event *event), void *arg);
/* on_event first, then on_failure for each failure. EVENT_NOT_FOUND. */
struct outbox_reader {
    void (*on_event)(void *arg, const struct outbox_event *event); /* payload is valid during the call */
    void (*on_failure)(void *arg, const struct sink_failure *failure);
    void *arg;
};
RESULT outbox_get(struct db *db, const char *event_id, const struct outbox_reader *reader);

/* Who did it, for outbox_audit. */
struct outbox_actor {
    const char *credential, *request_id;
};
/* Refusals begin to count anew and it is sent at the next look; what was published goes to all `sinks` once more; what
 * was never sent yet stays as it is. EVENT_NOT_FOUND. */
RESULT outbox_replay(struct db *db, const char *event_id, const char *const *sinks, size_t sink_count,
                     const struct outbox_actor *actor);
/* What sinks refused is given up; what waits behind it goes on. Changes nothing where no sink has refused it.
 * EVENT_NOT_FOUND. */
RESULT outbox_discard(struct db *db, const char *event_id, const struct outbox_actor *actor);
/* outbox_replay of all that are FAILED, at most OUTBOX_REPLAY_MAX. */
#define OUTBOX_REPLAY_MAX 10000
RESULT outbox_replay_failed(struct db *db, const struct outbox_actor *actor, int64_t *ret_count);
