/* Rows nobody needs any more, removed in small statements: at most RETENTION_ROWS each, found by an index, in
   autocommit, so that whoever stops between two of them leaves nothing open and nobody waits long for a lock. On a
   background thread. The stock ledger and the audits are never removed. */
#pragma once

#include "store/db.h"

#define RETENTION_ROWS 1000
#define RETENTION_EVENTS_S 604800 /* 7 days, as long as streams keep them */
#define RETENTION_KEYS_S 86400    /* 24 hours: how long an Idempotency-Key binds */

/* Events up to the next RETENTION_ROWS ids above *after, which moves there: those that were published so long ago, or
   discarded; with `unsent` (no sink is configured) those that nobody will send, too. *ret_end: what follows is younger.
 */
RESULT retention_events(struct db *db, bool unsent, int64_t *after, uint64_t *ret_removed, bool *ret_end);
/* Discarded failures whose events are gone. */
RESULT retention_failures(struct db *db, uint64_t *ret_removed);
RESULT retention_processed(struct db *db, uint64_t *ret_removed);
RESULT retention_keys(struct db *db, uint64_t *ret_removed);
