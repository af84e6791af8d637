#include "codec/schedule_documents.h"

#include "base/duration.h"
#include "codec/members.h"

void document_schedule_grant(struct text *out, const struct schedule_grant_view *view) {
    text_add_char(out, '{');
    member_string(out, "name", view->name);
    member_string(out, "token", view->token);
    member_string(out, "lockedBy", view->by);
    member_time(out, "lockedAt", view->locked_at_ms);
    member_time(out, "lockUntil", view->lock_until_ms);
    member_integer(out, "safeForMs", view->safe_for_ms);
    text_add_char(out, '}');
}

static void member_duration(struct text *out, const char *name, int64_t ms) {
    char text[DURATION_SIZE];
    duration_format(ms, text);
    member_string(out, name, text);
}

static void write_job(struct text *out, const struct schedule_job_view *job) {
    text_add_char(out, '{');
    if (job->every_ms > 0)
        member_duration(out, "every", job->every_ms);
    else
        member_string_or_null(out, "every", "");
    member_duration(out, "lockAtMostFor", job->at_most_ms);
    member_duration(out, "lockAtLeastFor", job->at_least_ms);
    member_integer(out, "runs", job->runs);
    member_integer(out, "skips", job->skips);
    member_integer(out, "failures", job->failures);
    text_add_char(out, '}');
}

void document_schedule(struct text *out, const struct schedule_view *view) {
    text_add_char(out, '{');
    member_string(out, "name", view->name);
    member_name(out, "held");
    text_add_str(out, view->held ? "true" : "false");
    member_string_or_null(out, "lockedBy", view->by);
    member_time(out, "lockedAt", view->locked_at_ms);
    member_time(out, "lockUntil", view->lock_until_ms);
    member_integer(out, "leftMs", view->left_ms);
    if (view->job != NULL) {
        member_name(out, "job");
        write_job(out, view->job);
    }
    text_add_char(out, '}');
}

void members_schedule_locked(struct text *out, const struct schedule_view *view) {
    text_add_str(out, "\"lockedBy\":");
    json_write_string(out, view->by);
    text_add_str(out, ",\"lockUntil\":");
    json_write_time(out, view->lock_until_ms);
    text_addf(out, ",\"retryAfterMs\":%lld", (long long)view->left_ms);
}
