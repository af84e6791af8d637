/* Stock rows, prices and the ledger. Rows are locked in product order, whatever the caller's neighbours do, so that two
   trains cannot wait for each other. */
#include "store/many.h"
#include "store/tables.h"

#include <assert.h>

/* Without the hint the optimizer turns to a full scan for many ids, and a scan locks every row it meets. */
#define LOCK_HEAD                                                                                                      \
    "SELECT product_id, stock, version, ledger_stock, ledger_version, updated_at, UTC_TIMESTAMP(3) FROM inventories "  \
    "FORCE INDEX (uk_inventories_product_id) WHERE product_id IN ("

static const char *const lock_tail[] = {
    [ROW_LOCK_WAIT] = ") ORDER BY product_id FOR UPDATE",
    [ROW_LOCK_SKIP] = ") ORDER BY product_id FOR UPDATE SKIP LOCKED",
    [ROW_LOCK_NONE] = ") ORDER BY product_id",
};

RESULT db_now(struct db *db, int64_t *ret_ms) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, "SELECT UTC_TIMESTAMP(3)", &stmt));
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) FAIL(STORE_OTHER, 0);
    *ret_ms = db_time(stmt, 0);
    db_finish(stmt);
    return OK;
}

struct locked {
    struct stock_row *rows;
    size_t count, max;
    int64_t *now_ms;
};

static void take_row(void *arg, struct db_stmt *row) {
    struct locked *out = arg;
    assert(out->count < out->max);
    out->rows[out->count++] = (struct stock_row){
        .product_id = db_i64(row, 0),
        .stock = db_i64(row, 1),
        .version = db_i64(row, 2),
        .ledger_stock = db_is_null(row, 3) ? -1 : db_i64(row, 3),
        .ledger_version = db_is_null(row, 4) ? -1 : db_i64(row, 4),
        .updated_at_ms = db_time(row, 5),
    };
    *out->now_ms = db_time(row, 6);
}

RESULT inventories_lock(struct db *db, const int64_t *product_ids, size_t count, enum row_lock lock,
                        struct stock_row *rows, size_t *ret_count, int64_t *ret_now_ms) {
    struct locked out = {rows, 0, count, ret_now_ms};
    struct many_ids ids = {LOCK_HEAD, lock_tail[lock], product_ids, count};
    TRY(many_read_ids(db, &ids, take_row, &out));
    *ret_count = out.count;
    return OK;
}

RESULT inventories_exist(struct db *db, const int64_t *product_ids, size_t count, bool *found) {
    struct many_ids ids = {"SELECT product_id FROM inventories WHERE product_id IN (", ") ORDER BY product_id",
                           product_ids, count};
    return many_exist(db, &ids, found);
}

struct prices {
    struct stock_row *rows;
    size_t count, at;
};

static void set_row_id(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    db_set_i64(stmt, first, ((struct prices *)arg)->rows[row].product_id);
}

static void take_price(void *arg, struct db_stmt *row) {
    struct prices *p = arg;
    int64_t id = db_i64(row, 0);
    while (p->at < p->count && p->rows[p->at].product_id < id) p->at++;
    if (p->at == p->count || p->rows[p->at].product_id != id) return;
    p->rows[p->at].price = db_i64(row, 1);
    p->rows[p->at].has_product = true;
}

RESULT products_price(struct db *db, struct stock_row *rows, size_t count) {
    struct prices prices = {rows, count, 0};
    struct many many = {.head = "SELECT id, price FROM products WHERE id IN (",
                        .group = "?",
                        .tail = ") ORDER BY id",
                        .columns = 1,
                        .set = set_row_id,
                        .arg = &prices};
    for (size_t i = 0; i < count; i++) rows[i].has_product = false;
    return many_read(db, &many, count, take_price, &prices);
}

static void set_movement(struct db_stmt *stmt, unsigned first, const struct movement *m, int64_t now_ms) {
    db_set_i64(stmt, first, m->product_id);
    db_set_str(stmt, first + 1, movement_kind_name(m->kind));
    db_set_i64(stmt, first + 2, m->delta);
    db_set_i64(stmt, first + 3, m->stock_after);
    db_set_i64(stmt, first + 4, m->version);
    db_set_str_or_null(stmt, first + 5, m->order_ref);
    db_set_i64(stmt, first + 6, m->line_no);
    db_set_str_or_null(stmt, first + 7, m->reason);
    db_set_time(stmt, first + 8, now_ms);
}

struct movements {
    const struct movement *rows;
    int64_t now_ms;
};

static void set_movement_row(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    const struct movements *m = arg;
    set_movement(stmt, first, &m->rows[row], m->now_ms);
}

RESULT movements_insert(struct db *db, const struct movement *movements, size_t count, int64_t now_ms) {
    struct movements rows = {movements, now_ms};
    struct many many = {.head =
                            "INSERT INTO stock_movements (product_id, kind, delta, stock_after, version, order_ref, "
                            "line_no, reason, at) VALUES ",
                        .group = "(?,?,?,?,?,?,?,?,?)",
                        .tail = "",
                        .columns = 9,
                        .set = set_movement_row,
                        .arg = &rows};
    return many_write(db, &many, count, NULL);
}
