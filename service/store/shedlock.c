#include "store/shedlock.h"

#include "base/fault.h"
#include "base/text.h"
#include "store/many.h"
#include "store/shedlock_internal.h"

#include <string.h>

#define NOW "UTC_TIMESTAMP(3)"
#define FROM(moment) "TIMESTAMPADD(MICROSECOND, ? * 1000, " moment ")"
#define BYTES(text) "CAST(CONVERT(" text " USING utf8mb4) AS BINARY)"
#define MARK_LEN "33"
#define HEX_LEN "32"
#define IS_MINE "name = ? AND RIGHT(locked_by, " MARK_LEN ") = ? AND lock_until > " NOW
/* A column TIMESTAMP may be kept by ON UPDATE; one that is assigned is not. */
#define KEEP_TAKEN "locked_at = locked_at"

/* A collation may take another's row for ours: the bytes must be the same. */
#define TAKE_ALWAYS                                                                                                    \
    "UPDATE shedlock SET lock_until = " FROM(NOW) ", locked_at = " NOW ", locked_by = ? "                              \
                                                  "WHERE name = ? AND " BYTES("name") " = " BYTES("?")
#define TAKE_FREE TAKE_ALWAYS " AND lock_until <= " NOW
#define TAKE_ROUND TAKE_FREE " AND locked_at < ?"
#define MAKE "INSERT INTO shedlock (lock_until, locked_at, locked_by, name) VALUES (" FROM(NOW) ", " NOW ", ?, ?)"
#define EXTEND                                                                                                         \
    "UPDATE shedlock SET lock_until = GREATEST(" FROM(NOW) ", " FROM("locked_at") "), " KEEP_TAKEN " WHERE " IS_MINE
#define RELEASE                                                                                                        \
    "UPDATE shedlock SET lock_until = GREATEST(" NOW                                                                   \
    ", " FROM("locked_at") "), " KEEP_TAKEN ", "                                                                       \
                           "locked_by = CONCAT(LEFT(locked_by, CHAR_LENGTH(locked_by) - " MARK_LEN                     \
                           "), '~', RIGHT(locked_by, " HEX_LEN ")) "                                                   \
                           "WHERE " IS_MINE
#define COLUMNS NOW ", name, locked_at, lock_until, lock_until > " NOW ", locked_by"
#define READ "SELECT " COLUMNS " FROM (SELECT 1) AS one_row LEFT JOIN shedlock ON name = ?"
#define LIST                                                                                                           \
    "SELECT " COLUMNS " FROM shedlock WHERE " BYTES("name") " > " BYTES("?") " ORDER BY " BYTES("name") " LIMIT ?"
#define TRIES_MAX 3 /* of taking: the row may be made or deleted by another between two statements */

/* -- reading */

enum mark_state { MARK_NONE, MARK_HELD, MARK_RELEASED };

static bool is_mark(const char *end) {
    return (end[0] == '#' || end[0] == '~') && strspn(end + 1, "0123456789abcdef") == SHEDLOCK_MARK_SIZE - 2;
}

/* Cuts our mark off and says whether it is this one. */
static enum mark_state take_mark(char *by, const char *mark) {
    size_t len = strlen(by);
    if (len < SHEDLOCK_MARK_SIZE - 1) return MARK_NONE;
    char *end = by + len - (SHEDLOCK_MARK_SIZE - 1);
    if (!is_mark(end)) return MARK_NONE;
    enum mark_state state = MARK_NONE;
    if (mark != NULL && strcmp(end + 1, mark + 1) == 0) state = end[0] == '#' ? MARK_HELD : MARK_RELEASED;
    *end = '\0';
    return state;
}

static enum mark_state take_row(struct db_stmt *row, const char *mark, struct shedlock_row *ret) {
    *ret = (struct shedlock_row){.now_ms = db_time(row, 0)};
    if (db_is_null(row, 1)) return MARK_NONE;
    db_copy_text(row, 1, ret->name, sizeof ret->name);
    ret->lock = (struct schedule_row){true, db_time(row, 2), db_time(row, 3)};
    ret->held = db_i64(row, 4) != 0;
    db_copy_text(row, 5, ret->by, sizeof ret->by);
    return take_mark(ret->by, mark);
}

static RESULT read_row(struct db *db, const char *name, const char *mark, struct shedlock_row *ret,
                       enum mark_state *ret_mark) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, READ, &stmt));
    db_set_str(stmt, 0, name);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) FAIL(STORE_OTHER, 0);
    *ret_mark = take_row(stmt, mark, ret);
    db_finish(stmt);
    return OK;
}

RESULT shedlock_read(struct db *db, const char *name, struct shedlock_row *ret) {
    enum mark_state mark;
    TRY(shedlock_table_check(db));
    TRY(read_row(db, name, NULL, ret, &mark));
    if (strcmp(ret->name, name) == 0) return OK;
    *ret = (struct shedlock_row){.now_ms = ret->now_ms}; /* another's, alike for the collation */
    return OK;
}

struct lister {
    void (*fn)(void *arg, const char *name, const struct shedlock_row *row);
    void *arg;
};

static void pass_row(void *arg, struct db_stmt *stmt) {
    const struct lister *lister = arg;
    struct shedlock_row row;
    (void)take_row(stmt, NULL, &row);
    lister->fn(lister->arg, row.name, &row);
}

RESULT shedlock_list(struct db *db, const char *after, int64_t limit,
                     void (*fn)(void *arg, const char *name, const struct shedlock_row *row), void *arg) {
    struct lister lister = {fn, arg};
    struct db_stmt *stmt;
    TRY(shedlock_table_check(db));
    TRY(db_statement(db, LIST, &stmt));
    db_set_str(stmt, 0, after);
    db_set_i64(stmt, 1, limit);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, pass_row, &lister);
}

/* -- taking */

static void by_of(const struct shedlock_terms *terms, char out[SHEDLOCK_BY_SIZE]) {
    (void)text_format(out, SHEDLOCK_BY_SIZE, "%s%s", terms->by, terms->mark);
}

static RESULT update(struct db *db, const struct shedlock_terms *terms, const char *by) {
    bool of_round = terms->taken_before_ms != 0;
    struct db_stmt *stmt;
    const char *sql = fault_on(FAULT_NO_SCHEDULE_LOCK) ? TAKE_ALWAYS : of_round ? TAKE_ROUND : TAKE_FREE;
    TRY(db_statement(db, sql, &stmt));
    db_set_i64(stmt, 0, terms->at_most_ms);
    db_set_str(stmt, 1, by);
    db_set_str(stmt, 2, terms->name);
    db_set_str(stmt, 3, terms->name);
    if (of_round && !fault_on(FAULT_NO_SCHEDULE_LOCK)) db_set_time(stmt, 4, terms->taken_before_ms);
    return db_execute(stmt, NULL);
}

/* The first use of a name. Another may be first. */
static RESULT make(struct db *db, const struct shedlock_terms *terms, const char *by) {
    struct db_stmt *stmt;
    TRY(db_statement(db, MAKE, &stmt));
    db_set_i64(stmt, 0, terms->at_most_ms);
    db_set_str(stmt, 1, by);
    db_set_str(stmt, 2, terms->name);
    struct result result = db_execute(stmt, NULL);
    return result.code == ERROR_DUPLICATE ? OK : result;
}

/* *ret_settled: the row that was read is the answer. */
static RESULT try(struct db *db, const struct shedlock_terms *terms, struct shedlock_row *ret, bool *ret_granted,
                  bool *ret_settled) {
    char by[SHEDLOCK_BY_SIZE];
    enum mark_state mark;
    by_of(terms, by);
    TRY(update(db, terms, by));
    TRY(read_row(db, terms->name, terms->mark, ret, &mark));
    if (!ret->lock.exists) {
        TRY(make(db, terms, by));
        TRY(read_row(db, terms->name, terms->mark, ret, &mark));
    }
    *ret_granted = mark == MARK_HELD;
    *ret_settled = *ret_granted || ret->held || (ret->lock.exists && ret->lock.locked_at_ms >= terms->taken_before_ms);
    return OK;
}

static RESULT take(struct db *db, const struct shedlock_terms *terms, struct shedlock_row *ret, bool *ret_granted) {
    char by[SHEDLOCK_BY_SIZE];
    bool settled = false;
    struct result result = OK;
    by_of(terms, by);
    *ret = (struct shedlock_row){0};
    if (!shedlock_table_has_room(db, terms->name, by)) FAIL(INVALID_REQUEST, 0);
    for (int i = 0; i < TRIES_MAX && !settled; i++) {
        result = try(db, terms, ret, ret_granted, &settled);
        if (failed(result) && result.code != ERROR_DEADLOCK) return result;
        if (!failed(result) && ret->lock.exists && strcmp(ret->name, terms->name) != 0) FAIL(INVALID_REQUEST, 0);
    }
    return result;
}

RESULT shedlock_take(struct db *db, const struct shedlock_terms *terms, struct shedlock_row *ret, bool *ret_granted) {
    *ret_granted = false;
    TRY(shedlock_table_check(db));
    TRY(shedlock_guard_check(db));
    struct result result = take(db, terms, ret, ret_granted);
    if (failed(result)) shedlock_guard_failed(result);
    return result;
}

/* -- a grant's own */

RESULT shedlock_extend(struct db *db, const struct shedlock_terms *terms, int64_t at_least_ms, struct shedlock_row *ret,
                       bool *ret_done) {
    struct db_stmt *stmt;
    uint64_t matched;
    enum mark_state mark;
    TRY(shedlock_table_check(db));
    TRY(db_statement(db, EXTEND, &stmt));
    db_set_i64(stmt, 0, terms->at_most_ms);
    db_set_i64(stmt, 1, at_least_ms);
    db_set_str(stmt, 2, terms->name);
    db_set_str(stmt, 3, terms->mark);
    TRY(db_execute(stmt, &matched));
    TRY(read_row(db, terms->name, terms->mark, ret, &mark));
    *ret_done = matched > 0 && mark == MARK_HELD;
    return OK;
}

RESULT shedlock_release(struct db *db, const char *name, const char *mark, int64_t at_least_ms, bool *ret_done) {
    struct db_stmt *stmt;
    uint64_t matched;
    struct shedlock_row row;
    enum mark_state state;
    TRY(shedlock_table_check(db));
    TRY(db_statement(db, RELEASE, &stmt));
    db_set_i64(stmt, 0, fault_on(FAULT_NO_MIN_HOLD) ? 0 : at_least_ms);
    db_set_str(stmt, 1, name);
    db_set_str(stmt, 2, mark);
    TRY(db_execute(stmt, &matched));
    *ret_done = matched > 0;
    if (*ret_done) return OK;
    TRY(read_row(db, name, mark, &row, &state));
    *ret_done = state == MARK_RELEASED;
    return OK;
}
