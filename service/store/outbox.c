/* Events, written last in the transaction that caused them: their ids are drawn while the aggregates' rows are locked,
   so per aggregate id order is commit order. */
#include "store/crc32.h"
#include "store/many.h"
#include "store/tables.h"

#include <string.h>

struct events {
    const struct event *rows;
    int64_t now_ms;
};

enum { OUTBOX_COLUMNS = 9 };

static void set_event(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    const struct events *events = arg;
    const struct event *event = &events->rows[row];
    size_t id_len = strlen(event->aggregate_id);
    db_set_text(stmt, first, event->event_id, TEXT_UUID_SIZE - 1);
    db_set_str(stmt, first + 1, event->aggregate_type);
    db_set_text(stmt, first + 2, event->aggregate_id, id_len);
    db_set_i64(stmt, first + 3, event->aggregate_version);
    db_set_str(stmt, first + 4, event->event_type);
    db_set_text(stmt, first + 5, event->payload, event->payload_len);
    db_set_i64(stmt, first + 6, crc32_of(event->aggregate_id, id_len) % OUTBOX_PARTS);
    db_set_time(stmt, first + 7, events->now_ms);
    db_set_str_or_null(stmt, first + 8, event->traceparent);
}

RESULT outbox_insert(struct db *db, const struct event *events, size_t count, int64_t now_ms) {
    struct events rows = {events, now_ms};
    struct many many = {.head = "INSERT INTO outbox_events (event_id, aggregate_type, aggregate_id, aggregate_version, "
                                "event_type, payload, part, created_at, trace_id) VALUES ",
                        .group = "(?,?,?,?,?,?,?,?,?)",
                        .tail = "",
                        .columns = OUTBOX_COLUMNS,
                        .set = set_event,
                        .arg = &rows};
    return many_write(db, &many, count, NULL);
}

RESULT outbox_has(struct db *db, const char *event_id, bool *ret) {
    struct db_stmt *stmt;
    TRY(db_statement(db, "SELECT 1 FROM outbox_events WHERE event_id = ?", &stmt));
    db_set_str(stmt, 0, event_id);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, ret));
    db_finish(stmt);
    return OK;
}
