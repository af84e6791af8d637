#include "store/leases.h"

#include "base/fault.h"
#include "base/text.h"
#include "store/leases_sql.h"
#include "store/many.h"

#include <string.h>

#define NOW LEASES_NOW
#define IN_MS "INTERVAL ? * 1000 MICROSECOND"
/* Above all numbers of all epochs that were ever drawn. */
#define FENCE_FLOOR "(SELECT (epoch + 1) * 4294967296 FROM fence_epochs WHERE name = 'redis')"

/* Assignments are done from left to right: the last_… still see the holder before. */
#define TAKE                                                                                                           \
    "UPDATE lock_leases SET last_reason = IF(holder IS NULL, last_reason, 'expired'), "                                \
    "last_fence = IF(holder IS NULL, last_fence, fence), last_at = IF(holder IS NULL, last_at, lease_until), "         \
    "last_told = IF(holder IS NULL, last_told, 0), last_holder = IF(holder IS NULL, last_holder, holder), "            \
    "fence = GREATEST(fence + 1, COALESCE(" FENCE_FLOOR ", 0)), holder = ?, grant_id = ?, confirmed = 0, owner = ?, "  \
    "metadata = ?, taken_at = " NOW ", lease_until = " NOW " + " IN_MS ", used_at = lease_until "                      \
    "WHERE name = ?"
#define UNLESS_HELD " AND NOT " LEASES_IS_HELD
#define MAKE                                                                                                           \
    "INSERT INTO lock_leases (name, fence, used_at) SELECT ?, COALESCE(MAX(epoch) + 1, 1) * 4294967296 - 1, " NOW      \
    " FROM fence_epochs WHERE name = 'redis'"
#define CONFIRM "UPDATE lock_leases SET confirmed = 1 WHERE name = ? AND holder = ? AND grant_id <> ?"
#define READ                                                                                                           \
    "SELECT fence, holder, " LEASES_IS_HELD ", grant_id, owner, metadata, " LEASES_LEFT_MS ", " LEASES_HELD_MS         \
    " FROM lock_leases WHERE name = ?"
#define RENEW                                                                                                          \
    "UPDATE lock_leases SET lease_until = " NOW " + " IN_MS ", used_at = lease_until, confirmed = 1 "                  \
    "WHERE name = ? AND holder = ? AND lease_until > " NOW " AND ? IN (0, fence)"
#define RELEASE                                                                                                        \
    "UPDATE lock_leases SET last_holder = holder, last_reason = 'released', last_fence = fence, last_told = 1, "       \
    "last_at = " NOW ", "                                                                                              \
    "holder = NULL, grant_id = NULL, metadata = NULL, lease_until = NULL, used_at = " NOW " "                          \
    "WHERE name = ? AND holder = ? AND lease_until > " NOW " AND ? IN (0, fence) "                                     \
    "AND (? = '' OR (grant_id = ? AND confirmed = 0))"
#define FORCE                                                                                                          \
    "UPDATE lock_leases SET last_told = IF(holder IS NULL, last_told, 0), "                                            \
    "last_holder = COALESCE(holder, last_holder), "                                                                    \
    "last_reason = IF(holder IS NULL, last_reason, IF(lease_until > " NOW                                              \
    ", 'forced', 'expired')), last_fence = fence, last_at = " NOW ", "                                                 \
    "fence = GREATEST(fence + 1, COALESCE(" FENCE_FLOOR ", 0)), holder = NULL, grant_id = NULL, metadata = NULL, "     \
    "lease_until = NULL, used_at = " NOW " WHERE name = ? AND fence = ?"
#define TELL                                                                                                           \
    "SELECT fence, owner, " LEASES_HELD_MS ", COALESCE(holder = ?, 0), " LEASES_IS_HELD                                \
    ", COALESCE(last_holder = ?, 0), "                                                                                 \
    "last_reason, last_fence, last_at > " NOW " - INTERVAL 60 SECOND, taken_at FROM lock_leases WHERE name = ?"
#define BOUND "SELECT name FROM lock_leases WHERE used_at > " NOW " - INTERVAL 1 DAY ORDER BY used_at DESC LIMIT ?"
#define TRIES_MAX 3 /* of taking: the row may be made by another, or be released, between two statements */

/* -- taking */

static RESULT take(struct db *db, const struct lease_terms *terms, bool *ret_taken) {
    struct db_stmt *stmt;
    uint64_t matched;
    TRY(db_statement(db, fault_on(FAULT_NO_LEASE_CHECK) ? TAKE : TAKE UNLESS_HELD, &stmt));
    db_set_str(stmt, 0, terms->holder);
    db_set_str(stmt, 1, terms->grant);
    db_set_str(stmt, 2, terms->owner);
    db_set_str(stmt, 3, terms->metadata);
    db_set_i64(stmt, 4, terms->ttl_ms);
    db_set_str(stmt, 5, terms->name);
    TRY(db_execute(stmt, &matched));
    *ret_taken = matched > 0;
    return OK;
}

/* The first use of a name. Another may be first. */
static RESULT make(struct db *db, const char *name) {
    struct db_stmt *stmt;
    TRY(db_statement(db, MAKE, &stmt));
    db_set_str(stmt, 0, name);
    struct result result = db_execute(stmt, NULL);
    return result.code == ERROR_DUPLICATE ? OK : result;
}

static RESULT confirm(struct db *db, const struct lease_terms *terms) {
    struct db_stmt *stmt;
    TRY(db_statement(db, CONFIRM, &stmt));
    db_set_str(stmt, 0, terms->name);
    db_set_str(stmt, 1, terms->holder);
    db_set_str(stmt, 2, terms->grant);
    return db_execute(stmt, NULL);
}

static void take_row(struct db_stmt *row, const char *holder, const char *grant, struct lease *ret) {
    bool is_held = db_i64(row, 2) != 0;
    bool is_mine = is_held && strcmp(db_text(row, 1, NULL), holder) == 0;
    ret->state = !is_held ? LEASE_FREE : !is_mine ? LEASE_HELD : LEASE_REPEATED;
    if (is_mine && strcmp(db_text(row, 3, NULL), grant) == 0) ret->state = LEASE_GRANTED;
    ret->fence = db_i64(row, 0);
    db_copy_text(row, 4, ret->owner, sizeof ret->owner);
    db_copy_text(row, 5, ret->metadata, sizeof ret->metadata);
    ret->left_ms = db_i64(row, 6);
    ret->held_ms = db_i64(row, 7);
}

static RESULT read_row(struct db *db, const char *name, const char *holder, const char *grant, struct lease *ret) {
    struct db_stmt *stmt;
    bool row;
    *ret = (struct lease){.state = LEASE_FREE};
    TRY(db_statement(db, READ, &stmt));
    db_set_str(stmt, 0, name);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) return OK;
    take_row(stmt, holder, grant, ret);
    db_finish(stmt);
    return OK;
}

RESULT leases_look(struct db *db, const struct lease_terms *terms, struct lease *ret) {
    TRY(read_row(db, terms->name, terms->holder, terms->grant, ret));
    return ret->state == LEASE_REPEATED ? confirm(db, terms) : OK;
}

/* What was taken is read again by its grant id: a statement that was done and whose answer was lost is found, too. */
RESULT leases_take(struct db *db, const struct lease_terms *terms, struct lease *ret) {
    bool taken;
    for (int i = 0; i < TRIES_MAX; i++) {
        TRY(take(db, terms, &taken));
        TRY(leases_look(db, terms, ret));
        if (ret->state != LEASE_FREE) return OK;
        if (ret->fence == 0) TRY(make(db, terms->name));
    }
    FAIL(UNAVAILABLE, 0);
}

RESULT leases_read(struct db *db, const char *name, struct lease *ret) { return read_row(db, name, "", "", ret); }

/* -- renewing and releasing */

static RESULT renew(struct db *db, const struct lease_change *change, uint64_t *ret_matched) {
    struct db_stmt *stmt;
    TRY(db_statement(db, RENEW, &stmt));
    db_set_i64(stmt, 0, change->ttl_ms);
    db_set_str(stmt, 1, change->name);
    db_set_str(stmt, 2, change->holder);
    db_set_i64(stmt, 3, change->fence);
    return db_execute(stmt, ret_matched);
}

static RESULT release(struct db *db, const struct lease_change *change, uint64_t *ret_matched) {
    struct db_stmt *stmt;
    TRY(db_statement(db, RELEASE, &stmt));
    db_set_str(stmt, 0, change->name);
    db_set_str(stmt, 1, change->holder);
    db_set_i64(stmt, 2, change->fence);
    db_set_str(stmt, 3, change->grant);
    db_set_str(stmt, 4, change->grant);
    return db_execute(stmt, ret_matched);
}

/* Why nothing matched. */
static void take_loss(struct db_stmt *row, const struct lease_change *change, struct lease_changed *ret) {
    bool is_holder = db_i64(row, 3) != 0, is_held = db_i64(row, 4) != 0, was_last = db_i64(row, 5) != 0;
    int64_t last_fence = db_i64(row, 7);
    ret->is_known = is_holder || was_last;
    if (is_holder) {
        (void)text_format(ret->reason, sizeof ret->reason, "%s", is_held ? "superseded" : "expired");
        return;
    }
    db_copy_text(row, 6, ret->reason, sizeof ret->reason);
    if (is_held) ret->other_since_ms = db_time(row, 9);
    bool is_release = change->ttl_ms == 0 && strcmp(ret->reason, "released") == 0 && db_i64(row, 8) != 0;
    ret->done = was_last && is_release && (change->fence == 0 || change->fence == last_fence);
}

static void take_change(struct db_stmt *row, struct lease_changed *ret) {
    ret->is_known = ret->done = true;
    ret->fence = db_i64(row, 0);
    db_copy_text(row, 1, ret->owner, sizeof ret->owner);
    ret->held_ms = db_i64(row, 2);
}

RESULT leases_change(struct db *db, const struct lease_change *change, struct lease_changed *ret) {
    struct db_stmt *stmt;
    uint64_t matched;
    bool row;
    *ret = (struct lease_changed){0};
    TRY(change->ttl_ms > 0 ? renew(db, change, &matched) : release(db, change, &matched));
    TRY(db_statement(db, TELL, &stmt));
    db_set_str(stmt, 0, change->holder);
    db_set_str(stmt, 1, change->holder);
    db_set_str(stmt, 2, change->name);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) return OK;
    if (matched > 0)
        take_change(stmt, ret);
    else
        take_loss(stmt, change, ret);
    db_finish(stmt);
    return OK;
}

/* -- forced */

static RESULT force(struct db *db, const char *name, int64_t fence, uint64_t *ret_matched) {
    struct db_stmt *stmt;
    TRY(db_statement(db, FORCE, &stmt));
    db_set_str(stmt, 0, name);
    db_set_i64(stmt, 1, fence);
    return db_execute(stmt, ret_matched);
}

RESULT leases_force(struct db *db, const char *name, struct lease *ret_was, int64_t *ret_fence) {
    struct lease after;
    uint64_t matched = 0;
    *ret_fence = 0;
    for (int i = 0; i < TRIES_MAX && matched == 0; i++) {
        TRY(leases_read(db, name, ret_was));
        if (ret_was->fence == 0) return OK;
        TRY(force(db, name, ret_was->fence, &matched)); /* 0: it has a new holder */
    }
    if (matched == 0) FAIL(UNAVAILABLE, 0);
    TRY(leases_read(db, name, &after));
    *ret_fence = after.fence;
    return OK;
}

/* -- binding */

struct teller {
    void (*fn)(void *arg, const char *name);
    void *arg;
};

static void tell_name(void *arg, struct db_stmt *row) {
    const struct teller *teller = arg;
    teller->fn(teller->arg, db_text(row, 0, NULL));
}

RESULT leases_bound(struct db *db, void (*fn)(void *arg, const char *name), void *arg) {
    struct teller teller = {fn, arg};
    struct db_stmt *stmt;
    TRY(db_statement(db, BOUND, &stmt));
    db_set_i64(stmt, 0, LEASES_BOUND_MAX);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, tell_name, &teller);
}
