/* Epochs and high-water marks of fences, and the audit of forced releases. On a worker, each call in its own autocommit
   statement(s). */
#pragma once

#include "store/db.h"

/* The next epoch: above every one drawn before, and above `standing`. It is used up, whatever becomes of it. */
RESULT fence_epochs_draw(struct db *db, int64_t standing, const char *run_id, int64_t *ret_epoch);

/* Raises the mark of a name to `fence` unless it is higher already; *ret_highest is what stands then. */
RESULT fence_marks_raise(struct db *db, const char *name, int64_t fence, int64_t *ret_highest);
