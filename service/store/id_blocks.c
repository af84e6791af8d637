/* Ids of orders, drawn in blocks by one autocommit statement: LAST_INSERT_ID(expression) hands the old value back on
   the same connection, so nothing can come between. An unused rest of a block is simply lost. */
#include "store/tables.h"

#define RESERVE "UPDATE id_blocks SET next_id = LAST_INSERT_ID(next_id) + ? WHERE name = 'orders'"
/* Above whatever a foreign writer inserted. */
#define RESERVE_ABOVE                                                                                                  \
    "UPDATE id_blocks SET next_id = LAST_INSERT_ID(GREATEST(next_id, (SELECT COALESCE(MAX(id), 0) + 1 FROM orders))) " \
    "+ ? WHERE name = 'orders'"

static RESULT draw(struct db *db, size_t count, bool above_existing, uint64_t *ret_matched, int64_t *ret_first) {
    struct db_stmt *stmt;
    TRY(db_statement(db, above_existing ? RESERVE_ABOVE : RESERVE, &stmt));
    db_set_i64(stmt, 0, (int64_t)count);
    TRY(db_execute(stmt, ret_matched));
    *ret_first = db_insert_id(stmt);
    return OK;
}

RESULT id_blocks_reserve(struct db *db, size_t count, bool above_existing, int64_t *ret_first) {
    uint64_t matched;
    int64_t first;
    TRY(draw(db, count, above_existing, &matched, &first));
    if (matched == 0) { /* the row is gone (a restored or emptied database): never below what exists */
        TRY(db_run(db, "INSERT IGNORE INTO id_blocks (name, next_id) VALUES ('orders', 1)", NULL));
        TRY(draw(db, count, true, &matched, &first));
    }
    if (matched == 0) FAIL(STORE_OTHER, 0);
    *ret_first = first;
    return OK;
}
