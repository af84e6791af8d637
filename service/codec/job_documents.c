#include "codec/job_documents.h"

#include "codec/members.h"

static void member_payload(struct text *out, const struct queued_job *job) {
    member_name(out, "payload");
    text_add(out, job->payload.data, job->payload.len);
}

void document_job(struct text *out, const struct queued_job *job) {
    text_add_char(out, '{');
    member_integer(out, "id", job->id);
    member_string(out, "queue", job->queue);
    member_string(out, "status", job_status_name(job->status));
    if (job->payload.len > 0) member_payload(out, job);
    member_integer(out, "attempts", job->attempts);
    member_integer(out, "maxAttempts", job->max_attempts);
    member_string_or_null(out, "dedupeKey", job->dedupe_key);
    member_string_or_null(out, "owner", job->owner);
    member_integer(out, "fence", job->fence);
    member_string_or_null(out, "lastResult", job->last_result);
    member_time(out, "createdAt", job->created_at_ms);
    member_time(out, "availableAt", job->status == JOB_READY ? job->due_at_ms : 0);
    member_time(out, "leaseUntil", job->status == JOB_CLAIMED ? job->lease_until_ms : 0);
    member_time(out, "doneAt", job->done_at_ms);
    text_add_char(out, '}');
}

void document_claimed_job(struct text *out, const struct queued_job *job, const char *token, int64_t lease_ms) {
    text_add_char(out, '{');
    member_integer(out, "id", job->id);
    member_payload(out, job);
    member_integer(out, "attempts", job->attempts);
    member_integer(out, "fence", job->fence);
    member_string(out, "claimToken", token);
    member_time(out, "leaseUntil", job->lease_until_ms);
    member_integer(out, "leaseMs", lease_ms);
    text_add_char(out, '}');
}

void document_queue(struct text *out, const struct queue_view *view) {
    text_add_char(out, '{');
    member_string(out, "queue", view->name);
    member_integer(out, "ready", view->ready);
    member_integer(out, "claimed", view->claimed);
    member_integer(out, "dead", view->dead);
    text_add_char(out, '}');
}

void members_claim_lost(struct text *out, enum job_status status) {
    member_string(out, "jobStatus", job_status_name(status));
}
