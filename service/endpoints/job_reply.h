/* What the endpoints of queues share. Loop thread. */
#pragma once

#include "endpoints/common.h"
#include "store/jobs.h"

/* The path's queue, when the caller may use it; NULL: answered. Query parameters as of read_query. */
const char *queue_read_name(struct request *request, const char *const *allowed, bool is_list);
/* Queue and id of the path into a new read of `work`; NULL: answered. */
struct read *job_read_new(struct request *request, struct result (*work)(struct read *read, struct db *db));
/* Writes the job and frees its payload. */
void job_write(struct read *read, struct queued_job *job);
