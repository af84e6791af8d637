/* What a sink refused, and what waits behind it. */
#include "store/many.h"
#include "store/outbox.h"

struct rows {
    const char *sink;
    const struct outbox_failure *items;
};

static void set_failure(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    const struct rows *rows = arg;
    const struct outbox_failure *failure = &rows->items[row];
    db_set_str(stmt, first, rows->sink);
    db_set_i64(stmt, first + 1, failure->id);
    db_set_i64(stmt, first + 2, failure->part);
    db_set_str(stmt, first + 3, failure->aggregate_id);
    db_set_str(stmt, first + 4, failure->failed ? "FAILED" : "PENDING");
    db_set_i64(stmt, first + 5, failure->attempts);
    db_set_i64(stmt, first + 6, failure->delay_ms);
    db_set_str(stmt, first + 7, failure->error);
}

/* The event's own status is for those who look; the failure decides. */
static RESULT tell(struct db *db, const struct outbox_failure *failure) {
    struct db_stmt *stmt;
    TRY(db_statement(db,
                     "UPDATE outbox_events SET status = IF(status IN ('FAILED', 'DISCARDED'), status, ?), retry_count "
                     "= ? WHERE id = ?",
                     &stmt));
    db_set_str(stmt, 0, failure->failed ? "FAILED" : "PENDING");
    db_set_i64(stmt, 1, failure->attempts);
    db_set_i64(stmt, 2, failure->id);
    return db_execute(stmt, NULL);
}

RESULT outbox_failures_put(struct db *db, const char *sink, const struct outbox_failure *failures, size_t count) {
    struct rows rows = {sink, failures};
    struct many many = {.head = "INSERT INTO outbox_failures (sink, id, part, aggregate_id, status, attempts, "
                                "available_at, error, created_at) VALUES ",
                        .group = "(?,?,?,?,?,?,UTC_TIMESTAMP(6) + INTERVAL ? * 1000 MICROSECOND,?,UTC_TIMESTAMP(6))",
                        .tail = " ON DUPLICATE KEY UPDATE status = IF(status = 'DISCARDED', status, VALUES(status)), "
                                "attempts = VALUES(attempts), "
                                "available_at = VALUES(available_at), error = VALUES(error)",
                        .columns = 8,
                        .set = set_failure,
                        .arg = &rows};
    TRY(many_write(db, &many, count, NULL));
    for (size_t i = 0; i < count; i++)
        if (failures[i].attempts > 0) TRY(tell(db, &failures[i]));
    return OK;
}

RESULT outbox_failures_remove(struct db *db, const char *sink, int64_t id) {
    struct db_stmt *stmt;
    TRY(db_statement(db, "DELETE FROM outbox_failures WHERE sink = ? AND id = ?", &stmt));
    db_set_str(stmt, 0, sink);
    db_set_i64(stmt, 1, id);
    return db_execute(stmt, NULL);
}

RESULT outbox_failures_keys(struct db *db, const char *sink, uint64_t parts, int64_t limit,
                            void (*fn)(void *arg, const char *aggregate_id), void *arg) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db,
                     "SELECT DISTINCT aggregate_id FROM outbox_failures WHERE sink = ? AND status <> 'DISCARDED' "
                     "AND (CAST(? AS UNSIGNED) >> part) & 1 = 1 LIMIT ?",
                     &stmt));
    db_set_str(stmt, 0, sink);
    db_set_i64(stmt, 1, (int64_t)parts);
    db_set_i64(stmt, 2, limit);
    TRY(db_execute(stmt, NULL));
    for (;;) {
        TRY(db_next(stmt, &row));
        if (!row) return OK;
        fn(arg, db_text(stmt, 0, NULL));
    }
}

RESULT outbox_failures_count(struct db *db, const char *sink, int64_t *ret) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, "SELECT COUNT(*) FROM outbox_failures WHERE sink = ? AND status = 'FAILED'", &stmt));
    db_set_str(stmt, 0, sink);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    *ret = row ? db_i64(stmt, 0) : 0;
    db_finish(stmt);
    return OK;
}
