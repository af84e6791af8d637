/* Claiming jobs and ending their claims; what is left over when a worker never comes back. */
#include "store/job_rows.h"

#include "metrics/metrics.h"
#include "store/many.h"

#include <string.h>

#define NOW "UTC_TIMESTAMP(6)"
#define IS_SPENT "attempts >= max_attempts"
#define TRIES_MAX 3 /* of an end that deadlocks with a claim of the row whose lease is just over */

#define COMPLETE "status = 'DONE', due_at = NULL, done_at = " NOW ", last_result = ?"
#define RETRY                                                                                                          \
    "status = IF(" IS_SPENT ", 'DEAD', 'READY'), "                                                                     \
    "due_at = IF(" IS_SPENT ", NULL, " NOW " + INTERVAL ? * 1000 MICROSECOND), last_result = ?"
#define READ "SELECT " JOB_COLUMNS ", payload, COALESCE(claim_token = ?, 0) FROM jobs WHERE id = ? AND queue = ?"
#define EXPIRED                                                                                                        \
    "SELECT id FROM jobs FORCE INDEX (idx_jobs_status) WHERE status = 'CLAIMED' AND due_at <= " NOW                    \
    " LIMIT " STRINGIZE(JOBS_SWEEP_MAX) " FOR UPDATE SKIP LOCKED"
#define FREE                                                                                                           \
    "UPDATE jobs SET status = IF(" IS_SPENT ", 'DEAD', 'READY'), due_at = IF(" IS_SPENT                                \
    ", NULL, due_at), lease_until = NULL WHERE id IN ("
#define COUNT_UP_TO(status_)                                                                                           \
    "(SELECT COUNT(*) FROM (SELECT 1 FROM jobs WHERE status = '" status_ "' LIMIT " STRINGIZE(JOBS_COUNT_MAX) ") t)"
#define MEASURE "SELECT " COUNT_UP_TO("READY") ", " COUNT_UP_TO("CLAIMED") ", " COUNT_UP_TO("DEAD")
#define PURGE                                                                                                          \
    "DELETE FROM jobs WHERE done_at <= " NOW " - INTERVAL " STRINGIZE(JOB_KEPT_DAYS) " DAY ORDER BY done_at LIMIT ?"

const struct claim_table jobs_claim_table = {
    .of = CLAIM_OF_JOBS,
    .name = "jobs",
    .index = "idx_jobs_due",
    .scope = "queue",
    .key = "id",
    .columns = JOB_COLUMNS ", payload",
    .at_claim = "status = 'CLAIMED', attempts = attempts + 1",
    .spent = IS_SPENT,
    .bury = "status = 'DEAD'",
};

/* -- claiming */

static void take_job(void *arg, size_t index, struct db_stmt *row, unsigned first) {
    struct queued_job *job = (struct queued_job *)arg + index;
    text_done(&job->payload);
    job_take_whole(row, first, job);
}

/* The rows were read before the claim was written. */
static void write_claim(struct queued_job *job, const struct claim *claim, const char *owner) {
    job->status = JOB_CLAIMED;
    job->attempts++;
    job->fence = claim->fence;
    job->lease_until_ms = job->due_at_ms = claim->lease_until_ms;
    (void)text_copy(job->owner, sizeof job->owner, owner);
}

RESULT jobs_claim(struct db *db, const struct job_claims *ask, struct claim *claims, struct queued_job *jobs,
                  size_t *ret_count) {
    const struct claim_ask inner = {.scope = ask->queue,
                                    .owner = ask->owner,
                                    .lease_ms = ask->lease_ms,
                                    .limit = ask->limit,
                                    .row = take_job,
                                    .arg = jobs};
    memset(jobs, 0, ask->limit * sizeof *jobs);
    TRY(claims_take(db, &jobs_claim_table, &inner, claims, ret_count));
    for (size_t i = 0; i < *ret_count; i++) write_claim(&jobs[i], &claims[i], ask->owner);
    return OK;
}

/* -- ending a claim */

static void bind_complete(struct db_stmt *stmt, void *arg) {
    const struct job_end *end = arg;
    db_set_str_or_null(stmt, 0, end->result);
}

static void bind_retry(struct db_stmt *stmt, void *arg) {
    const struct job_end *end = arg;
    db_set_i64(stmt, 0, end->delay_ms);
    db_set_str_or_null(stmt, 1, end->result);
}

static RESULT settle_once(struct db *db, const struct claim *claim, const struct job_end *end, bool *ret_ours) {
    const struct claim_end complete = {COMPLETE, 1, bind_complete, (void *)end};
    const struct claim_end retry = {RETRY, 2, bind_retry, (void *)end};
    if (end->how == JOB_RENEW) return claims_renew(db, &jobs_claim_table, claim, end->lease_ms, ret_ours);
    return claims_try_settle(db, &jobs_claim_table, claim, end->how == JOB_COMPLETE ? &complete : &retry, ret_ours);
}

static RESULT settle(struct db *db, const struct claim *claim, const struct job_end *end, bool *ret_ours) {
    struct result result = OK;
    for (int i = 0; i < TRIES_MAX; i++) {
        result = settle_once(db, claim, end, ret_ours);
        if (result.code != ERROR_DEADLOCK) break;
    }
    return result;
}

/* *ret_same: the last claim of the row is this one. */
static RESULT look(struct db *db, const struct claim *claim, bool *ret_same, struct queued_job *ret) {
    unsigned char hash[32];
    struct db_stmt *stmt;
    bool row;
    claim_token_hash(claim->token, hash);
    TRY(db_statement(db, READ, &stmt));
    db_set_bytes(stmt, 0, hash, sizeof hash);
    db_set_i64(stmt, 1, claim->key);
    db_set_str(stmt, 2, claim->scope);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) FAIL(NOT_FOUND, 0);
    job_take_whole(stmt, 0, ret);
    *ret_same = db_i64(stmt, JOB_COLUMN_COUNT + 1) != 0 && ret->fence == claim->fence;
    db_finish(stmt);
    return OK;
}

/* The row has the claim's token and is no longer claimed: so it was settled, by this claim, in this way. */
static bool was_ended_so(const struct queued_job *job, enum job_settle how) {
    if (how == JOB_COMPLETE) return job->status == JOB_DONE;
    return how == JOB_RETRY && (job->status == JOB_READY || job->status == JOB_DEAD);
}

RESULT jobs_settle(struct db *db, const struct claim *claim, const struct job_end *end, struct queued_job *ret) {
    bool ours, same;
    TRY(settle(db, claim, end, &ours));
    TRY(look(db, claim, &same, ret));
    if (ours && end->how == JOB_RETRY && ret->status == JOB_DEAD) metric_add(METRIC_CLAIMS_BURIED, CLAIM_OF_JOBS, 1);
    if (ours || (same && was_ended_so(ret, end->how))) return OK;
    if (end->how != JOB_RENEW) claims_count_loss(&jobs_claim_table);
    FAIL(CLAIM_LOST, 0);
}

/* -- maintenance */

struct expired {
    int64_t ids[JOBS_SWEEP_MAX];
    size_t count;
};

static void note_id(void *arg, struct db_stmt *row) {
    struct expired *expired = arg;
    expired->ids[expired->count++] = db_i64(row, 0);
}

static void set_id(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    db_set_i64(stmt, first, ((struct expired *)arg)->ids[row]);
}

static RESULT free_rows(struct db *db, struct expired *expired) {
    struct db_stmt *stmt;
    TRY(db_statement(db, EXPIRED, &stmt));
    TRY(db_execute(stmt, NULL));
    TRY(many_rows(stmt, note_id, expired));
    struct many many = {.head = FREE, .group = "?", .tail = ")", .columns = 1, .set = set_id, .arg = expired};
    return many_write(db, &many, expired->count, NULL);
}

RESULT jobs_free_expired(struct db *db, uint64_t *ret_freed) {
    struct expired expired = {.count = 0};
    TRY(db_begin(db));
    struct result result = free_rows(db, &expired);
    if (failed(result)) {
        db_rollback(db);
        return result;
    }
    TRY(db_commit(db));
    *ret_freed = expired.count;
    return OK;
}

RESULT jobs_measure(struct db *db) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, MEASURE, &stmt));
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) return OK;
    for (unsigned i = 0; i < 3; i++) metric_set(METRIC_QUEUED, i, db_i64(stmt, i));
    db_finish(stmt);
    return OK;
}

RESULT jobs_purge(struct db *db, size_t limit, uint64_t *ret_deleted) {
    struct db_stmt *stmt;
    TRY(db_statement(db, PURGE, &stmt));
    db_set_i64(stmt, 0, (int64_t)limit);
    return db_execute(stmt, ret_deleted);
}
