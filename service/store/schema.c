/* Migrations: applied in order under one advisory lock, each written down when all its statements are done. DDL commits
   by itself, so a migration can stop half way; its statements may run again, and do. */
#include "store/many.h"
#include "store/migrations.h"
#include "store/reads.h"

#define STATEMENT_MAX ((size_t)64 << 10)
#define LOCK_NAME "lockstock-migrate"
#define LOCK_TRIES_MAX 60 /* of one second: another instance may be migrating */
#define VERSIONS_MAX 1024

#define HISTORY                                                                                                        \
    "CREATE TABLE IF NOT EXISTS schema_history (version INT NOT NULL, name VARCHAR(200) NOT NULL, "                    \
    "applied_at DATETIME(6) NOT NULL, PRIMARY KEY (version)) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4"

/* applied[v] for the versions written down. */
struct history {
    bool applied[VERSIONS_MAX];
};

static void note_version(void *arg, struct db_stmt *row) {
    struct history *history = arg;
    int64_t version = db_i64(row, 0);
    if (version >= 0 && version < VERSIONS_MAX) history->applied[version] = true;
}

static RESULT read_history(struct db *db, struct history *ret) {
    struct db_stmt *stmt;
    *ret = (struct history){0};
    TRY(db_statement(db, "SELECT version FROM schema_history", &stmt));
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, note_version, ret);
}

static bool is_complete(const struct history *history) {
    for (size_t i = 0; i < migration_count; i++)
        if (!history->applied[migrations[i].version]) return false;
    return true;
}

RESULT schema_fits(struct db *db, bool *ret) {
    struct history history;
    struct result r = read_history(db, &history);
    if (r.code == ERROR_STORE_SCHEMA) { /* nothing was ever migrated here */
        *ret = false;
        return OK;
    }
    TRY(r);
    *ret = is_complete(&history);
    return OK;
}

/* A second at a time, so that a wait stays below the connection's io timeout. */
static RESULT take_lock(struct db *db) {
    for (int i = 0; i < LOCK_TRIES_MAX; i++) {
        int64_t had;
        TRY(db_number(db, "SELECT GET_LOCK('" LOCK_NAME "', 1)", &had));
        if (had == 1) return OK;
    }
    FAIL(LOCK_WAIT, 0);
}

static RESULT write_down(struct db *db, const struct migration *migration) {
    struct db_stmt *stmt;
    TRY(db_statement(db, "INSERT INTO schema_history (version, name, applied_at) VALUES (?, ?, UTC_TIMESTAMP(6))",
                     &stmt));
    db_set_i64(stmt, 0, migration->version);
    db_set_str(stmt, 1, migration->name);
    return db_execute(stmt, NULL);
}

static RESULT apply(struct db *db, const struct migration *migration) {
    AUTO_TEXT statement = text_new(STATEMENT_MAX);
    const char *position = migration->text;
    while (migration_next(&position, &statement)) {
        if (statement.overflow) FAIL(INTERNAL, 0);
        TRY(db_run(db, text_str(&statement), NULL));
    }
    return write_down(db, migration);
}

static RESULT apply_missing(struct db *db, int *ret_applied) {
    struct history history;
    TRY(db_run(db, HISTORY, NULL));
    TRY(read_history(db, &history));
    for (size_t i = 0; i < migration_count; i++) {
        if (history.applied[migrations[i].version]) continue;
        TRY(apply(db, &migrations[i]));
        (*ret_applied)++;
    }
    return OK;
}

RESULT schema_migrate(struct db *db, int *ret_applied) {
    int applied = 0;
    int64_t freed;
    TRY(take_lock(db));
    struct result r = apply_missing(db, &applied);
    struct result release = db_number(db, "SELECT RELEASE_LOCK('" LOCK_NAME "')", &freed);
    TRY(r);
    TRY(release);
    *ret_applied = applied;
    return OK;
}
