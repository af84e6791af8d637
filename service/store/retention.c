#include "store/retention.h"

#define AGE(column, seconds) column " < UTC_TIMESTAMP(6) - INTERVAL " STRINGIZE(seconds) " SECOND"
#define OLD(column) AGE(column, RETENTION_EVENTS_S)

#define DELETE_EVENTS                                                                                                  \
    "DELETE FROM outbox_events WHERE id > ? AND id <= ? AND ("                                                         \
    "(status = 'PUBLISHED' AND " OLD("published_at") ") OR "                                                           \
                                                     "(status = 'DISCARDED' AND " OLD(                                 \
                                                         "created_at") ") OR "                                         \
                                                                       "(? = 1 AND status = 'PENDING' AND " OLD(       \
                                                                           "created_at") "))"

/* The next ids, and whether the last of them is old enough to look further. */
static RESULT next_span(struct db *db, int64_t after, int64_t *ret_upto, bool *ret_old) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, "SELECT COALESCE(MAX(id), 0), COALESCE(" OLD(
                             "MAX(created_at)") ", 0) FROM (SELECT id, created_at FROM "
                                                "outbox_events WHERE id > ? ORDER BY id LIMIT " STRINGIZE(RETENTION_ROWS) ") AS span", &stmt));
    db_set_i64(stmt, 0, after);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    *ret_upto = row ? db_i64(stmt, 0) : 0;
    *ret_old = row && db_i64(stmt, 1) != 0;
    db_finish(stmt);
    return OK;
}

RESULT retention_events(struct db *db, bool unsent, int64_t *after, uint64_t *ret_removed, bool *ret_end) {
    struct db_stmt *stmt;
    int64_t upto;
    bool old;
    *ret_removed = 0;
    TRY(next_span(db, *after, &upto, &old));
    *ret_end = upto == 0 || !old;
    if (upto == 0) return OK;
    TRY(db_statement(db, DELETE_EVENTS, &stmt));
    db_set_i64(stmt, 0, *after);
    db_set_i64(stmt, 1, upto);
    db_set_i64(stmt, 2, unsent);
    TRY(db_execute(stmt, ret_removed));
    *after = upto;
    return OK;
}

static RESULT run(struct db *db, const char *sql, uint64_t *ret_removed) {
    struct db_stmt *stmt;
    TRY(db_statement(db, sql, &stmt));
    return db_execute(stmt, ret_removed);
}

RESULT retention_failures(struct db *db, uint64_t *ret_removed) {
    return run(db,
               "DELETE FROM outbox_failures WHERE status = 'DISCARDED' AND NOT EXISTS (SELECT 1 FROM outbox_events e "
               "WHERE e.id = outbox_failures.id) LIMIT " STRINGIZE(RETENTION_ROWS), ret_removed);
}

RESULT retention_processed(struct db *db, uint64_t *ret_removed) {
    return run(db, "DELETE FROM processed_events WHERE " OLD("processed_at") " ORDER BY processed_at LIMIT " STRINGIZE(RETENTION_ROWS), ret_removed);
}

RESULT retention_keys(struct db *db, uint64_t *ret_removed) {
    return run(db, "DELETE FROM idempotency_keys WHERE " AGE(
                       "created_at", RETENTION_KEYS_S) " ORDER BY created_at LIMIT " STRINGIZE(RETENTION_ROWS),
                                                                                               ret_removed);
}
