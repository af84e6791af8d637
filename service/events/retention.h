/* retentionJob: rows nobody needs any more (store/retention.h), done jobs and old deliveries. */
#pragma once

#include "schedule/job.h"

/* A job_fn. run->done counts rows. arg is not used. */
struct result retention_run(struct job_run *run, void *arg);
/* Part of outboxPollingJob: parts whose lease is over show no owner. A relay takes them without this, at its next look;
 * this is for those who look where no relay runs. A job_fn. */
struct result relays_free_expired(struct job_run *run, void *arg);
