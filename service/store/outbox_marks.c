/* The status column of the outbox follows what the sinks have: late, in small statements, by one relay. Left to itself
   the optimizer walks the primary key from its begin, because of the ORDER BY. */
#include "store/outbox.h"

/* How far all sinks are; 0 while a part of one of them is unknown. */
static RESULT read_low(struct db *db, const char *const *sinks, size_t sink_count, int64_t *ret) {
    struct db_stmt *stmt;
    bool row;
    *ret = INT64_MAX;
    for (size_t i = 0; i < sink_count; i++) {
        TRY(db_statement(db, "SELECT COUNT(*), MIN(low) FROM outbox_parts WHERE sink = ?", &stmt));
        db_set_str(stmt, 0, sinks[i]);
        TRY(db_execute(stmt, NULL));
        TRY(db_next(stmt, &row));
        int64_t low = row && db_i64(stmt, 0) == OUTBOX_PARTS ? db_i64(stmt, 1) : 0;
        db_finish(stmt);
        if (low < *ret) *ret = low;
    }
    if (sink_count == 0) *ret = 0;
    return OK;
}

RESULT outbox_mark(struct db *db, const char *const *sinks, size_t sink_count, int64_t limit, uint64_t *ret_marked) {
    struct db_stmt *stmt;
    int64_t low;
    *ret_marked = 0;
    TRY(read_low(db, sinks, sink_count, &low));
    if (low == 0) return OK;
    TRY(db_statement(db,
                     "UPDATE outbox_events FORCE INDEX (idx_outbox_events_status) SET status = 'PUBLISHED', "
                     "published_at = UTC_TIMESTAMP(6) "
                     "WHERE status = 'PENDING' AND id <= ? AND NOT EXISTS (SELECT 1 FROM outbox_failures f "
                     "WHERE f.id = outbox_events.id AND f.status <> 'DISCARDED') ORDER BY id LIMIT ?",
                     &stmt));
    db_set_i64(stmt, 0, low);
    db_set_i64(stmt, 1, limit);
    return db_execute(stmt, ret_marked);
}
