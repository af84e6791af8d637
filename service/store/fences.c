#include "store/fences.h"

/* LAST_INSERT_ID(expression) hands the new value back on the same connection, so nothing can come between. */
#define DRAW                                                                                                           \
    "UPDATE fence_epochs SET epoch = LAST_INSERT_ID(GREATEST(epoch, ?) + 1), run_id = ?, "                             \
    "drawn_at = UTC_TIMESTAMP(6) WHERE name = 'redis'"
#define RAISE                                                                                                          \
    "INSERT INTO fence_marks (name, highest, raised_at) VALUES (?, LAST_INSERT_ID(?), UTC_TIMESTAMP(6)) "              \
    "ON DUPLICATE KEY UPDATE raised_at = IF(VALUES(highest) > highest, VALUES(raised_at), raised_at), "                \
    "highest = LAST_INSERT_ID(GREATEST(highest, VALUES(highest)))"
#define RAISE_TRIES_MAX 3 /* two first callers of a name can deadlock on its gap */

static RESULT draw(struct db *db, int64_t standing, const char *run_id, uint64_t *ret_matched, int64_t *ret_epoch) {
    struct db_stmt *stmt;
    TRY(db_statement(db, DRAW, &stmt));
    db_set_i64(stmt, 0, standing);
    db_set_str(stmt, 1, run_id);
    TRY(db_execute(stmt, ret_matched));
    *ret_epoch = db_insert_id(stmt);
    return OK;
}

RESULT fence_epochs_draw(struct db *db, int64_t standing, const char *run_id, int64_t *ret_epoch) {
    uint64_t matched;
    int64_t epoch;
    TRY(draw(db, standing, run_id, &matched, &epoch));
    if (matched == 0) { /* the row is gone: a restored or emptied database */
        TRY(db_run(db, "INSERT IGNORE INTO fence_epochs (name, epoch) VALUES ('redis', 0)", NULL));
        TRY(draw(db, standing, run_id, &matched, &epoch));
    }
    if (matched == 0) FAIL(STORE_OTHER, 0);
    *ret_epoch = epoch;
    return OK;
}

static RESULT raise_once(struct db *db, const char *name, int64_t fence) {
    struct db_stmt *stmt;
    TRY(db_statement(db, RAISE, &stmt));
    db_set_str(stmt, 0, name);
    db_set_i64(stmt, 1, fence);
    return db_execute(stmt, NULL);
}

/* What the statement before left as the mark, not what others have made of it since. */
static RESULT read_mark(struct db *db, int64_t *ret_highest) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, "SELECT LAST_INSERT_ID()", &stmt));
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) FAIL(STORE_OTHER, 0);
    *ret_highest = db_i64(stmt, 0);
    db_finish(stmt);
    return OK;
}

RESULT fence_marks_raise(struct db *db, const char *name, int64_t fence, int64_t *ret_highest) {
    struct result result = OK;
    for (int i = 0; i < RAISE_TRIES_MAX; i++) {
        result = raise_once(db, name, fence);
        if (result.code != ERROR_DEADLOCK) break;
    }
    TRY(result);
    return read_mark(db, ret_highest);
}
