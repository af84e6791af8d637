/* Documents of /v1/queues: each appends one whole JSON value. Pure; any thread. */
#pragma once

#include "codec/json.h"
#include "domain/queued_job.h"

/* With its payload when it has been read. */
void document_job(struct text *out, const struct queued_job *job);
/* What a claim gives of a job; token: as its client shall send it back. lease_ms: how long the lease lasts from now. */
void document_claimed_job(struct text *out, const struct queued_job *job, const char *token, int64_t lease_ms);
struct queue_view {
    const char *name;
    int64_t ready, claimed, dead;
};
void document_queue(struct text *out, const struct queue_view *view);
/* Members of a problem document. */
void members_claim_lost(struct text *out, enum job_status status);
