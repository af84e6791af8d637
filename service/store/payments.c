/* Payments and what has to be made good. Both are found by plain reads: their orders are locked by the caller, and the
   unique keys decide what two orders could do to each other. */
#include "store/payments.h"

#include "store/many.h"
#include "store/tables.h"

#include <string.h>

static const char *const status_names[PAYMENT_STATUS_COUNT] = {
    [PAYMENT_APPROVED] = "APPROVED",
    [PAYMENT_FAILED] = "FAILED",
    [PAYMENT_REFUND_REQUIRED] = "REFUND_REQUIRED",
};

static enum payment_status status_of(const char *name) {
    for (size_t i = 0; i < PAYMENT_STATUS_COUNT; i++)
        if (strcmp(status_names[i], name) == 0) return (enum payment_status)i;
    return PAYMENT_FAILED; /* a foreign writer's word: no money of ours moved */
}

struct payment_reader {
    void (*fn)(void *arg, const struct payment *payment);
    void *arg;
};

static void pass_payment(void *arg, struct db_stmt *row) {
    struct payment_reader *reader = arg;
    struct payment payment = {
        .order_id = db_i64(row, 0), .amount = db_i64(row, 2), .status = status_of(db_text(row, 3, NULL))};
    db_copy_text(row, 1, payment.payment_key, sizeof payment.payment_key);
    reader->fn(reader->arg, &payment);
}

#define PAYMENT_SELECT "SELECT order_id, payment_key, amount, status FROM payments WHERE "

static void set_key(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    db_set_str(stmt, first, ((const char *const *)arg)[row]);
}

RESULT payments_find(struct db *db, const int64_t *order_ids, size_t order_count, const char *const *keys,
                     size_t key_count, void (*fn)(void *arg, const struct payment *payment), void *arg) {
    struct payment_reader reader = {fn, arg};
    struct many_ids by_order = {PAYMENT_SELECT "order_id IN (", ") ORDER BY order_id, id", order_ids, order_count};
    struct many by_key = {.head = PAYMENT_SELECT "payment_key IN (",
                          .group = "?",
                          .tail = ")",
                          .columns = 1,
                          .set = set_key,
                          .arg = (void *)keys};
    TRY(many_read_ids(db, &by_order, pass_payment, &reader));
    return many_read(db, &by_key, key_count, pass_payment, &reader);
}

struct payment_rows {
    const struct payment *rows;
    int64_t now_ms;
};

static void set_payment(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    const struct payment_rows *rows = arg;
    const struct payment *payment = &rows->rows[row];
    db_set_i64(stmt, first, payment->order_id);
    db_set_str(stmt, first + 1, payment->payment_key);
    db_set_i64(stmt, first + 2, payment->amount);
    db_set_str(stmt, first + 3, status_names[payment->status]);
    db_set_time(stmt, first + 4, rows->now_ms);
}

RESULT payments_insert(struct db *db, const struct payment *payments, size_t count, int64_t now_ms) {
    struct payment_rows rows = {payments, now_ms};
    struct many many = {.head = "INSERT INTO payments (order_id, payment_key, amount, status, created_at) VALUES ",
                        .group = "(?,?,?,?,?)",
                        .tail = "",
                        .columns = 5,
                        .set = set_payment,
                        .arg = &rows};
    return many_write(db, &many, count, NULL);
}

void compensations_take_row(struct db_stmt *row, struct compensation *ret) {
    *ret = (struct compensation){
        .id = db_i64(row, 0),
        .order_id = db_i64(row, 1),
        .amount = db_i64(row, 5),
        .detected_at_ms = db_time(row, 6),
        .resolved_at_ms = db_time(row, 7),
    };
    db_copy_text(row, 2, ret->reason, sizeof ret->reason);
    db_copy_text(row, 3, ret->status, sizeof ret->status);
    db_copy_text(row, 4, ret->payment_key, sizeof ret->payment_key);
}

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

RESULT compensations_find(struct db *db, const int64_t *order_ids, size_t count,
                          void (*fn)(void *arg, const struct compensation *row), void *arg) {
    struct compensation_reader reader = {fn, arg};
    struct many_ids ids = {"SELECT " COMPENSATION_COLUMNS " FROM order_compensations WHERE order_id IN (",
                           ") ORDER BY order_id, id", order_ids, count};
    return many_read_ids(db, &ids, pass_compensation, &reader);
}

struct compensation_rows {
    const struct compensation *rows;
    int64_t now_ms;
};

static void set_compensation(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    const struct compensation_rows *rows = arg;
    const struct compensation *c = &rows->rows[row];
    db_set_i64(stmt, first, c->order_id);
    db_set_str(stmt, first + 1, c->reason);
    db_set_str_or_null(stmt, first + 2, c->payment_key);
    db_set_i64(stmt, first + 3, c->amount);
    db_set_time(stmt, first + 4, rows->now_ms);
}

RESULT compensations_insert(struct db *db, const struct compensation *rows, size_t count, int64_t now_ms) {
    struct compensation_rows arg = {rows, now_ms};
    struct many many = {
        .head = "INSERT INTO order_compensations (order_id, reason, payment_key, amount, detected_at) VALUES ",
        .group = "(?,?,?,?,?)",
        .tail = "",
        .columns = 5,
        .set = set_compensation,
        .arg = &arg};
    return many_write(db, &many, count, NULL);
}
