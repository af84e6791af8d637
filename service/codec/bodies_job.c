/* Defaults stand in the value before it is read. */
#include "codec/bodies_job.h"

#include "codec/fields.h"

#include <string.h>

struct job_values {
    const json_t *payload;
    char dedupe_key[JOB_DEDUPE_KEY_MAX + 1];
    int64_t delay_ms, max_attempts;
};

static const struct field job_list[] = {
    {.name = "payload",
     .kind = FIELD_OBJECT,
     .offset = offsetof(struct job_values, payload),
     .max = JOB_PAYLOAD_MAX,
     .optional = true},
    {.name = "dedupeKey",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct job_values, dedupe_key),
     .min = 1,
     .max = JOB_DEDUPE_KEY_MAX,
     .optional = true,
     .trimmed = true},
    {.name = "delayMs",
     .kind = FIELD_INTEGER,
     .offset = offsetof(struct job_values, delay_ms),
     .max = JOB_DELAY_MS_MAX,
     .optional = true},
    {.name = "maxAttempts",
     .kind = FIELD_INTEGER,
     .offset = offsetof(struct job_values, max_attempts),
     .min = 1,
     .max = JOB_ATTEMPTS_MAX,
     .optional = true},
};
static const struct fields job_fields = {job_list, sizeof job_list / sizeof job_list[0]};

/* Read by hand, not by fields_decode: the payload is borrowed from the reader. */
RESULT body_job(const char *body, size_t len, struct field_errors *errors, struct queued_job_body *ret) {
    struct job_values values = {.max_attempts = JOB_ATTEMPTS_DEFAULT};
    AUTO_READER reader = {0};
    errors->count = 0;
    if (len > 0) {
        TRY(reader_open(&reader, body, len, errors));
        reader_object(&reader, &job_fields, reader.root, NULL, &values);
        TRY(reader_verdict(&reader));
    }
    *ret = (struct queued_job_body){
        .payload = text_new(0), .delay_ms = values.delay_ms, .max_attempts = values.max_attempts};
    if (values.payload != NULL)
        json_compact(&ret->payload, values.payload);
    else
        text_add_str(&ret->payload, "{}");
    memcpy(ret->dedupe_key, values.dedupe_key, sizeof ret->dedupe_key);
    return OK;
}

#define LEASE_FIELD(struct_)                                                                                           \
    {                                                                                                                  \
        .name = "leaseMs", .kind = FIELD_INTEGER, .offset = offsetof(struct_, lease_ms), .min = JOB_LEASE_MS_MIN,      \
        .max = JOB_LEASE_MS_MAX, .optional = true                                                                      \
    }

static const struct field claims_list[] = {
    {.name = "limit",
     .kind = FIELD_INTEGER,
     .offset = offsetof(struct claims_body, limit),
     .min = 1,
     .max = JOB_CLAIM_LIMIT_MAX,
     .optional = true},
    LEASE_FIELD(struct claims_body),
    {.name = "owner",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct claims_body, owner),
     .min = 1,
     .max = JOB_OWNER_MAX,
     .optional = true},
};
static const struct fields claims_fields = {claims_list, sizeof claims_list / sizeof claims_list[0]};

RESULT body_claims(const char *body, size_t len, struct field_errors *errors, struct claims_body *ret) {
    struct claims_body values = {.limit = JOB_CLAIM_LIMIT_DEFAULT, .lease_ms = JOB_LEASE_MS_DEFAULT};
    TRY(fields_decode(&claims_fields, body, len, errors, &values));
    *ret = values;
    return OK;
}

/* In such an order that each body is a part of it. */
static const struct field settle_list[] = {
    {.name = "delayMs",
     .kind = FIELD_INTEGER,
     .offset = offsetof(struct settle_body, delay_ms),
     .max = JOB_DELAY_MS_MAX,
     .optional = true},
    {.name = "lastResult",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct settle_body, result),
     .max = JOB_RESULT_MAX,
     .optional = true},
    {.name = "claimToken",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct settle_body, token),
     .min = 1,
     .max = JOB_TOKEN_MAX},
    LEASE_FIELD(struct settle_body),
};
static const struct fields retry_fields = {settle_list, 3};
static const struct fields complete_fields = {settle_list + 1, 2};
static const struct fields renewal_fields = {settle_list + 2, 2};

static RESULT decode(const struct fields *fields, const char *body, size_t len, struct field_errors *errors,
                     struct settle_body *ret) {
    struct settle_body values = {.lease_ms = JOB_LEASE_MS_DEFAULT};
    TRY(fields_decode(fields, body, len, errors, &values));
    *ret = values;
    return OK;
}

RESULT body_complete(const char *body, size_t len, struct field_errors *errors, struct settle_body *ret) {
    return decode(&complete_fields, body, len, errors, ret);
}

RESULT body_retry(const char *body, size_t len, struct field_errors *errors, struct settle_body *ret) {
    return decode(&retry_fields, body, len, errors, ret);
}

RESULT body_claim_renewal(const char *body, size_t len, struct field_errors *errors, struct settle_body *ret) {
    return decode(&renewal_fields, body, len, errors, ret);
}
