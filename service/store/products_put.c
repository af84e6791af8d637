/* PUT of a product: one small transaction that leaves a product, its stock row and the ledger's first movement,
   whatever of them was there before. Stock row before product, as everywhere. A stock row that a foreign writer made is
   left as it is; the first train that meets it writes its OPENING. */
#include "store/products.h"
#include "store/reads.h"
#include "store/tables.h"

#include <string.h>

#define TRIES_MAX 5 /* another creator of the same product: at most one of them can be first */

struct put {
    int64_t id;
    const char *name;
    int64_t price, stock; /* stock -1 = not given */
    const struct event *changed;
    int64_t now_ms;
};

static RESULT insert_stock_row(struct db *db, const struct put *put, int64_t stock) {
    struct db_stmt *stmt;
    TRY(db_statement(db,
                     "INSERT INTO inventories (product_id, stock, version, ledger_stock, ledger_version, updated_at) "
                     "VALUES (?, ?, 0, ?, 0, ?)",
                     &stmt));
    db_set_i64(stmt, 0, put->id);
    db_set_i64(stmt, 1, stock);
    db_set_i64(stmt, 2, stock);
    db_set_time(stmt, 3, put->now_ms);
    return db_execute(stmt, NULL);
}

static RESULT create_stock(struct db *db, const struct put *put) {
    int64_t stock = put->stock < 0 ? 0 : put->stock;
    struct movement initial = {
        .product_id = put->id, .kind = MOVEMENT_INITIAL, .delta = stock, .stock_after = stock, .version = 0};
    TRY(insert_stock_row(db, put, stock));
    TRY(movements_insert(db, &initial, 1, put->now_ms));
    if (put->changed == NULL) return OK;
    return outbox_insert(db, put->changed, 1, put->now_ms);
}

/* The stock a repeated PUT may name: what the product began with; for a foreign stock row what it holds. */
static RESULT read_first_stock(struct db *db, const struct stock_row *row, int64_t *ret) {
    struct db_stmt *stmt;
    bool found;
    TRY(db_statement(db, "SELECT kind, delta FROM stock_movements WHERE product_id = ? ORDER BY id LIMIT 1", &stmt));
    db_set_i64(stmt, 0, row->product_id);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &found));
    bool initial = found && strcmp(db_text(stmt, 0, NULL), movement_kind_name(MOVEMENT_INITIAL)) == 0;
    *ret = initial ? db_i64(stmt, 1) : row->stock;
    db_finish(stmt);
    return OK;
}

static RESULT check_stock(struct db *db, const struct put *put, const struct stock_row *row) {
    int64_t first;
    if (put->stock < 0) return OK;
    TRY(read_first_stock(db, row, &first));
    if (first != put->stock) FAIL(INVALID_REQUEST, 0);
    return OK;
}

static RESULT ensure_stock(struct db *db, const struct put *put) {
    struct stock_row row;
    size_t count;
    int64_t now_ms;
    TRY(inventories_lock(db, &put->id, 1, ROW_LOCK_WAIT, &row, &count, &now_ms));
    return count == 0 ? create_stock(db, put) : check_stock(db, put, &row);
}

static RESULT insert_product(struct db *db, const struct put *put) {
    struct db_stmt *stmt;
    TRY(db_statement(db, "INSERT INTO products (id, name, price, created_at, updated_at) VALUES (?, ?, ?, ?, ?)",
                     &stmt));
    db_set_i64(stmt, 0, put->id);
    db_set_str(stmt, 1, put->name);
    db_set_i64(stmt, 2, put->price);
    db_set_time(stmt, 3, put->now_ms);
    db_set_time(stmt, 4, put->now_ms);
    return db_execute(stmt, NULL);
}

static RESULT update_product(struct db *db, const struct put *put) {
    struct db_stmt *stmt;
    TRY(db_statement(db, "UPDATE products SET name = ?, price = ?, version = version + 1, updated_at = ? WHERE id = ?",
                     &stmt));
    db_set_str(stmt, 0, put->name);
    db_set_i64(stmt, 1, put->price);
    db_set_time(stmt, 2, put->now_ms);
    db_set_i64(stmt, 3, put->id);
    return db_execute(stmt, NULL);
}

static RESULT lock_product(struct db *db, int64_t id, bool *ret_found, struct product *ret) {
    struct db_stmt *stmt;
    TRY(db_statement(db, "SELECT " PRODUCT_COLUMNS " FROM products WHERE id = ? FOR UPDATE", &stmt));
    db_set_i64(stmt, 0, id);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, ret_found));
    if (*ret_found) products_take_row(stmt, ret);
    db_finish(stmt);
    return OK;
}

static bool is_same(const struct product *product, const struct put *put) {
    return product->price == put->price && strcmp(product->name, put->name) == 0;
}

static RESULT put_in_transaction(struct db *db, struct put *put, bool *ret_created, struct product *ret) {
    bool found;
    TRY(db_now(db, &put->now_ms));
    TRY(ensure_stock(db, put));
    TRY(lock_product(db, put->id, &found, ret));
    *ret_created = !found;
    if (found && is_same(ret, put)) return db_commit(db); /* a repeat changes nothing, not even the version */
    TRY(found ? update_product(db, put) : insert_product(db, put));
    TRY(products_read(db, put->id, ret));
    return db_commit(db);
}

RESULT products_put(struct db *db, int64_t id, const char *name, int64_t price, int64_t stock,
                    const struct event *changed, bool *ret_created, struct product *ret) {
    struct put put = {.id = id, .name = name, .price = price, .stock = stock, .changed = changed};
    struct result r = OK;
    for (int i = 0; i < TRIES_MAX; i++) {
        TRY(db_begin(db));
        r = put_in_transaction(db, &put, ret_created, ret);
        if (!failed(r)) return OK;
        db_rollback(db);
        if (r.code != ERROR_DUPLICATE && r.code != ERROR_DEADLOCK) break;
    }
    return r;
}
