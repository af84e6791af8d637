/* The SELECTs of a relay. Payloads of foreign parts stay in the server. */
#include "store/many.h"
#include "store/outbox.h"

#define COLUMNS                                                                                                        \
    "SELECT e.id, e.part, e.event_id, e.event_type, e.aggregate_id, e.aggregate_version, e.created_at, e.trace_id, "

#define MINE "IF((CAST(? AS UNSIGNED) >> e.part) & 1 = 1, e.payload, NULL)"
enum { PAYLOAD_COLUMN = 8, ATTEMPTS_COLUMN = 9 };

static struct outbox_row row_of(struct db_stmt *stmt) {
    struct outbox_row row = {.id = db_i64(stmt, 0),
                             .part = (unsigned)db_i64(stmt, 1),
                             .version = db_i64(stmt, 5),
                             .created_ms = db_time(stmt, 6)};
    db_copy_text(stmt, 2, row.event_id, sizeof row.event_id);
    db_copy_text(stmt, 3, row.type, sizeof row.type);
    db_copy_text(stmt, 4, row.aggregate_id, sizeof row.aggregate_id);
    db_copy_text(stmt, 7, row.traceparent, sizeof row.traceparent);
    row.payload = db_text(stmt, PAYLOAD_COLUMN, &row.payload_len);
    return row;
}

struct call {
    outbox_row_fn fn;
    void *arg;
    uint64_t parts;
    const struct outbox_span *spans;
};

static void on_row(void *arg, struct db_stmt *stmt) {
    const struct call *call = arg;
    struct outbox_row row = row_of(stmt);
    call->fn(call->arg, &row);
}

RESULT outbox_read(struct db *db, const struct outbox_range *range, outbox_row_fn fn, void *arg) {
    struct call call = {.fn = fn, .arg = arg};
    struct db_stmt *stmt;
    TRY(db_statement(db, COLUMNS MINE " FROM outbox_events e WHERE e.id > ? AND e.id <= ? ORDER BY e.id LIMIT ?",
                     &stmt));
    db_set_i64(stmt, 0, (int64_t)range->parts);
    db_set_i64(stmt, 1, range->after);
    db_set_i64(stmt, 2, range->upto);
    db_set_i64(stmt, 3, range->limit);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, on_row, &call);
}

static void set_span(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    const struct call *call = arg;
    db_set_i64(stmt, first, call->spans[row].from);
    db_set_i64(stmt, first + 1, call->spans[row].to);
}

static void on_span_row(void *arg, struct db_stmt *stmt) {
    const struct call *call = arg;
    struct outbox_row row = row_of(stmt);
    if ((call->parts >> row.part & 1) == 0) row.payload_len = 0;
    call->fn(call->arg, &row);
}

RESULT outbox_read_spans(struct db *db, const struct outbox_span *spans, size_t count, uint64_t parts, outbox_row_fn fn,
                         void *arg) {
    struct call call = {fn, arg, parts, spans};
    struct many many = {.head = COLUMNS "e.payload FROM outbox_events e WHERE ",
                        .group = "e.id BETWEEN ? AND ?",
                        .separator = " OR ",
                        .tail = " ORDER BY e.id LIMIT " STRINGIZE(OUTBOX_SPAN_ROWS), .columns = 2, .set = set_span,
                                                                  .arg = &call};
    return many_read(db, &many, count, on_span_row, &call);
}

/* A row that waits for its COMMIT is locked by who wrote it. */
RESULT outbox_span_is_empty(struct db *db, struct outbox_span span, bool *ret) {
    struct db_stmt *stmt;
    bool row = false;
    TRY(db_statement(db, "SELECT id FROM outbox_events WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 1 FOR UPDATE NOWAIT",
                     &stmt));
    db_set_i64(stmt, 0, span.from);
    db_set_i64(stmt, 1, span.to);
    struct result result = db_execute(stmt, NULL);
    if (!failed(result)) result = db_next(stmt, &row);
    if (result.code == ERROR_LOCK_WAIT) {
        *ret = false;
        return OK;
    }
    TRY(result);
    db_finish(stmt);
    *ret = !row;
    return OK;
}

RESULT outbox_oldest_after(struct db *db, int64_t low, int64_t *ret_created_ms) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, "SELECT created_at FROM outbox_events WHERE id > ? ORDER BY id LIMIT 1", &stmt));
    db_set_i64(stmt, 0, low);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    *ret_created_ms = row ? db_time(stmt, 0) : 0;
    db_finish(stmt);
    return OK;
}

/* -- failures that are due */

static void on_due_row(void *arg, struct db_stmt *stmt) {
    const struct call *call = arg;
    struct outbox_row row = row_of(stmt);
    row.attempts = (unsigned)db_i64(stmt, ATTEMPTS_COLUMN);
    call->fn(call->arg, &row);
}

#define DUE                                                                                                            \
    COLUMNS "e.payload, f.attempts FROM outbox_failures f JOIN outbox_events e ON e.id = f.id "                        \
            "WHERE f.sink = ? AND f.status = 'PENDING' AND f.available_at <= UTC_TIMESTAMP(6) "                        \
            "AND (CAST(? AS UNSIGNED) >> f.part) & 1 = 1 AND NOT EXISTS (SELECT 1 FROM outbox_failures b "             \
            "WHERE b.sink = f.sink AND b.aggregate_id = f.aggregate_id AND b.id < f.id AND b.status <> 'DISCARDED') "  \
            "ORDER BY f.id LIMIT ?"

RESULT outbox_due(struct db *db, const char *sink, uint64_t parts, int64_t limit, outbox_row_fn fn, void *arg) {
    struct call call = {.fn = fn, .arg = arg};
    struct db_stmt *stmt;
    TRY(db_statement(db, DUE, &stmt));
    db_set_str(stmt, 0, sink);
    db_set_i64(stmt, 1, (int64_t)parts);
    db_set_i64(stmt, 2, limit);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, on_due_row, &call);
}
