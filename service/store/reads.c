/* The lists behind the GET endpoints: keyset pages, newest first, each one statement (orders: two, the second for the
   items). */
#include "store/reads.h"

#include "base/memory.h"
#include "store/many.h"
#include "store/orders.h"
#include "store/payments.h"
#include "store/tables.h"

#include <assert.h>

/* -- movements -- */

struct movement_reader {
    void (*fn)(void *arg, const struct movement_row *row);
    void *arg;
    struct result first_failure;
};

static void pass_movement(void *arg, struct db_stmt *row) {
    struct movement_reader *reader = arg;
    struct movement_row out = {.id = db_i64(row, 0), .at_ms = db_time(row, 9)};
    struct movement *m = &out.movement;
    m->product_id = db_i64(row, 1);
    if (!movement_kind_parse(db_text(row, 2, NULL), &m->kind)) reader->first_failure = FAILURE(BAD_DATA, 0);
    m->delta = db_i64(row, 3);
    m->stock_after = db_i64(row, 4);
    m->version = db_i64(row, 5);
    db_copy_text(row, 6, m->order_ref, sizeof m->order_ref);
    m->line_no = (int32_t)db_i64(row, 7);
    db_copy_text(row, 8, m->reason, sizeof m->reason);
    if (!failed(reader->first_failure)) reader->fn(reader->arg, &out);
}

RESULT movements_list(struct db *db, int64_t product_id, int64_t before_id, size_t limit,
                      void (*fn)(void *arg, const struct movement_row *row), void *arg) {
    struct movement_reader reader = {fn, arg, OK};
    struct db_stmt *stmt;
    bool exists;
    TRY(inventories_exist(db, &product_id, 1, &exists));
    if (!exists) FAIL(PRODUCT_NOT_FOUND, 0);
    TRY(db_statement(db,
                     "SELECT id, product_id, kind, delta, stock_after, version, order_ref, line_no, reason, at "
                     "FROM stock_movements WHERE product_id = ? AND id < ? ORDER BY id DESC LIMIT ?",
                     &stmt));
    db_set_i64(stmt, 0, product_id);
    db_set_i64(stmt, 1, before_id);
    db_set_i64(stmt, 2, (int64_t)limit);
    TRY(db_execute(stmt, NULL));
    TRY(many_rows(stmt, pass_movement, &reader));
    return reader.first_failure;
}

/* -- orders -- */

#define ORDERS_FROM "SELECT " ORDER_COLUMNS " FROM orders WHERE "
#define ORDERS_TAIL "id < ? ORDER BY id DESC LIMIT ?"

static const char *const orders_queries[2][2] = {
    {ORDERS_FROM ORDERS_TAIL, ORDERS_FROM "status = ? AND " ORDERS_TAIL},
    {ORDERS_FROM "user_id = ? AND " ORDERS_TAIL, ORDERS_FROM "user_id = ? AND status = ? AND " ORDERS_TAIL},
};

struct page {
    struct order *rows; /* filled from the end, so that a newest-first result comes out ascending */
    size_t room;        /* free rows before the filled ones */
    struct result first_failure;
};

static void take_order(void *arg, struct db_stmt *row) {
    struct page *page = arg;
    assert(page->room > 0);
    struct result r = orders_take_row(row, &page->rows[page->room - 1]);
    if (failed(r))
        page->first_failure = r;
    else
        page->room--;
}

struct orders_filter {
    const char *user_id;
    int status;
    int64_t before_id;
    size_t limit;
};

static RESULT read_page(struct db *db, const struct orders_filter *filter, struct page *page) {
    struct db_stmt *stmt;
    unsigned index = 0;
    TRY(db_statement(db, orders_queries[filter->user_id != NULL][filter->status >= 0], &stmt));
    if (filter->user_id != NULL) db_set_str(stmt, index++, filter->user_id);
    if (filter->status >= 0) db_set_str(stmt, index++, order_status_name((enum order_status)filter->status));
    db_set_i64(stmt, index++, filter->before_id);
    db_set_i64(stmt, index, (int64_t)filter->limit);
    TRY(db_execute(stmt, NULL));
    TRY(many_rows(stmt, take_order, page));
    return page->first_failure;
}

RESULT orders_list(struct db *db, const char *user_id, int status, int64_t before_id, size_t limit,
                   void (*fn)(void *arg, const struct order *row), void *arg) {
    struct orders_filter filter = {user_id, status, before_id, limit};
    AUTO_FREE struct order *rows = mem_array(limit, sizeof *rows);
    struct page page = {rows, limit, OK};
    TRY(read_page(db, &filter, &page));
    TRY(orders_read_items(db, rows + page.room, limit - page.room));
    for (size_t i = limit; i > page.room; i--) fn(arg, &rows[i - 1]);
    orders_free_items(rows + page.room, limit - page.room);
    return OK;
}

/* -- compensations -- */

#define COMPENSATIONS_FROM "SELECT " COMPENSATION_COLUMNS " FROM order_compensations WHERE "

struct compensation_reader {
    void (*fn)(void *arg, const struct compensation *row);
    void *arg;
};

static void pass_compensation(void *arg, struct db_stmt *row) {
    struct compensation_reader *reader = arg;
    struct compensation compensation;
    compensations_take_row(row, &compensation);
    reader->fn(reader->arg, &compensation);
}

RESULT compensations_list(struct db *db, const char *status, int64_t before_id, size_t limit,
                          void (*fn)(void *arg, const struct compensation *row), void *arg) {
    struct compensation_reader reader = {fn, arg};
    struct db_stmt *stmt;
    unsigned index = 0;
    TRY(db_statement(db,
                     status == NULL ? COMPENSATIONS_FROM "id < ? ORDER BY id DESC LIMIT ?"
                                    : COMPENSATIONS_FROM "status = ? AND id < ? ORDER BY id DESC LIMIT ?",
                     &stmt));
    if (status != NULL) db_set_str(stmt, index++, status);
    db_set_i64(stmt, index++, before_id);
    db_set_i64(stmt, index, (int64_t)limit);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, pass_compensation, &reader);
}

static RESULT close_compensation(struct db *db, int64_t id) {
    struct db_stmt *stmt;
    TRY(db_statement(db,
                     "UPDATE order_compensations SET status = 'RESOLVED', resolved_at = UTC_TIMESTAMP(6) "
                     "WHERE id = ? AND status = 'OPEN'",
                     &stmt));
    db_set_i64(stmt, 0, id);
    return db_execute(stmt, NULL);
}

RESULT compensations_resolve(struct db *db, int64_t id, struct compensation *ret) {
    struct db_stmt *stmt;
    bool row;
    TRY(close_compensation(db, id));
    TRY(db_statement(db, COMPENSATIONS_FROM "id = ?", &stmt));
    db_set_i64(stmt, 0, id);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) FAIL(NOT_FOUND, 0);
    compensations_take_row(stmt, ret);
    db_finish(stmt);
    return OK;
}
