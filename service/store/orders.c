/* Orders: written once with their lines, later only status, payment time and version change. */
#include "store/orders.h"

#include "base/memory.h"
#include "store/many.h"
#include "store/tables.h"

#include <assert.h>
#include <stdlib.h>

RESULT orders_take_row(struct db_stmt *row, struct order *ret) {
    *ret = (struct order){
        .id = db_i64(row, 0),
        .total_amount = db_i64(row, 3),
        .ordered_at_ms = db_time(row, 5),
        .expires_at_ms = db_time(row, 6),
        .payment_requested_at_ms = db_time(row, 7),
        .version = db_i64(row, 8),
    };
    db_copy_text(row, 1, ret->number, sizeof ret->number);
    db_copy_text(row, 2, ret->user_id, sizeof ret->user_id);
    if (!order_status_parse(db_text(row, 4, NULL), &ret->status)) FAIL(BAD_DATA, 0);
    return OK;
}

void orders_free_items(struct order *orders, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(orders[i].items);
        orders[i].items = NULL;
        orders[i].item_count = 0;
    }
}

/* Ascending orders beside item rows in (order_id, line_no) order. */
struct item_walk {
    struct order *orders;
    size_t count, at;
};

#define ITEMS_FIRST_ROOM 4 /* doubled when full: the count is a power of two from here on */

static void add_item(struct order *order, struct order_item item) {
    size_t n = order->item_count;
    if (n == 0)
        order->items = mem_array(ITEMS_FIRST_ROOM, sizeof *order->items);
    else if (n >= ITEMS_FIRST_ROOM && (n & (n - 1)) == 0)
        order->items = mem_grow(order->items, n * 2, sizeof *order->items);
    order->items[order->item_count++] = item;
}

static void take_item(void *arg, struct db_stmt *row) {
    struct item_walk *walk = arg;
    int64_t order_id = db_i64(row, 0);
    while (walk->at < walk->count && walk->orders[walk->at].id < order_id) walk->at++;
    if (walk->at == walk->count || walk->orders[walk->at].id != order_id) return;
    add_item(&walk->orders[walk->at], (struct order_item){db_i64(row, 1), db_i64(row, 2), db_i64(row, 3)});
}

static void set_order_id(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    db_set_i64(stmt, first, ((struct item_walk *)arg)->orders[row].id);
}

RESULT orders_read_items(struct db *db, struct order *orders, size_t count) {
    struct item_walk walk = {orders, count, 0};
    struct many many = {.head =
                            "SELECT order_id, product_id, quantity, unit_price FROM order_items WHERE order_id IN (",
                        .group = "?",
                        .tail = ") ORDER BY order_id, line_no",
                        .columns = 1,
                        .set = set_order_id,
                        .arg = &walk};
    struct result r = many_read(db, &many, count, take_item, &walk);
    if (failed(r)) orders_free_items(orders, count);
    return r;
}

struct order_rows {
    struct order *rows;
    size_t count, max;
    int64_t *now_ms;
    struct result first_failure;
};

static void take_order(void *arg, struct db_stmt *row) {
    struct order_rows *out = arg;
    assert(out->count < out->max);
    struct result r = orders_take_row(row, &out->rows[out->count]);
    if (failed(r)) {
        out->first_failure = r;
        return;
    }
    out->count++;
    *out->now_ms = db_time(row, ORDER_COLUMN_COUNT);
}

RESULT orders_lock(struct db *db, const int64_t *ids, size_t count, enum row_lock lock, struct order *rows,
                   size_t *ret_count, int64_t *ret_now_ms) {
    static const char *const tails[] = {[ROW_LOCK_WAIT] = ") ORDER BY id FOR UPDATE",
                                        [ROW_LOCK_SKIP] = ") ORDER BY id FOR UPDATE SKIP LOCKED",
                                        [ROW_LOCK_NONE] = ") ORDER BY id"};
    struct order_rows out = {rows, 0, count, ret_now_ms, OK};
    struct many_ids list = {"SELECT " ORDER_COLUMNS
                            ", UTC_TIMESTAMP(3) FROM orders FORCE INDEX (PRIMARY) WHERE id IN (",
                            tails[lock], ids, count};
    TRY(many_read_ids(db, &list, take_order, &out));
    TRY(out.first_failure);
    TRY(orders_read_items(db, rows, out.count));
    *ret_count = out.count;
    return OK;
}

RESULT orders_exist(struct db *db, const int64_t *ids, size_t count, bool *found) {
    struct many_ids list = {"SELECT id FROM orders WHERE id IN (", ") ORDER BY id", ids, count};
    return many_exist(db, &list, found);
}

RESULT orders_read(struct db *db, int64_t id, struct order *ret) {
    struct db_stmt *stmt;
    struct order order;
    bool row;
    TRY(db_statement(db, "SELECT " ORDER_COLUMNS " FROM orders WHERE id = ?", &stmt));
    db_set_i64(stmt, 0, id);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) FAIL(ORDER_NOT_FOUND, 0);
    struct result r = orders_take_row(stmt, &order);
    db_finish(stmt);
    TRY(r);
    TRY(orders_read_items(db, &order, 1));
    *ret = order;
    return OK;
}

static void set_order(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    const struct order *order = &((const struct order *)arg)[row];
    db_set_i64(stmt, first, order->id);
    db_set_str(stmt, first + 1, order->number);
    db_set_str(stmt, first + 2, order->user_id);
    db_set_i64(stmt, first + 3, order->total_amount);
    db_set_str(stmt, first + 4, order_status_name(order->status));
    db_set_time(stmt, first + 5, order->ordered_at_ms);
    db_set_time(stmt, first + 6, order->expires_at_ms);
    db_set_time(stmt, first + 7, order->payment_requested_at_ms);
    db_set_i64(stmt, first + 8, order->version);
}

RESULT orders_insert(struct db *db, const struct order *orders, size_t count) {
    struct many many = {.head = "INSERT INTO orders (" ORDER_COLUMNS ") VALUES ",
                        .group = "(?,?,?,?,?,?,?,?,?)",
                        .tail = "",
                        .columns = ORDER_COLUMN_COUNT,
                        .set = set_order,
                        .arg = (void *)orders};
    return many_write(db, &many, count, NULL);
}

/* The lines of all orders as one sequence; rows are asked for in ascending order, so a cursor suffices. */
struct line_cursor {
    const struct order *orders;
    size_t order, first_row; /* row number of orders[order].items[0] */
};

static void set_line(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    struct line_cursor *cursor = arg;
    while (row - cursor->first_row >= cursor->orders[cursor->order].item_count)
        cursor->first_row += cursor->orders[cursor->order++].item_count;
    const struct order *order = &cursor->orders[cursor->order];
    size_t line = row - cursor->first_row;
    db_set_i64(stmt, first, order->id);
    db_set_i64(stmt, first + 1, (int64_t)line + 1);
    db_set_i64(stmt, first + 2, order->items[line].product_id);
    db_set_i64(stmt, first + 3, order->items[line].quantity);
    db_set_i64(stmt, first + 4, order->items[line].unit_price);
}

RESULT order_items_insert(struct db *db, const struct order *orders, size_t count) {
    struct line_cursor cursor = {orders, 0, 0};
    struct many many = {.head = "INSERT INTO order_items (order_id, line_no, product_id, quantity, unit_price) VALUES ",
                        .group = "(?,?,?,?,?)",
                        .tail = "",
                        .columns = 5,
                        .set = set_line,
                        .arg = &cursor};
    size_t lines = 0;
    for (size_t i = 0; i < count; i++) lines += orders[i].item_count;
    return many_write(db, &many, lines, NULL);
}

#define UPDATE_ORDER "UPDATE orders SET status = ?, payment_requested_at = ?, version = ? WHERE id = ?"

RESULT orders_update(struct db *db, const struct order *order, int64_t expected_version, bool check_version) {
    struct db_stmt *stmt;
    uint64_t matched;
    TRY(db_statement(db, check_version ? UPDATE_ORDER " AND version = ?" : UPDATE_ORDER, &stmt));
    db_set_str(stmt, 0, order_status_name(order->status));
    db_set_time(stmt, 1, order->payment_requested_at_ms);
    db_set_i64(stmt, 2, order->version);
    db_set_i64(stmt, 3, order->id);
    if (check_version) db_set_i64(stmt, 4, expected_version);
    TRY(db_execute(stmt, &matched));
    if (matched == 0) FAIL(VERSION_CONFLICT, 0);
    return OK;
}

struct line_reader {
    void (*fn)(void *arg, int64_t order_id, struct line line);
    void *arg;
};

static void pass_line(void *arg, struct db_stmt *row) {
    struct line_reader *reader = arg;
    reader->fn(reader->arg, db_i64(row, 0), (struct line){db_i64(row, 1), db_i64(row, 2)});
}

RESULT order_lines_read(struct db *db, const int64_t *ids, size_t count,
                        void (*fn)(void *arg, int64_t order_id, struct line line), void *arg) {
    struct line_reader reader = {fn, arg};
    struct many_ids list = {"SELECT order_id, product_id, quantity FROM order_items WHERE order_id IN (",
                            ") ORDER BY order_id, line_no", ids, count};
    return many_read_ids(db, &list, pass_line, &reader);
}
