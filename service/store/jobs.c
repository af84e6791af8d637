/* Adding, reading and listing. */
#include "store/jobs.h"

#include "metrics/metrics.h"
#include "store/job_rows.h"
#include "store/many.h"

#include <string.h>

#define NOW "UTC_TIMESTAMP(6)"
#define KEPT "INTERVAL " STRINGIZE(JOB_KEPT_DAYS) " DAY"
#define INSERT                                                                                                         \
    "INSERT INTO jobs (queue, payload, dedupe_key, max_attempts, created_at, due_at) VALUES (?, ?, ?, ?, " NOW         \
    ", " NOW " + INTERVAL ? * 1000 MICROSECOND)"
#define READ "SELECT " JOB_COLUMNS ", payload FROM jobs WHERE id = ? AND queue = ?"
#define READ_TWIN                                                                                                      \
    "SELECT " JOB_COLUMNS ", payload, created_at <= " NOW " - " KEPT " FROM jobs WHERE queue = ? AND dedupe_key = ?"
#define UNBIND "UPDATE jobs SET dedupe_key = NULL WHERE id = ? AND created_at <= " NOW " - " KEPT
#define LIST "SELECT " JOB_COLUMNS " FROM jobs "
/* Of one state by its index; of all states from each index range what could be on the page. */
#define LIST_OF LIST "FORCE INDEX (idx_jobs_status) WHERE status = ? AND queue = ? AND id < ? ORDER BY id DESC LIMIT ?"
#define IDS_OF                                                                                                         \
    "(SELECT id FROM jobs FORCE INDEX (idx_jobs_status) WHERE status = ? AND queue = ? AND id < ? ORDER BY id DESC "   \
    "LIMIT ?)"
#define LIST_ALL                                                                                                       \
    LIST "JOIN (" IDS_OF " UNION ALL " IDS_OF " UNION ALL " IDS_OF " UNION ALL " IDS_OF                                \
         ") page USING (id) ORDER BY id DESC LIMIT ?"
#define REVIVE                                                                                                         \
    "UPDATE jobs SET status = 'READY', attempts = 0, due_at = " NOW " WHERE id = ? AND queue = ? AND status = 'DEAD'"
#define COUNT_OF(status_) "(SELECT COUNT(*) FROM jobs WHERE status = '" status_ "' AND queue = q.queue)"
#define QUEUES                                                                                                         \
    "SELECT q.queue, " COUNT_OF("READY") ", " COUNT_OF("CLAIMED") ", " COUNT_OF(                                       \
        "DEAD") " FROM (SELECT DISTINCT queue "                                                                        \
                "FROM jobs WHERE queue > ? AND queue NOT LIKE 'lockstock:%' ORDER BY queue LIMIT ?) q ORDER BY "       \
                "q.queue"
#define TRIES_MAX 3 /* of adding: the twin may go between two statements, or a gap deadlock */

void job_take_row(struct db_stmt *row, unsigned first, struct queued_job *ret) {
    *ret = (struct queued_job){.id = db_i64(row, first),
                               .attempts = db_i64(row, first + 3),
                               .max_attempts = db_i64(row, first + 4),
                               .fence = db_i64(row, first + 8),
                               .created_at_ms = db_time(row, first + 9),
                               .done_at_ms = db_time(row, first + 10),
                               .due_at_ms = db_time(row, first + 11),
                               .lease_until_ms = db_time(row, first + 12)};
    db_copy_text(row, first + 1, ret->queue, sizeof ret->queue);
    if (!job_status_parse(db_text(row, first + 2, NULL), &ret->status)) ret->status = JOB_DEAD;
    db_copy_text(row, first + 5, ret->dedupe_key, sizeof ret->dedupe_key);
    db_copy_text(row, first + 6, ret->owner, sizeof ret->owner);
    db_copy_text(row, first + 7, ret->last_result, sizeof ret->last_result);
}

void job_take_whole(struct db_stmt *row, unsigned first, struct queued_job *ret) {
    size_t len;
    job_take_row(row, first, ret);
    const char *payload = db_text(row, first + JOB_COLUMN_COUNT, &len);
    ret->payload = text_new(len + 1);
    text_add(&ret->payload, payload, len);
}

/* -- one */

RESULT jobs_read(struct db *db, const char *queue, int64_t id, struct queued_job *ret) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, READ, &stmt));
    db_set_i64(stmt, 0, id);
    db_set_str(stmt, 1, queue);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) FAIL(NOT_FOUND, 0);
    job_take_whole(stmt, 0, ret);
    db_finish(stmt);
    return OK;
}

static RESULT insert(struct db *db, const struct job_new *job, struct queued_job *ret) {
    struct db_stmt *stmt;
    TRY(db_statement(db, INSERT, &stmt));
    db_set_str(stmt, 0, job->queue);
    db_set_str(stmt, 1, job->payload);
    db_set_str_or_null(stmt, 2, job->dedupe_key);
    db_set_i64(stmt, 3, job->max_attempts);
    db_set_i64(stmt, 4, job->delay_ms);
    TRY(db_execute(stmt, NULL));
    return jobs_read(db, job->queue, db_insert_id(stmt), ret);
}

/* Read before the COMMIT: nothing may fail after it. */
static RESULT try_insert(struct db *db, const struct job_new *job, struct queued_job *ret) {
    TRY(db_begin(db));
    struct result result = insert(db, job, ret);
    if (failed(result)) {
        db_rollback(db);
        return result;
    }
    result = db_commit(db);
    if (failed(result)) text_done(&ret->payload);
    return result;
}

static RESULT unbind(struct db *db, int64_t id) {
    struct db_stmt *stmt;
    TRY(db_statement(db, UNBIND, &stmt));
    db_set_i64(stmt, 0, id);
    return db_execute(stmt, NULL);
}

/* The job that has the key. *ret_found false: it is gone, or its key is too old to bind and was taken from it. */
static RESULT find_twin(struct db *db, const struct job_new *job, bool *ret_found, struct queued_job *ret) {
    struct db_stmt *stmt;
    TRY(db_statement(db, READ_TWIN, &stmt));
    db_set_str(stmt, 0, job->queue);
    db_set_str(stmt, 1, job->dedupe_key);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, ret_found));
    if (!*ret_found) return OK;
    job_take_row(stmt, 0, ret);
    *ret_found = db_i64(stmt, JOB_COLUMN_COUNT + 1) == 0;
    if (*ret_found) job_take_whole(stmt, 0, ret);
    db_finish(stmt);
    return *ret_found ? OK : unbind(db, ret->id);
}

/* The unique key decides, however many ask at once. */
RESULT jobs_add(struct db *db, const struct job_new *job, bool *ret_created, struct queued_job *ret) {
    struct result result = OK;
    for (int i = 0; i < TRIES_MAX; i++) {
        bool found = false;
        result = try_insert(db, job, ret);
        *ret_created = !failed(result);
        if (result.code == ERROR_DUPLICATE) TRY(find_twin(db, job, &found, ret));
        if (found) result = OK;
        if (result.code != ERROR_DUPLICATE && result.code != ERROR_DEADLOCK) break;
    }
    if (!failed(result)) metric_add(METRIC_QUEUED_ADDED, *ret_created ? 0 : 1, 1);
    return result.code == ERROR_DUPLICATE ? FAILURE(UNAVAILABLE, 0) : result;
}

RESULT jobs_revive(struct db *db, const char *queue, int64_t id, bool *ret_done, struct queued_job *ret) {
    struct db_stmt *stmt;
    uint64_t matched;
    TRY(db_statement(db, REVIVE, &stmt));
    db_set_i64(stmt, 0, id);
    db_set_str(stmt, 1, queue);
    TRY(db_execute(stmt, &matched));
    *ret_done = matched > 0;
    return jobs_read(db, queue, id, ret);
}

/* -- many */

struct job_reader {
    void (*fn)(void *arg, const struct queued_job *job);
    void *arg;
};

static void pass_job(void *arg, struct db_stmt *row) {
    struct job_reader *reader = arg;
    struct queued_job job;
    job_take_row(row, 0, &job);
    reader->fn(reader->arg, &job);
}

static unsigned bind_range(struct db_stmt *stmt, unsigned param, const struct jobs_page *page, enum job_status status) {
    db_set_str(stmt, param++, job_status_name(status));
    db_set_str(stmt, param++, page->queue);
    db_set_i64(stmt, param++, page->before_id);
    db_set_i64(stmt, param++, (int64_t)page->limit);
    return param;
}

RESULT jobs_list(struct db *db, const struct jobs_page *page, void (*fn)(void *arg, const struct queued_job *job),
                 void *arg) {
    struct job_reader reader = {fn, arg};
    struct db_stmt *stmt;
    unsigned param = 0;
    bool all = page->status < 0;
    TRY(db_statement(db, all ? LIST_ALL : LIST_OF, &stmt));
    for (int i = 0; i < JOB_STATUS_COUNT; i++)
        if (all || i == page->status) param = bind_range(stmt, param, page, (enum job_status)i);
    if (all) db_set_i64(stmt, param, (int64_t)page->limit);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, pass_job, &reader);
}

struct queue_reader {
    void (*fn)(void *arg, const struct queue_counts *row);
    void *arg;
};

static void pass_queue(void *arg, struct db_stmt *row) {
    struct queue_reader *reader = arg;
    struct queue_counts counts = {.ready = db_i64(row, 1), .claimed = db_i64(row, 2), .dead = db_i64(row, 3)};
    db_copy_text(row, 0, counts.name, sizeof counts.name);
    reader->fn(reader->arg, &counts);
}

RESULT queues_list(struct db *db, const char *after, size_t limit,
                   void (*fn)(void *arg, const struct queue_counts *row), void *arg) {
    struct queue_reader reader = {fn, arg};
    struct db_stmt *stmt;
    TRY(db_statement(db, QUEUES, &stmt));
    db_set_str(stmt, 0, after);
    db_set_i64(stmt, 1, (int64_t)limit);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, pass_queue, &reader);
}
