/* The bodies of queues, and what a payment service says, on any bytes. The first byte chooses the decoder. What must
   hold:
   1. A decoder succeeds when, and only when, it found nothing, and its values are within their bounds.
   2. A payload that was accepted is JSON that is accepted again, as the same text.
   3. Only a paymentKey and an amount that could be a payment's are ever taken for one. */
#include "codec/bodies_job.h"
#include "codec/payment_status.h"

#include "decoders.h"

static void check_payload(const struct queued_job_body *job) {
    AUTO_TEXT body = text_new(0);
    struct field_errors none;
    struct queued_job_body again;
    require(job->payload.len >= 2 && job->payload.len <= JOB_PAYLOAD_MAX);
    text_addf(&body, "{\"payload\":%s}", text_str(&job->payload));
    require(!failed(body_job(text_str(&body), body.len, &none, &again)));
    require(strcmp(text_str(&again.payload), text_str(&job->payload)) == 0);
    text_done(&again.payload);
}

static struct result decode_job(const char *body, size_t len, struct field_errors *errors) {
    struct queued_job_body value;
    const struct result result = body_job(body, len, errors, &value);
    if (failed(result)) return result;
    require(value.max_attempts >= 1 && value.max_attempts <= JOB_ATTEMPTS_MAX && value.delay_ms >= 0);
    check_payload(&value);
    text_done(&value.payload);
    return result;
}

static struct result decode_claims(const char *body, size_t len, struct field_errors *errors) {
    struct claims_body value;
    const struct result result = body_claims(body, len, errors, &value);
    require(failed(result) || (value.limit >= 1 && value.limit <= JOB_CLAIM_LIMIT_MAX));
    return result;
}

/* Whatever was accepted as a token is read or refused, within its buffers. */
static void check_token(const struct settle_body *value) {
    char secret[JOB_SECRET_SIZE], again[JOB_TOKEN_SIZE];
    int64_t fence;
    if (!job_token_read(value->token, &fence, secret)) return;
    job_token_write(fence, secret, again);
    require(strcmp(again, value->token) == 0);
}

static struct result decode_complete(const char *body, size_t len, struct field_errors *errors) {
    struct settle_body value;
    const struct result result = body_complete(body, len, errors, &value);
    if (!failed(result)) check_token(&value);
    return result;
}
static struct result decode_retry(const char *body, size_t len, struct field_errors *errors) {
    struct settle_body value;
    return body_retry(body, len, errors, &value);
}
static struct result decode_renewal(const char *body, size_t len, struct field_errors *errors) {
    struct settle_body value;
    return body_claim_renewal(body, len, errors, &value);
}

static const decoder_fn decoders[] = {
    decode_job, decode_claims, decode_complete, decode_retry, decode_renewal,
};
#define DECODERS (sizeof decoders / sizeof *decoders)

static void check_status(const char *body, size_t len) {
    struct payment_status_said said;
    payment_status_read(body, len, &said);
    if (said.word != PAYMENT_SAYS_PAID) return;
    size_t key_len = strlen(said.payment_key);
    require(key_len >= 1 && text_is_printable_utf8(said.payment_key, key_len));
    require(said.amount >= 0 && said.amount <= MONEY_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    AUTO_FREE char *body = body_of(data, size);
    struct field_errors errors;
    (void)decode(decoders[data[0] % DECODERS], body, size - 1, &errors);
    check_status(body, size - 1);
    return 0;
}
