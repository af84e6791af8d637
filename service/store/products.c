/* Products and single stock rows, read plainly. */
#include "store/products.h"

#include "store/many.h"
#include "store/reads.h"
#include "store/tables.h"

void products_take_row(struct db_stmt *row, struct product *ret) {
    *ret = (struct product){
        .id = db_i64(row, 0),
        .price = db_i64(row, 2),
        .version = db_i64(row, 4),
        .created_at_ms = db_time(row, 5),
        .updated_at_ms = db_time(row, 6),
    };
    db_copy_text(row, 1, ret->name, sizeof ret->name);
    db_copy_text(row, 3, ret->status, sizeof ret->status);
}

RESULT products_read(struct db *db, int64_t id, struct product *ret) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, "SELECT " PRODUCT_COLUMNS " FROM products WHERE id = ?", &stmt));
    db_set_i64(stmt, 0, id);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) FAIL(PRODUCT_NOT_FOUND, 0);
    products_take_row(stmt, ret);
    db_finish(stmt);
    return OK;
}

struct reader {
    void (*fn)(void *arg, const struct product *row);
    void *arg;
};

static void pass_product(void *arg, struct db_stmt *row) {
    struct reader *reader = arg;
    struct product product;
    products_take_row(row, &product);
    reader->fn(reader->arg, &product);
}

RESULT products_list(struct db *db, int64_t after_id, size_t limit, void (*fn)(void *arg, const struct product *row),
                     void *arg) {
    struct reader reader = {fn, arg};
    struct db_stmt *stmt;
    TRY(db_statement(db, "SELECT " PRODUCT_COLUMNS " FROM products WHERE id > ? ORDER BY id LIMIT ?", &stmt));
    db_set_i64(stmt, 0, after_id);
    db_set_i64(stmt, 1, (int64_t)limit);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, pass_product, &reader);
}

RESULT inventory_read(struct db *db, int64_t product_id, struct stock_row *ret) {
    struct stock_row row;
    size_t count;
    int64_t now_ms;
    TRY(inventories_lock(db, &product_id, 1, ROW_LOCK_NONE, &row, &count, &now_ms));
    if (count == 0) FAIL(PRODUCT_NOT_FOUND, 0);
    TRY(products_price(db, &row, 1));
    *ret = row;
    return OK;
}
