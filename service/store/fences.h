/* Epochs and high-water marks of fences, and the audit of forced releases. On a worker, each call in its own autocommit
   statement(s). */
#pragma once

#include "domain/limits.h"
#include "domain/lock.h"
#include "store/db.h"

/* The next epoch: above every one drawn before, and above `standing`. It is used up, whatever becomes of it. */
RESULT fence_epochs_draw(struct db *db, int64_t standing, const char *run_id, int64_t *ret_epoch);

/* Raises the mark of a name to `fence` unless it is higher already; *ret_highest is what stands then. */
RESULT fence_marks_raise(struct db *db, const char *name, int64_t fence, int64_t *ret_highest);

/* A forced release, in two halves. */
struct lock_audit {
    int64_t id; /* set by begin */
    char name[LOCK_NAME_MAX + 1];
    char credential[CREDENTIAL_NAME_MAX + 1];
    char reason[REASON_MAX + 1];
    char request_id[65];

    bool was_held;
    char holder_owner[LOCK_OWNER_MAX + 1]; /* "" = not known */
    int64_t holder_fence, fence;           /* 0 = not known */
};
RESULT lock_audit_begin(struct db *db, struct lock_audit *row);
/* Raises the fence mark of the name, too. */
RESULT lock_audit_end(struct db *db, const struct lock_audit *row);
