/* Deliveries for those who look, and what becomes of old ones. */
#include "store/deliveries_internal.h"
#include "store/many.h"

#include <string.h>

#define SELECT "SELECT " DELIVERY_COLUMNS " FROM webhook_deliveries WHERE webhook_id = ? AND "

void delivery_take_row(struct db_stmt *row, unsigned first, struct delivery *ret) {
    *ret = (struct delivery){.id = db_i64(row, first),
                             .attempts = db_i64(row, first + 6),
                             .last_status = db_i64(row, first + 7),
                             .created_at_ms = db_time(row, first + 9),
                             .attempted_at_ms = db_time(row, first + 10),
                             .next_attempt_at_ms = db_time(row, first + 11),
                             .done_at_ms = db_time(row, first + 12)};
    db_copy_text(row, first + 1, ret->webhook_id, sizeof ret->webhook_id);
    db_copy_text(row, first + 2, ret->event_id, sizeof ret->event_id);
    db_copy_text(row, first + 3, ret->event_type, sizeof ret->event_type);
    db_copy_text(row, first + 4, ret->aggregate_id, sizeof ret->aggregate_id);
    db_copy_text(row, first + 5, ret->status, sizeof ret->status);
    db_copy_text(row, first + 8, ret->last_error, sizeof ret->last_error);
}

struct delivery_reader {
    void (*fn)(void *arg, const struct delivery *row);
    void *arg;
};

static void pass_row(void *arg, struct db_stmt *row) {
    const struct delivery_reader *reader = arg;
    struct delivery delivery;
    delivery_take_row(row, 0, &delivery);
    reader->fn(reader->arg, &delivery);
}

RESULT deliveries_list(struct db *db, const struct deliveries_page *page,
                       void (*fn)(void *arg, const struct delivery *row), void *arg) {
    struct delivery_reader reader = {fn, arg};
    struct webhook webhook;
    struct db_stmt *stmt;
    unsigned param = 0;
    bool any = page->status[0] == '\0';
    TRY(webhooks_read(db, page->webhook_id, &webhook));
    TRY(db_statement(
        db, any ? SELECT "id < ? ORDER BY id DESC LIMIT ?" : SELECT "status = ? AND id < ? ORDER BY id DESC LIMIT ?",
        &stmt));
    db_set_str(stmt, param++, page->webhook_id);
    if (!any) db_set_str(stmt, param++, page->status);
    db_set_i64(stmt, param++, page->before_id);
    db_set_i64(stmt, param, (int64_t)page->limit);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, pass_row, &reader);
}

static RESULT read_one(struct db *db, const char *webhook_id, int64_t id, struct delivery *ret) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, SELECT "id = ?", &stmt));
    db_set_str(stmt, 0, webhook_id);
    db_set_i64(stmt, 1, id);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) FAIL(NOT_FOUND, 0);
    delivery_take_row(stmt, 0, ret);
    db_finish(stmt);
    return OK;
}

/* Assignments are done from left to right. */
#define REPLAY                                                                                                         \
    "UPDATE webhook_deliveries SET attempts = IF(status = 'PENDING', attempts, 0), status = 'PENDING', "               \
    "open_key = aggregate_id, done_at = NULL, due_at = UTC_TIMESTAMP(6) "                                              \
    "WHERE webhook_id = ? AND id = ? AND lease_until IS NULL AND status <> 'HELD'"

RESULT deliveries_replay(struct db *db, const char *webhook_id, int64_t id, struct delivery *ret) {
    struct webhook webhook;
    struct db_stmt *stmt;
    TRY(webhooks_read(db, webhook_id, &webhook));
    TRY(db_statement(db, REPLAY, &stmt));
    db_set_str(stmt, 0, webhook_id);
    db_set_i64(stmt, 1, id);
    TRY(db_execute(stmt, NULL));
    return read_one(db, webhook_id, id, ret);
}

/* -- old rows */

static RESULT purge_of(struct db *db, const char *webhook_id, int64_t limit, int64_t *ret_removed) {
    struct db_stmt *stmt;
    uint64_t removed;
    TRY(db_statement(db, "DELETE FROM webhook_deliveries WHERE webhook_id = ? ORDER BY id LIMIT ?", &stmt));
    db_set_str(stmt, 0, webhook_id);
    db_set_i64(stmt, 1, limit);
    TRY(db_execute(stmt, &removed));
    *ret_removed = (int64_t)removed;
    if (removed > 0) return OK;
    TRY(db_statement(db, "DELETE FROM webhooks WHERE id = ? AND status = 'DELETED'", &stmt));
    db_set_str(stmt, 0, webhook_id);
    TRY(db_execute(stmt, &removed));
    *ret_removed = (int64_t)removed;
    return OK;
}

static RESULT find_deleted(struct db *db, char ret_id[WEBHOOK_ID_SIZE], bool *ret_found) {
    struct db_stmt *stmt;
    TRY(db_statement(db, "SELECT id FROM webhooks WHERE status = 'DELETED' LIMIT 1", &stmt));
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, ret_found));
    if (*ret_found) db_copy_text(stmt, 0, ret_id, WEBHOOK_ID_SIZE);
    db_finish(stmt);
    return OK;
}

static RESULT purge_done(struct db *db, int64_t keep_s, int64_t limit, int64_t *ret_removed) {
    static const char *const states[] = {"DELIVERED", "FAILED"};
    struct db_stmt *stmt;
    uint64_t removed = 0;
    TRY(db_statement(db,
                     "DELETE FROM webhook_deliveries WHERE status = ? AND done_at < UTC_TIMESTAMP(6) - INTERVAL ? "
                     "SECOND ORDER BY done_at LIMIT ?",
                     &stmt));
    for (size_t i = 0; i < 2 && removed == 0; i++) {
        db_set_str(stmt, 0, states[i]);
        db_set_i64(stmt, 1, keep_s);
        db_set_i64(stmt, 2, limit);
        TRY(db_execute(stmt, &removed));
    }
    *ret_removed = (int64_t)removed;
    return OK;
}

RESULT deliveries_purge(struct db *db, int64_t keep_s, int64_t limit, int64_t *ret_removed) {
    char id[WEBHOOK_ID_SIZE];
    bool found;
    TRY(find_deleted(db, id, &found));
    return found ? purge_of(db, id, limit, ret_removed) : purge_done(db, keep_s, limit, ret_removed);
}

RESULT deliveries_count(struct db *db, struct delivery_counts *ret) {
    TRY(db_number(db, "SELECT COUNT(*) FROM webhook_deliveries WHERE status IN ('HELD', 'PENDING')", &ret->waiting));
    TRY(db_number(db, "SELECT COUNT(*) FROM webhook_deliveries WHERE status = 'FAILED'", &ret->failed));
    return db_number(db, "SELECT COUNT(*) FROM webhooks WHERE status = 'DISABLED'", &ret->disabled);
}
