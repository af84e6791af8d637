/* Request bodies of /v1/queues (api/openapi.yaml), by the rules of codec/bodies.h. */
#pragma once

#include "codec/json.h"
#include "domain/queued_job.h"

/* {"payload","delayMs","dedupeKey","maxAttempts"}: all optional; payload is {} without one. */
struct queued_job_body {
    struct text payload; /* owned, JSON */
    char dedupe_key[JOB_DEDUPE_KEY_MAX + 1];
    int64_t delay_ms, max_attempts;
};
RESULT body_job(const char *body, size_t len, struct field_errors *errors, struct queued_job_body *ret);

/* {"limit","leaseMs","owner"}: all optional; owner "" = not given. */
struct claims_body {
    int64_t limit, lease_ms;
    char owner[JOB_OWNER_MAX + 1];
};
RESULT body_claims(const char *body, size_t len, struct field_errors *errors, struct claims_body *ret);

/* The ends of a claim. A token is opaque to its holder: one that cannot be ours is no fault of form. */
#define JOB_TOKEN_MAX 200 /* bytes that are read at all */
struct settle_body {
    char token[JOB_TOKEN_MAX + 1];
    int64_t delay_ms, lease_ms;
    char result[JOB_RESULT_MAX + 1];
};
/* {"claimToken","lastResult"} */
RESULT body_complete(const char *body, size_t len, struct field_errors *errors, struct settle_body *ret);
/* {"claimToken","delayMs","lastResult"} */
RESULT body_retry(const char *body, size_t len, struct field_errors *errors, struct settle_body *ret);
/* {"claimToken","leaseMs"} */
RESULT body_claim_renewal(const char *body, size_t len, struct field_errors *errors, struct settle_body *ret);
