/* How a row of `jobs` is read. Private to the files of jobs in store/. */
#pragma once

#include "store/jobs.h"

#define JOB_COLUMNS                                                                                                    \
    "id, queue, status, attempts, max_attempts, dedupe_key, owner, last_result, fence, created_at, done_at, due_at, "  \
    "lease_until"
#define JOB_COLUMN_COUNT 13

/* The columns JOB_COLUMNS of a row, from `first` on; no payload. */
void job_take_row(struct db_stmt *row, unsigned first, struct queued_job *ret);
/* The same, and the payload in the column behind them. */
void job_take_whole(struct db_stmt *row, unsigned first, struct queued_job *ret);
