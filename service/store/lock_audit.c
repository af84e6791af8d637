/* Two halves of a row: what was asked, before anything is done; what came of it, after. */
#include "store/fences.h"

#define BEGIN                                                                                                          \
    "INSERT INTO lock_audit (name, action, credential, reason, request_id, requested_at) "                             \
    "VALUES (?, 'FORCE', ?, ?, ?, UTC_TIMESTAMP(6))"
#define END                                                                                                            \
    "UPDATE lock_audit SET was_held = ?, holder_owner = ?, holder_fence = ?, fence = ?, done_at = UTC_TIMESTAMP(6) "   \
    "WHERE id = ?"

RESULT lock_audit_begin(struct db *db, struct lock_audit *row) {
    struct db_stmt *stmt;
    TRY(db_statement(db, BEGIN, &stmt));
    db_set_str(stmt, 0, row->name);
    db_set_str(stmt, 1, row->credential);
    db_set_str(stmt, 2, row->reason);
    db_set_str(stmt, 3, row->request_id);
    TRY(db_execute(stmt, NULL));
    row->id = db_insert_id(stmt);
    return OK;
}

RESULT lock_audit_end(struct db *db, const struct lock_audit *row) {
    struct db_stmt *stmt;
    int64_t highest;
    TRY(fence_marks_raise(db, row->name, row->fence, &highest));
    TRY(db_statement(db, END, &stmt));
    db_set_i64(stmt, 0, row->was_held);
    db_set_str_or_null(stmt, 1, row->holder_owner);
    if (row->holder_fence > 0)
        db_set_i64(stmt, 2, row->holder_fence);
    else
        db_set_null(stmt, 2);
    db_set_i64(stmt, 3, row->fence);
    db_set_i64(stmt, 4, row->id);
    return db_execute(stmt, NULL);
}
