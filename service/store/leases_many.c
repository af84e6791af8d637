/* Leases in the database, many at once: of one holder, under a prefix, with high fences. */
#include "store/leases.h"

#include "base/memory.h"
#include "base/text.h"
#include "store/leases_sql.h"
#include "store/many.h"

#include <string.h>

/* Indexes are forced: of a table that was just filled the optimizer knows nothing yet, and scans it. */
#define BY_HOLDER "SELECT name FROM lock_leases FORCE INDEX (idx_lock_leases_holder) WHERE holder = ? AND name > ?"
#define BY_LAST_HOLDER                                                                                                 \
    "SELECT name FROM lock_leases FORCE INDEX (idx_lock_leases_last_holder) "                                          \
    "WHERE last_holder = ? AND last_told = 0 AND name > ?"
/* The holder's rows, and those in which it is the holder before and has not been told. */
#define NAMES "(" BY_HOLDER ") UNION (" BY_LAST_HOLDER ") ORDER BY name LIMIT ?"
/* Its lease is over and nobody came since: the row loses its holder, so that this is told once. */
#define LET_GO                                                                                                         \
    "UPDATE lock_leases SET last_holder = holder, last_reason = 'expired', last_fence = fence, last_told = 1, "        \
    "last_at = lease_until, holder = NULL, grant_id = NULL, metadata = NULL, lease_until = NULL "                      \
    "WHERE name = ? AND holder = ? AND lease_until <= " LEASES_NOW
#define TOLD "UPDATE lock_leases SET last_told = 1 WHERE name = ? AND last_holder = ?"
/* used_at of a held row is the end of its lease: the index leaves out what is free. */
#define LIST                                                                                                           \
    "SELECT name, fence, owner, metadata, " LEASES_LEFT_MS ", " LEASES_HELD_MS                                         \
    " FROM lock_leases FORCE INDEX (idx_lock_leases_used_at) WHERE used_at > " LEASES_NOW " AND " LEASES_IS_HELD       \
    " AND name > ? AND LEFT(CAST(name AS BINARY), LENGTH(?)) = CAST(? AS BINARY) ORDER BY name LIMIT ?"
#define AHEAD                                                                                                          \
    "SELECT MAX(fence) FROM lock_leases FORCE INDEX (idx_lock_leases_fence) "                                          \
    "WHERE fence >= ? AND used_at < " LEASES_NOW " - INTERVAL ? HOUR"

/* -- of one holder */

struct slice {
    size_t count;
    struct {
        char name[LOCK_NAME_MAX + 1];
        struct lease_changed changed;
    } rows[LEASES_SLICE];
};

static void note_name(void *arg, struct db_stmt *row) {
    struct slice *slice = arg;
    db_copy_text(row, 0, slice->rows[slice->count++].name, LOCK_NAME_MAX + 1);
}

static RESULT read_slice(struct db *db, const char *holder, const char *after, struct slice *ret) {
    struct db_stmt *stmt;
    ret->count = 0;
    TRY(db_statement(db, NAMES, &stmt));
    db_set_str(stmt, 0, holder);
    db_set_str(stmt, 1, after);
    db_set_str(stmt, 2, holder);
    db_set_str(stmt, 3, after);
    db_set_i64(stmt, 4, LEASES_SLICE);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, note_name, ret);
}

static RESULT note_told(struct db *db, const char *sql, const char *name, const char *holder) {
    struct db_stmt *stmt;
    TRY(db_statement(db, sql, &stmt));
    db_set_str(stmt, 0, name);
    db_set_str(stmt, 1, holder);
    return db_execute(stmt, NULL);
}

static RESULT change_one(struct db *db, const char *holder, int64_t ttl_ms, const char *name,
                         struct lease_changed *ret) {
    struct lease_change change = {.ttl_ms = ttl_ms};
    (void)text_format(change.name, sizeof change.name, "%s", name);
    (void)text_format(change.holder, sizeof change.holder, "%s", holder);
    TRY(leases_change(db, &change, ret));
    if (ret->done && ret->fence > 0) return OK;
    TRY(note_told(db, LET_GO, name, holder));
    return note_told(db, TOLD, name, holder);
}

static RESULT change_rows(struct db *db, const char *holder, int64_t ttl_ms, struct slice *slice) {
    for (size_t i = 0; i < slice->count; i++)
        TRY(change_one(db, holder, ttl_ms, slice->rows[i].name, &slice->rows[i].changed));
    return OK;
}

/* One commit for all of them. */
static RESULT change_slice(struct db *db, const char *holder, int64_t ttl_ms, struct slice *slice) {
    TRY(db_begin(db));
    struct result result = change_rows(db, holder, ttl_ms, slice);
    if (!failed(result)) return db_commit(db);
    db_rollback(db);
    return result;
}

RESULT leases_change_all(struct db *db, const char *holder, int64_t ttl_ms, lease_changed_fn fn, void *arg) {
    AUTO_FREE struct slice *slice = mem_new(sizeof *slice);
    char after[LOCK_NAME_MAX + 1] = "";
    for (size_t seen = 0; seen < LEASES_OF_MAX; seen += LEASES_SLICE) {
        TRY(read_slice(db, holder, after, slice));
        if (slice->count == 0) return OK;
        TRY(change_slice(db, holder, ttl_ms, slice));
        for (size_t i = 0; i < slice->count; i++) fn(arg, slice->rows[i].name, &slice->rows[i].changed);
        if (slice->count < LEASES_SLICE) return OK;
        (void)text_format(after, sizeof after, "%s", slice->rows[slice->count - 1].name);
    }
    FAIL(UNAVAILABLE, 0); /* there may be more, and nobody has said so */
}

/* -- under a prefix */

struct lister {
    void (*fn)(void *arg, const char *name, const struct lease *lease);
    void *arg;
};

static void tell_held(void *arg, struct db_stmt *row) {
    const struct lister *lister = arg;
    struct lease lease = {.state = LEASE_HELD, .fence = db_i64(row, 1)};
    db_copy_text(row, 2, lease.owner, sizeof lease.owner);
    db_copy_text(row, 3, lease.metadata, sizeof lease.metadata);
    lease.left_ms = db_i64(row, 4);
    lease.held_ms = db_i64(row, 5);
    lister->fn(lister->arg, db_text(row, 0, NULL), &lease);
}

RESULT leases_list(struct db *db, const struct lease_range *range,
                   void (*fn)(void *arg, const char *name, const struct lease *lease), void *arg) {
    struct lister lister = {fn, arg};
    struct db_stmt *stmt;
    TRY(db_statement(db, LIST, &stmt));
    db_set_str(stmt, 0, range->after);
    db_set_str(stmt, 1, range->prefix);
    db_set_str(stmt, 2, range->prefix);
    db_set_i64(stmt, 3, (int64_t)range->limit);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, tell_held, &lister);
}

/* -- with high fences */

RESULT leases_ahead(struct db *db, int64_t fence, int64_t *ret_highest) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, AHEAD, &stmt));
    db_set_i64(stmt, 0, fence);
    db_set_i64(stmt, 1, LEASES_IDLE_H);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    *ret_highest = row && !db_is_null(stmt, 0) ? db_i64(stmt, 0) : 0;
    db_finish(stmt);
    return OK;
}
