/* Parts are claimed like everything (claims.h). What their owner writes afterwards it writes for many parts at once:
   one statement repeats sink, owner and lease in its WHERE. The owner is a name that was made for that one call of the
   claim and is never used again, so it stands for the tokens and fences of its rows. */
#include "base/fault.h"
#include "base/memory.h"
#include "store/claims.h"
#include "store/many.h"
#include "store/outbox.h"

#include <assert.h>

static_assert(OUTBOX_PARTS == 64, "a set of parts is 64 bits");

static const struct claim_table parts_table = {.of = CLAIM_OF_PARTS,
                                               .name = "outbox_parts",
                                               .index = "idx_outbox_parts_due",
                                               .scope = "sink",
                                               .key = "part",
                                               .columns = "frontier, holes"};

static void set_part(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    db_set_str(stmt, first, arg);
    db_set_i64(stmt, first + 1, (int64_t)row);
}

RESULT outbox_parts_make(struct db *db, const char *sink) {
    struct many many = {.head = "INSERT IGNORE INTO outbox_parts (sink, part, due_at) VALUES ",
                        .group = "(?,?,UTC_TIMESTAMP(6))",
                        .tail = "",
                        .columns = 2,
                        .set = set_part,
                        .arg = (void *)sink};
    return many_write(db, &many, OUTBOX_PARTS, NULL);
}

static void on_claim(void *arg, size_t index, struct db_stmt *row, unsigned first) {
    struct outbox_part *part = (struct outbox_part *)arg + index;
    part->frontier = db_i64(row, first);
    db_copy_text(row, first + 1, part->holes, sizeof part->holes);
}

RESULT outbox_parts_take(struct db *db, const struct outbox_take *take, size_t *ret_count) {
    struct claim claims[OUTBOX_PARTS];
    AUTO_FREE struct outbox_part *parts = mem_array(OUTBOX_PARTS, sizeof parts[0]);
    size_t count = 0;
    struct claim_ask ask = {.scope = take->sink,
                            .owner = take->owner,
                            .lease_ms = take->lease_ms,
                            .limit = take->limit,
                            .row = on_claim,
                            .arg = parts};
    TRY(claims_take(db, &parts_table, &ask, claims, &count));
    for (size_t i = 0; i < count; i++) {
        parts[i].part = (unsigned)claims[i].key;
        take->fn(take->arg, &parts[i]);
    }
    *ret_count = count;
    return OK;
}

#define OURS                                                                                                           \
    " WHERE sink = ? AND owner = ? AND lease_until > UTC_TIMESTAMP(6) AND (CAST(? AS UNSIGNED) >> part) & 1 = 1"
#define OURS_WITHOUT_OWNER " WHERE sink = ? AND ? IS NOT NULL AND (CAST(? AS UNSIGNED) >> part) & 1 = 1"

/* Binds the WHERE behind `first` parameters and runs the statement. */
static RESULT execute_ours(struct db_stmt *stmt, unsigned first, const struct outbox_hold *hold, bool *ret_ours) {
    uint64_t matched;
    db_set_str(stmt, first, hold->sink);
    db_set_str(stmt, first + 1, hold->owner);
    db_set_i64(stmt, first + 2, (int64_t)hold->parts);
    TRY(db_execute(stmt, &matched));
    *ret_ours = matched == (uint64_t)__builtin_popcountll(hold->parts) || fault_on(FAULT_NO_PART_CLAIM);
    return OK;
}

RESULT outbox_parts_advance(struct db *db, const struct outbox_hold *hold, const struct outbox_progress *progress,
                            bool *ret_ours) {
    struct db_stmt *stmt;
    const char *sql = "UPDATE outbox_parts SET frontier = ?, low = ?, holes = ?" OURS;
    if (fault_on(FAULT_NO_PART_CLAIM))
        sql = "UPDATE outbox_parts SET frontier = ?, low = ?, holes = ?" OURS_WITHOUT_OWNER;
    TRY(db_statement(db, sql, &stmt));
    db_set_i64(stmt, 0, progress->frontier);
    db_set_i64(stmt, 1, progress->low);
    db_set_str(stmt, 2, progress->holes);
    return execute_ours(stmt, 3, hold, ret_ours);
}

RESULT outbox_parts_renew(struct db *db, const struct outbox_hold *hold, int64_t lease_ms, bool *ret_ours) {
    struct db_stmt *stmt;
    TRY(db_statement(db,
                     "UPDATE outbox_parts SET lease_until = UTC_TIMESTAMP(6) + INTERVAL ? * 1000 MICROSECOND, "
                     "due_at = lease_until" OURS,
                     &stmt));
    db_set_i64(stmt, 0, lease_ms);
    return execute_ours(stmt, 1, hold, ret_ours);
}

RESULT outbox_parts_release(struct db *db, const struct outbox_hold *hold) {
    struct db_stmt *stmt;
    bool ours;
    TRY(db_statement(db, "UPDATE outbox_parts SET due_at = UTC_TIMESTAMP(6), lease_until = NULL, owner = NULL" OURS,
                     &stmt));
    return execute_ours(stmt, 0, hold, &ours);
}

RESULT outbox_parts_free_expired(struct db *db, uint64_t *ret_freed) {
    struct db_stmt *stmt;
    TRY(db_statement(
        db, "UPDATE outbox_parts SET lease_until = NULL, owner = NULL WHERE lease_until < UTC_TIMESTAMP(6)", &stmt));
    return db_execute(stmt, ret_freed);
}

/* -- relays that live */

static RESULT prolong(struct db *db, const char *sink, const char *relay, int64_t life_ms, uint64_t *ret_found) {
    struct db_stmt *stmt;
    TRY(db_statement(db,
                     "UPDATE outbox_relays SET seen_until = UTC_TIMESTAMP(6) + INTERVAL ? * 1000 MICROSECOND "
                     "WHERE sink = ? AND relay = ?",
                     &stmt));
    db_set_i64(stmt, 0, life_ms);
    db_set_str(stmt, 1, sink);
    db_set_str(stmt, 2, relay);
    return db_execute(stmt, ret_found);
}

static RESULT enter(struct db *db, const char *sink, const char *relay, int64_t life_ms) {
    struct db_stmt *stmt;
    TRY(db_statement(db,
                     "INSERT INTO outbox_relays (sink, relay, seen_until) "
                     "VALUES (?, ?, UTC_TIMESTAMP(6) + INTERVAL ? * 1000 MICROSECOND)",
                     &stmt));
    db_set_str(stmt, 0, sink);
    db_set_str(stmt, 1, relay);
    db_set_i64(stmt, 2, life_ms);
    return db_execute(stmt, NULL);
}

/* Its own row, and those of the long dead. */
static RESULT leave(struct db *db, const char *sink, const char *relay) {
    struct db_stmt *stmt;
    TRY(db_statement(db,
                     "DELETE FROM outbox_relays WHERE sink = ? AND (relay = ? OR seen_until < UTC_TIMESTAMP(6) - "
                     "INTERVAL 1 HOUR)",
                     &stmt));
    db_set_str(stmt, 0, sink);
    db_set_str(stmt, 1, relay);
    return db_execute(stmt, NULL);
}

RESULT outbox_relays_beat(struct db *db, const char *sink, const char *relay, int64_t life_ms, int64_t *ret_living) {
    struct db_stmt *stmt;
    uint64_t found = 0;
    bool row;
    *ret_living = 0;
    if (life_ms == 0) return leave(db, sink, relay);
    TRY(prolong(db, sink, relay, life_ms, &found));
    if (found == 0) TRY(enter(db, sink, relay, life_ms));
    TRY(db_statement(db, "SELECT COUNT(*) FROM outbox_relays WHERE sink = ? AND seen_until > UTC_TIMESTAMP(6)", &stmt));
    db_set_str(stmt, 0, sink);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    *ret_living = row ? db_i64(stmt, 0) : 1;
    db_finish(stmt);
    return OK;
}
