/* Part of outboxPollingJob: queues as those see them who only look. A claim whose lease is over is taken by whoever
   asks next, without this; but where nobody asks, it would be shown as claimed for ever. */
#pragma once

#include "schedule/job.h"

/* Frees expired claims of jobs, then counts the jobs by state (lockstock_queued_jobs). run->done counts what was freed.
 * arg is not used. */
struct result queues_look(struct job_run *run, void *arg);
