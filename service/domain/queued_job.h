/* Jobs of the queues, as values: states, bounds, the token of a claim. Pure; any thread. */
#pragma once

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_NAME_MAX 200                   /* bytes, as lock names */
#define JOB_PAYLOAD_MAX ((size_t)64 << 10)   /* bytes of its JSON text: a hundred of them fit a reply */
#define JOB_DEDUPE_KEY_MAX 200               /* bytes */
#define JOB_RESULT_MAX 1000                  /* bytes of lastResult */
#define JOB_OWNER_MAX 128                    /* bytes */
#define JOB_DELAY_MS_MAX INT64_C(2592000000) /* 30 days */
#define JOB_ATTEMPTS_MAX 1000                /* of maxAttempts */
#define JOB_ATTEMPTS_DEFAULT 10
#define JOB_CLAIM_LIMIT_MAX 100
#define JOB_CLAIM_LIMIT_DEFAULT 10
#define JOB_LEASE_MS_MIN 100 /* as of locks: shorter leases end before their answer can be used */
#define JOB_LEASE_MS_MAX 86400000
#define JOB_LEASE_MS_DEFAULT 30000
#define JOB_KEPT_DAYS 7 /* how long a dedupeKey binds, and a job that is done is kept */

enum job_status { JOB_READY, JOB_CLAIMED, JOB_DONE, JOB_DEAD, JOB_STATUS_COUNT };
const char *job_status_name(enum job_status status);
bool job_status_parse(const char *name, enum job_status *ret);

struct queued_job {
    int64_t id;
    char queue[QUEUE_NAME_MAX + 1];
    enum job_status status;
    struct text payload; /* JSON; empty where it is not asked for */
    int64_t attempts, max_attempts;
    char dedupe_key[JOB_DEDUPE_KEY_MAX + 1];
    char owner[JOB_OWNER_MAX + 1]; /* who holds the claim, or held the last */
    char last_result[JOB_RESULT_MAX + 1];
    int64_t fence; /* of the last claim; 0 = none yet */
    int64_t created_at_ms, done_at_ms;
    int64_t due_at_ms;      /* READY: from when it may be claimed */
    int64_t lease_until_ms; /* CLAIMED */
};

/* Why a name is no queue's; NULL when it is one. Printable UTF-8, no space at either end, not under "lockstock:". */
const char *queue_name_fault(const char *name);

/* What a client gets of a claim: its fence and its secret, "<fence>.<secret>". */
#define JOB_SECRET_SIZE 65
#define JOB_TOKEN_SIZE (20 + 1 + JOB_SECRET_SIZE)
void job_token_write(int64_t fence, const char *secret, char out[JOB_TOKEN_SIZE]);
/* False: no claim ever had such a token. */
bool job_token_read(const char *token, int64_t *ret_fence, char ret_secret[JOB_SECRET_SIZE]);
