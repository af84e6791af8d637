#include "store/webhooks.h"

#include "base/memory.h"
#include "store/many.h"

#define COLUMNS "id, url, event_types, status, disabled_reason, secret, credential, created_at, disabled_at"
#define SELECT "SELECT " COLUMNS " FROM webhooks w WHERE "

/* Counted and written in one statement: some that come together may pass the limit: see WEBHOOKS_READ_MAX. */
#define INSERT                                                                                                         \
    "INSERT INTO webhooks (id, url, event_types, secret, status, credential, created_at) "                             \
    "SELECT ?, ?, ?, ?, 'ACTIVE', ?, UTC_TIMESTAMP(3) FROM (SELECT COUNT(*) AS n FROM webhooks "                       \
    "WHERE status <> 'DELETED') AS standing WHERE standing.n < ?"
#define IS_DUE                                                                                                         \
    " AND EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.due_at <= UTC_TIMESTAMP(6))"

static void take_row(struct db_stmt *row, struct webhook *ret) {
    *ret = (struct webhook){.event_types = event_types_read(db_text(row, 2, NULL)),
                            .created_at_ms = db_time(row, 7),
                            .disabled_at_ms = db_time(row, 8)};
    db_copy_text(row, 0, ret->id, sizeof ret->id);
    db_copy_text(row, 1, ret->url, sizeof ret->url);
    db_copy_text(row, 3, ret->status, sizeof ret->status);
    db_copy_text(row, 4, ret->disabled_reason, sizeof ret->disabled_reason);
    db_copy_text(row, 5, ret->secret, sizeof ret->secret);
    db_copy_text(row, 6, ret->credential, sizeof ret->credential);
}

RESULT webhooks_insert(struct db *db, struct webhook *webhook, bool *ret_full) {
    char types[EVENT_TYPES_SIZE];
    struct db_stmt *stmt;
    uint64_t inserted;
    event_types_write(webhook->event_types, types);
    TRY(db_statement(db, INSERT, &stmt));
    db_set_str(stmt, 0, webhook->id);
    db_set_str(stmt, 1, webhook->url);
    db_set_str(stmt, 2, types);
    db_set_str(stmt, 3, webhook->secret);
    db_set_str(stmt, 4, webhook->credential);
    db_set_i64(stmt, 5, WEBHOOKS_MAX);
    TRY(db_execute(stmt, &inserted));
    *ret_full = inserted == 0;
    return *ret_full ? OK : webhooks_read(db, webhook->id, webhook);
}

RESULT webhooks_read(struct db *db, const char *id, struct webhook *ret) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, SELECT "id = ? AND status <> 'DELETED'", &stmt));
    db_set_str(stmt, 0, id);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) FAIL(NOT_FOUND, 0);
    take_row(stmt, ret);
    db_finish(stmt);
    return OK;
}

struct webhook_reader {
    void (*fn)(void *arg, const struct webhook *row);
    void *arg;
};

static void pass_row(void *arg, struct db_stmt *row) {
    const struct webhook_reader *reader = arg;
    struct webhook webhook;
    take_row(row, &webhook);
    reader->fn(reader->arg, &webhook);
}

RESULT webhooks_list(struct db *db, const char *after_id, size_t limit,
                     void (*fn)(void *arg, const struct webhook *row), void *arg) {
    struct webhook_reader reader = {fn, arg};
    struct db_stmt *stmt;
    TRY(db_statement(db, SELECT "id > ? AND status <> 'DELETED' ORDER BY id LIMIT ?", &stmt));
    db_set_str(stmt, 0, after_id);
    db_set_i64(stmt, 1, (int64_t)limit);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, pass_row, &reader);
}

RESULT webhooks_active(struct db *db, bool due_only, void (*fn)(void *arg, const struct webhook *row), void *arg) {
    static const char *const queries[] = {SELECT "status = 'ACTIVE' ORDER BY id LIMIT ?",
                                          SELECT "status = 'ACTIVE'" IS_DUE " ORDER BY id LIMIT ?"};
    struct webhook_reader reader = {fn, arg};
    struct db_stmt *stmt;
    TRY(db_statement(db, queries[due_only], &stmt));
    db_set_i64(stmt, 0, WEBHOOKS_READ_MAX);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, pass_row, &reader);
}

RESULT webhooks_delete(struct db *db, const char *id) {
    struct db_stmt *stmt;
    uint64_t matched;
    TRY(db_statement(db, "UPDATE webhooks SET status = 'DELETED', secret = '' WHERE id = ? AND status <> 'DELETED'",
                     &stmt));
    db_set_str(stmt, 0, id);
    TRY(db_execute(stmt, &matched));
    if (matched == 0) FAIL(NOT_FOUND, 0);
    return OK;
}

RESULT webhooks_disable(struct db *db, const char *id, const char *reason) {
    struct db_stmt *stmt;
    TRY(db_statement(db,
                     "UPDATE webhooks SET status = 'DISABLED', disabled_reason = ?, disabled_at = UTC_TIMESTAMP(3) "
                     "WHERE id = ? AND status = 'ACTIVE'",
                     &stmt));
    db_set_str(stmt, 0, reason);
    db_set_str(stmt, 1, id);
    return db_execute(stmt, NULL);
}
