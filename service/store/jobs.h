/* Jobs of the queues (sql/V007__jobs.sql). On a worker or a background thread; each call is a transaction of its own.
   Names of queues have been judged by the caller. Claims: store/claims.h. */
#pragma once

#include "domain/queued_job.h"
#include "store/claims.h"

extern const struct claim_table jobs_claim_table;

struct job_new {
    const char *queue;
    const char *payload;    /* JSON */
    const char *dedupe_key; /* "" = none */
    int64_t delay_ms, max_attempts;
};
/* *ret_created false: a job with this dedupeKey, at most JOB_KEPT_DAYS old, was there; that one is *ret. COMMIT_UNKNOWN
 * without a dedupeKey must not be tried again: the job may be there. The caller frees ret->payload. */
RESULT jobs_add(struct db *db, const struct job_new *job, bool *ret_created, struct queued_job *ret);
/* NOT_FOUND, also when it is in another queue. The caller frees ret->payload. */
RESULT jobs_read(struct db *db, const char *queue, int64_t id, struct queued_job *ret);
/* Newest first, without payloads; status -1 = all. */
struct jobs_page {
    const char *queue;
    int status;
    int64_t before_id;
    size_t limit;
};
RESULT jobs_list(struct db *db, const struct jobs_page *page, void (*fn)(void *arg, const struct queued_job *job),
                 void *arg);
/* DEAD → READY, at once and with all its attempts. *ret_done false: it is in another state. The caller frees
 * ret->payload. */
RESULT jobs_revive(struct db *db, const char *queue, int64_t id, bool *ret_done, struct queued_job *ret);

/* Queues that hold jobs, by name, those of the service left out. */
struct queue_counts {
    char name[QUEUE_NAME_MAX + 1];
    int64_t ready, claimed, dead;
};
RESULT queues_list(struct db *db, const char *after, size_t limit,
                   void (*fn)(void *arg, const struct queue_counts *row), void *arg);

/* -- claims */
struct job_claims {
    const char *queue, *owner;
    int64_t lease_ms;
    size_t limit; /* ≤ JOB_CLAIM_LIMIT_MAX */
};
/* claims[i] is the claim of jobs[i]; both have room for limit. The caller frees each payload, also after a failure:
 * jobs is zeroed first. */
RESULT jobs_claim(struct db *db, const struct job_claims *ask, struct claim *claims, struct queued_job *jobs,
                  size_t *ret_count);

enum job_settle { JOB_COMPLETE, JOB_RETRY, JOB_RENEW };
struct job_end {
    enum job_settle how;
    int64_t delay_ms;   /* JOB_RETRY */
    int64_t lease_ms;   /* JOB_RENEW */
    const char *result; /* lastResult; "" = none */
};
/* A retry of a job that had its last attempt makes it DEAD. CLAIM_LOST: *ret tells how the job stands. The same end
   once more, by the claim that did it and as long as nobody has claimed since, is no loss: its answer may have been
   lost. NOT_FOUND. The caller frees ret->payload. */
RESULT jobs_settle(struct db *db, const struct claim *claim, const struct job_end *end, struct queued_job *ret);

/* -- maintenance */
#define JOBS_SWEEP_MAX 1000 /* rows of one statement */
/* Claims whose lease is over become READY, or DEAD after their last attempt; a claim would take them anyway, this is
 * for those who look. *ret_freed ≤ JOBS_SWEEP_MAX: full = call again. */
RESULT jobs_free_expired(struct db *db, uint64_t *ret_freed);
/* Sets the gauges of jobs by state, each counted up to JOBS_COUNT_MAX. */
#define JOBS_COUNT_MAX 100000
RESULT jobs_measure(struct db *db);
/* Deletes up to `limit` jobs that were done JOB_KEPT_DAYS ago or longer. DEAD ones stay. */
RESULT jobs_purge(struct db *db, size_t limit, uint64_t *ret_deleted);
