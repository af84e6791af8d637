/* The audit: one snapshot, read in slices so that no statement outlasts the connection's io timeout, added up here.
   Slices are cut along primary keys; nothing is locked. */
#include "store/balance.h"
#include "store/many.h"
#include "store/reads.h"
#include "store/tables.h"

#define SLICE_ROWS "99999" /* rows of a slice, less one: 0.1 s of reading */

#define MOVEMENTS_END "SELECT id FROM stock_movements WHERE id > ? ORDER BY id LIMIT 1 OFFSET " SLICE_ROWS
/* Σ of what orders, or reservations, took and gave back, as a column. */
#define MOVED_BY(ref) ", CAST(SUM(IF(kind IN ('ORDER', 'RESTORE') AND order_ref LIKE '" ref "', delta, 0)) AS SIGNED) "
#define MOVEMENTS_FROM "FROM stock_movements WHERE id > ? AND id <= ? GROUP BY product_id"
#define MOVEMENTS_SUM "SELECT product_id, CAST(SUM(delta) AS SIGNED)" MOVED_BY("o:%") MOVED_BY("r%") MOVEMENTS_FROM
#define ORDERS_END "SELECT id FROM orders WHERE id > ? ORDER BY id LIMIT 1 OFFSET " SLICE_ROWS
#define ORDERS_SUM                                                                                                     \
    "SELECT i.product_id, CAST(SUM(i.quantity) AS SIGNED) FROM orders o JOIN order_items i ON i.order_id = o.id "      \
    "WHERE o.id > ? AND o.id <= ? AND o.status <> 'CANCELLED' GROUP BY i.product_id"
#define RESERVATIONS_END "SELECT id FROM stock_reservations WHERE id > ? ORDER BY id LIMIT 1 OFFSET " SLICE_ROWS
#define RESERVATIONS_SUM                                                                                               \
    "SELECT i.product_id, CAST(SUM(i.quantity) AS SIGNED) FROM stock_reservations r, "                                 \
    "JSON_TABLE(IF(JSON_VALID(r.items), r.items, '[]'), '$[*]' "                                                       \
    "COLUMNS (product_id BIGINT PATH '$.productId', quantity BIGINT PATH '$.quantity')) i "                            \
    "WHERE r.id > ? AND r.id <= ? AND r.status IN ('RESERVED', 'CONFIRMED') GROUP BY i.product_id"
#define STOCK_END                                                                                                      \
    "SELECT product_id FROM inventories WHERE product_id > ? ORDER BY product_id LIMIT 1 OFFSET " SLICE_ROWS
#define STOCK_ROWS                                                                                                     \
    "SELECT product_id, stock, version, ledger_stock, ledger_version FROM inventories "                                \
    "WHERE product_id > ? AND product_id <= ? ORDER BY product_id"

/* One table in slices: `end` finds the last key of the slice after a key, `sum` reads what lies between two keys. */
struct slices {
    const char *end, *sum;
    void (*add)(void *balances, struct db_stmt *row);
};

static void add_stock(void *arg, struct db_stmt *row) {
    struct balance *b = balances_of(arg, db_i64(row, 0));
    b->has_row = true;
    b->stock = db_i64(row, 1);
    b->version = db_i64(row, 2);
    b->ledger_stock = db_is_null(row, 3) ? -1 : db_i64(row, 3);
    b->ledger_version = db_is_null(row, 4) ? -1 : db_i64(row, 4);
}

static void add_movements(void *arg, struct db_stmt *row) {
    struct balance *b = balances_of(arg, db_i64(row, 0));
    b->moved += db_i64(row, 1);
    b->moved_by_orders += db_i64(row, 2);
    b->moved_by_reservations += db_i64(row, 3);
}

static void add_held(void *arg, struct db_stmt *row) { balances_of(arg, db_i64(row, 0))->held += db_i64(row, 1); }

static void add_reserved(void *arg, struct db_stmt *row) {
    balances_of(arg, db_i64(row, 0))->reserved += db_i64(row, 1);
}

static const struct slices tables[] = {
    {STOCK_END, STOCK_ROWS, add_stock},
    {MOVEMENTS_END, MOVEMENTS_SUM, add_movements},
    {ORDERS_END, ORDERS_SUM, add_held},
    {RESERVATIONS_END, RESERVATIONS_SUM, add_reserved},
};

static RESULT find_end(struct db *db, const char *sql, int64_t after, int64_t *ret) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, sql, &stmt));
    db_set_i64(stmt, 0, after);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    *ret = row ? db_i64(stmt, 0) : INT64_MAX;
    db_finish(stmt);
    return OK;
}

static RESULT add_slice(struct db *db, const struct slices *slices, int64_t after, int64_t end,
                        struct balances *balances) {
    struct db_stmt *stmt;
    TRY(db_statement(db, slices->sum, &stmt));
    db_set_i64(stmt, 0, after);
    db_set_i64(stmt, 1, end);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, slices->add, balances);
}

static RESULT add_table(struct db *db, const struct slices *slices, struct balances *balances) {
    for (int64_t after = INT64_MIN, end; after != INT64_MAX; after = end) {
        TRY(find_end(db, slices->end, after, &end));
        TRY(add_slice(db, slices, after, end, balances));
    }
    return OK;
}

static RESULT begin_snapshot(struct db *db) {
    TRY(db_run(db, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", NULL)); /* of the next transaction only */
    return db_run(db, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", NULL);
}

static RESULT read_balances(struct db *db, struct balances *balances, int64_t *ret_checked_at_ms) {
    TRY(begin_snapshot(db));
    TRY(db_now(db, ret_checked_at_ms));
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) TRY(add_table(db, &tables[i], balances));
    return OK;
}

static void report(const struct balances *balances, size_t max, void (*fn)(void *, const struct audit_finding *),
                   void *arg) {
    struct audit_finding findings[BALANCE_FINDINGS_MAX];
    for (size_t i = 0, reported = 0; i < balances->count; i++) {
        size_t count = balance_judge(&balances->rows[i], findings);
        for (size_t k = 0; k < count && reported < max; k++, reported++) fn(arg, &findings[k]);
    }
}

RESULT audit_run(struct db *db, size_t max, int64_t *ret_products, int64_t *ret_checked_at_ms,
                 void (*fn)(void *arg, const struct audit_finding *finding), void *arg) {
    __attribute__((cleanup(balances_done))) struct balances balances = {0};
    struct result r = read_balances(db, &balances, ret_checked_at_ms);
    db_rollback(db); /* nothing was written */
    TRY(r);
    *ret_products = (int64_t)balances.count;
    report(&balances, max, fn, arg);
    return OK;
}
