/* The last defence: stock is written only over the version it was decided on, and the matched rows are counted.
   Many rows: a join driven by a derived table of the new values, each row then found by the unique key. The casts keep
   its columns BIGINT: MySQL types a bare ? in a select list as text, and the join would compare as floating point. */
#include "store/many.h"
#include "store/tables.h"

struct update {
    const struct stock_row *rows;
    const int64_t *expected;
};

enum { UPDATE_COLUMNS = 4 };

#define MANY_HEAD "UPDATE ("
#define MANY_GROUP                                                                                                     \
    "SELECT CAST(? AS SIGNED) AS id, CAST(? AS SIGNED) AS expected, CAST(? AS SIGNED) AS stock, "                      \
    "CAST(? AS SIGNED) AS version"
#define MANY_JOIN ") d STRAIGHT_JOIN inventories i FORCE INDEX (uk_inventories_product_id) ON i.product_id = d.id"
#define MANY_CHECK " AND i.version = d.expected"
#define MANY_SET                                                                                                       \
    " SET i.stock = d.stock, i.version = d.version, i.ledger_stock = d.stock, i.ledger_version = d.version, "          \
    "i.updated_at = UTC_TIMESTAMP(6)"

#define ONE                                                                                                            \
    "UPDATE inventories SET stock = ?, version = ?, ledger_stock = ?, ledger_version = ?, "                            \
    "updated_at = UTC_TIMESTAMP(6) WHERE product_id = ?"
#define ONE_CHECK " AND version = ?"

static void set_update(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    const struct update *update = arg;
    db_set_i64(stmt, first, update->rows[row].product_id);
    db_set_i64(stmt, first + 1, update->expected[row]);
    db_set_i64(stmt, first + 2, update->rows[row].stock);
    db_set_i64(stmt, first + 3, update->rows[row].version);
}

static RESULT update_one(struct db *db, const struct stock_row *row, int64_t expected, bool check,
                         uint64_t *ret_matched) {
    struct db_stmt *stmt;
    TRY(db_statement(db, check ? ONE ONE_CHECK : ONE, &stmt));
    db_set_i64(stmt, 0, row->stock);
    db_set_i64(stmt, 1, row->version);
    db_set_i64(stmt, 2, row->stock);
    db_set_i64(stmt, 3, row->version);
    db_set_i64(stmt, 4, row->product_id);
    if (check) db_set_i64(stmt, 5, expected);
    return db_execute(stmt, ret_matched);
}

static RESULT update_many(struct db *db, struct update *update, size_t count, bool check, uint64_t *ret_matched) {
    struct many many = {.head = MANY_HEAD,
                        .group = MANY_GROUP,
                        .separator = " UNION ALL ",
                        .tail = check ? MANY_JOIN MANY_CHECK MANY_SET : MANY_JOIN MANY_SET,
                        .columns = UPDATE_COLUMNS,
                        .set = set_update,
                        .arg = update};
    return many_write(db, &many, count, ret_matched);
}

RESULT inventories_update(struct db *db, const struct stock_row *rows, const int64_t *expected, size_t count,
                          bool check_version) {
    struct update update = {rows, expected};
    uint64_t matched = 0;
    if (count == 1)
        TRY(update_one(db, rows, expected[0], check_version, &matched));
    else
        TRY(update_many(db, &update, count, check_version, &matched));
    if (matched < count) FAIL(VERSION_CONFLICT, 0);
    return OK;
}
