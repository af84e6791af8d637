/* Claims of jobs: taken, renewed, ended. The row decides whose a job is; what a client says is only compared.

   A claim whose reply does not reach its client ends with its lease: nobody can tell whether the client began. */
#include "base/memory.h"
#include "codec/bodies_job.h"
#include "codec/job_documents.h"
#include "endpoints/job_reply.h"
#include "endpoints/routes.h"

#include <stdlib.h>

/* -- taking */

static void write_claimed(struct read *read, const struct claim *claims, const struct queued_job *jobs, size_t count) {
    const struct claims_body *body = read->own;
    char token[JOB_TOKEN_SIZE];
    text_add_str(&read->body, "{\"jobs\":[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0) text_add_char(&read->body, ',');
        job_token_write(claims[i].fence, claims[i].token, token);
        document_claimed_job(&read->body, &jobs[i], token, body->lease_ms);
    }
    text_add_str(&read->body, "]}");
}

static struct result take(struct read *read, struct db *db) {
    const struct claims_body *body = read->own;
    const size_t limit = (size_t)body->limit;
    AUTO_FREE struct claim *claims = mem_array(limit, sizeof *claims);
    AUTO_FREE struct queued_job *jobs = mem_array(limit, sizeof *jobs);
    const struct job_claims ask = {
        .queue = read->text, .owner = body->owner, .lease_ms = body->lease_ms, .limit = limit};
    size_t count = 0;
    struct result result = jobs_claim(db, &ask, claims, jobs, &count);
    if (!failed(result)) write_claimed(read, claims, jobs, count);
    for (size_t i = 0; i < limit; i++) text_done(&jobs[i].payload);
    return result;
}

static void name_owner(struct request *request, struct claims_body *body) {
    char peer[REQUEST_PEER_SIZE];
    if (body->owner[0] != '\0') return;
    request_peer(request, peer);
    (void)text_format(body->owner, sizeof body->owner, "%s@%s", request_credential(request)->name, peer);
}

void claims_post(struct request *request) {
    struct field_errors errors = {0};
    struct claims_body parsed;
    size_t len;
    const char *text = request_body(request, &len), *queue = queue_read_name(request, NULL, false);
    if (queue == NULL) return;
    if (failed(body_claims(text, len, &errors, &parsed))) {
        reply_invalid(request, &errors);
        return;
    }
    struct claims_body *body = mem_new(sizeof *body);
    *body = parsed;
    name_owner(request, body);
    struct read *read = read_new(request, take);
    (void)text_copy(read->text, sizeof read->text, queue);
    read->own = body;
    read_start(read);
}

/* -- ending and renewing */

struct settling {
    enum job_settle how;
    struct settle_body body;
};

/* A token that cannot be ours is that of no claim: so the claim is lost, if there is such a job. */
static struct result settle(struct read *read, struct db *db) {
    const struct settling *settling = read->own;
    const struct job_end end = {.how = settling->how,
                                .delay_ms = settling->body.delay_ms,
                                .lease_ms = settling->body.lease_ms,
                                .result = settling->body.result};
    struct claim claim = {.scope = read->text, .key = read->id};
    AUTO_TEXT extras = text_new(0);
    struct queued_job job = {0};
    if (!job_token_read(settling->body.token, &claim.fence, claim.token)) claim.fence = 0;
    struct result result = jobs_settle(db, &claim, &end, &job);
    if (failed(result)) {
        if (result.code == ERROR_CLAIM_LOST) members_claim_lost(&extras, job.status);
        (void)text_copy(read->extras, sizeof read->extras, text_str(&extras));
        text_done(&job.payload);
        return result;
    }
    job_write(read, &job);
    return OK;
}

typedef struct result reader(const char *body, size_t len, struct field_errors *errors, struct settle_body *ret);

static void start(struct request *request, enum job_settle how, reader *read_body) {
    struct field_errors errors = {0};
    size_t len;
    const char *text = request_body(request, &len);
    struct read *read = job_read_new(request, settle);
    if (read == NULL) return;
    struct settling *settling = mem_new(sizeof *settling);
    settling->how = how;
    read->own = settling;
    if (!failed(read_body(text, len, &errors, &settling->body))) {
        read_start(read);
        return;
    }
    reply_invalid(request, &errors);
    read_drop(read);
}

void jobs_complete(struct request *request) { start(request, JOB_COMPLETE, body_complete); }
void jobs_retry(struct request *request) { start(request, JOB_RETRY, body_retry); }
void jobs_patch(struct request *request) { start(request, JOB_RENEW, body_claim_renewal); }
