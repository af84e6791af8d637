/* Reservations: one row an order of a credential. Found by (credential, order id), in that order, so that two trains
   cannot wait for each other; items are a JSON array of ours. */
#include "store/reservations.h"

#include "base/memory.h"
#include "codec/lines.h"
#include "store/many.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS                                                                                                        \
    "credential, order_id, status, items, reason, version, created_at, reserved_at, expires_at, confirmed_at, "        \
    "released_at"
#define READ_COLUMNS "id, " COLUMNS ", UTC_TIMESTAMP(3)"
enum { COLUMN_ITEMS = 4, COLUMN_NOW = 12, INSERT_COLUMNS = 11 };
#define PAIR "(credential = ? AND order_id = ?)"
#define FROM "FROM stock_reservations FORCE INDEX (uk_stock_reservation_order) WHERE "

static RESULT take_items(struct db_stmt *row, unsigned column, struct line **ret, size_t *ret_count) {
    struct line lines[ORDER_LINES_MAX];
    size_t len, count = 0;
    const char *json = db_text(row, column, &len);
    *ret = NULL;
    *ret_count = 0;
    if (len == 0) return OK; /* a tombstone */
    TRY(lines_read(json, len, lines, &count));
    *ret = mem_array(count + 1, sizeof lines[0]);
    memcpy(*ret, lines, count * sizeof lines[0]);
    *ret_count = count;
    return OK;
}

static RESULT take_row(struct db_stmt *row, struct reservation *ret) {
    struct reservation out = {.id = db_i64(row, 0), .version = db_i64(row, 6)};
    db_copy_text(row, 1, out.ref.credential, sizeof out.ref.credential);
    db_copy_text(row, 2, out.ref.order_id, sizeof out.ref.order_id);
    if (!reservation_status_parse(db_text(row, 3, NULL), &out.status)) FAIL(BAD_DATA, 0);
    db_copy_text(row, 5, out.reason, sizeof out.reason);
    out.created_at_ms = db_time(row, 7);
    out.reserved_at_ms = db_time(row, 8);
    out.expires_at_ms = db_time(row, 9);
    out.confirmed_at_ms = db_time(row, 10);
    out.released_at_ms = db_time(row, 11);
    TRY(take_items(row, COLUMN_ITEMS, &out.items, &out.item_count));
    *ret = out;
    return OK;
}

static void set_ref(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    const struct reservation_ref *ref = &((const struct reservation_ref *)arg)[row];
    db_set_str(stmt, first, ref->credential);
    db_set_str(stmt, first + 1, ref->order_id);
}

static struct many many_refs(const char *head, const char *tail, const struct reservation_ref *refs) {
    return (struct many){.head = head,
                         .group = PAIR,
                         .separator = " OR ",
                         .tail = tail,
                         .columns = 2,
                         .set = set_ref,
                         .arg = (void *)refs};
}

struct taken {
    struct reservation *rows;
    size_t count, max;
    int64_t *now_ms;
    struct result first_failure;
};

static void take(void *arg, struct db_stmt *row) {
    struct taken *out = arg;
    assert(out->count < out->max);
    struct result r = take_row(row, &out->rows[out->count]);
    if (failed(r)) {
        out->first_failure = r;
        return;
    }
    out->count++;
    *out->now_ms = db_time(row, COLUMN_NOW);
}

static void free_items(struct reservation *rows, size_t count) {
    for (size_t i = 0; i < count; i++) free(TAKE(rows[i].items));
}

RESULT reservations_lock(struct db *db, const struct reservation_ref *refs, size_t count, enum row_lock lock,
                         struct reservation *rows, size_t *ret_count, int64_t *ret_now_ms) {
    static const char *const tails[] = {[ROW_LOCK_WAIT] = " ORDER BY credential, order_id FOR UPDATE",
                                        [ROW_LOCK_SKIP] = " ORDER BY credential, order_id FOR UPDATE SKIP LOCKED",
                                        [ROW_LOCK_NONE] = " ORDER BY credential, order_id"};
    struct taken out = {rows, 0, count, ret_now_ms, OK};
    struct many many = many_refs("SELECT " READ_COLUMNS " " FROM, tails[lock], refs);
    struct result r = many_read(db, &many, count, take, &out);
    if (!failed(r)) r = out.first_failure;
    if (failed(r)) free_items(rows, out.count);
    TRY(r);
    *ret_count = out.count;
    return OK;
}

RESULT reservations_read(struct db *db, const struct reservation_ref *ref, struct reservation *ret,
                         int64_t *ret_now_ms) {
    size_t count = 0;
    TRY(reservations_lock(db, ref, 1, ROW_LOCK_NONE, ret, &count, ret_now_ms));
    if (count == 0) FAIL(RESERVATION_NOT_FOUND, 0);
    return OK;
}

struct line_reader {
    void (*fn)(void *arg, const struct reservation_ref *ref, struct line line);
    void *arg;
    struct result first_failure;
};

static void pass_lines(void *arg, struct db_stmt *row) {
    struct line_reader *reader = arg;
    struct reservation_ref ref;
    struct line *lines = NULL;
    size_t count = 0;
    db_copy_text(row, 0, ref.credential, sizeof ref.credential);
    db_copy_text(row, 1, ref.order_id, sizeof ref.order_id);
    struct result r = take_items(row, 2, &lines, &count);
    if (failed(r)) reader->first_failure = r;
    for (size_t i = 0; i < count; i++) reader->fn(reader->arg, &ref, lines[i]);
    free(lines);
}

RESULT reservation_lines_read(struct db *db, const struct reservation_ref *refs, size_t count,
                              void (*fn)(void *arg, const struct reservation_ref *ref, struct line line), void *arg) {
    struct line_reader reader = {fn, arg, OK};
    struct many many = many_refs("SELECT credential, order_id, items " FROM "status = 'RESERVED' AND (", ")", refs);
    TRY(many_read(db, &many, count, pass_lines, &reader));
    return reader.first_failure;
}

struct inserts {
    const struct reservation *const *rows;
    struct text *items;
};

static void set_insert(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    const struct inserts *inserts = arg;
    const struct reservation *r = inserts->rows[row];
    db_set_str(stmt, first, r->ref.credential);
    db_set_str(stmt, first + 1, r->ref.order_id);
    db_set_str(stmt, first + 2, reservation_status_name(r->status));
    db_set_str_or_null(stmt, first + 3, text_str(&inserts->items[row]));
    db_set_str_or_null(stmt, first + 4, r->reason);
    db_set_i64(stmt, first + 5, r->version);
    db_set_time(stmt, first + 6, r->created_at_ms);
    db_set_time(stmt, first + 7, r->reserved_at_ms);
    db_set_time(stmt, first + 8, r->expires_at_ms);
    db_set_time(stmt, first + 9, r->confirmed_at_ms);
    db_set_time(stmt, first + 10, r->released_at_ms);
}

RESULT reservations_insert(struct db *db, const struct reservation *const *rows, size_t count) {
    struct inserts inserts = {rows, mem_array(count + 1, sizeof(struct text))};
    struct many many = {.head = "INSERT INTO stock_reservations (" COLUMNS ") VALUES ",
                        .group = "(?,?,?,?,?,?,?,?,?,?,?)",
                        .tail = "",
                        .columns = INSERT_COLUMNS,
                        .set = set_insert,
                        .arg = &inserts};
    for (size_t i = 0; i < count; i++)
        if (rows[i]->item_count > 0) lines_write(&inserts.items[i], rows[i]->items, rows[i]->item_count);
    struct result r = many_write(db, &many, count, NULL);
    for (size_t i = 0; i < count; i++) text_done(&inserts.items[i]);
    free(inserts.items);
    return r;
}

#define UPDATE_ROW                                                                                                     \
    "UPDATE stock_reservations SET status = ?, reason = ?, version = ?, confirmed_at = ?, released_at = ? WHERE id = " \
    "?"

RESULT reservations_update(struct db *db, const struct reservation *row, int64_t expected_version, bool check_version) {
    struct db_stmt *stmt;
    uint64_t matched;
    TRY(db_statement(db, check_version ? UPDATE_ROW " AND version = ?" : UPDATE_ROW, &stmt));
    db_set_str(stmt, 0, reservation_status_name(row->status));
    db_set_str_or_null(stmt, 1, row->reason);
    db_set_i64(stmt, 2, row->version);
    db_set_time(stmt, 3, row->confirmed_at_ms);
    db_set_time(stmt, 4, row->released_at_ms);
    db_set_i64(stmt, 5, row->id);
    if (check_version) db_set_i64(stmt, 6, expected_version);
    TRY(db_execute(stmt, &matched));
    if (matched == 0) FAIL(VERSION_CONFLICT, 0);
    return OK;
}
