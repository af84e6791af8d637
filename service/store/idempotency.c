/* Stored answers. The primary key is a hash, and rows are inserted sorted by it, so that two instances with the same
   keys meet in one order: one waits and then learns DUPLICATE. */
#include "store/many.h"
#include "store/tables.h"

#include <string.h>

#define HASH_SIZE 32
#define AGE_MS "TIMESTAMPDIFF(MICROSECOND, created_at, UTC_TIMESTAMP(6)) DIV 1000"
enum { IDEMPOTENCY_COLUMNS = 7 };

struct reader {
    void (*fn)(void *arg, const struct idempotent *row);
    void *arg;
};

static void copy_hash(struct db_stmt *row, unsigned column, unsigned char *out) {
    size_t len;
    const char *data = db_text(row, column, &len);
    memset(out, 0, HASH_SIZE);
    memcpy(out, data, len < HASH_SIZE ? len : HASH_SIZE);
}

static void pass_row(void *arg, struct db_stmt *row) {
    struct reader *reader = arg;
    struct idempotent found = {.status = (int32_t)db_i64(row, 2), .age_ms = db_i64(row, 6)};
    copy_hash(row, 0, found.key_hash);
    copy_hash(row, 1, found.fingerprint);
    found.body = db_text(row, 3, &found.body_len);
    db_copy_text(row, 4, found.location, sizeof found.location);
    db_copy_text(row, 5, found.etag, sizeof found.etag);
    reader->fn(reader->arg, &found);
}

static void set_hash(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    db_set_bytes(stmt, first, ((const unsigned char(*)[HASH_SIZE])arg)[row], HASH_SIZE);
}

RESULT idempotency_find(struct db *db, const unsigned char (*key_hashes)[32], size_t count,
                        void (*fn)(void *arg, const struct idempotent *row), void *arg) {
    struct reader reader = {fn, arg};
    struct many many = {.head = "SELECT key_hash, fingerprint, status, body, location, etag, " AGE_MS
                                " FROM idempotency_keys WHERE key_hash IN (",
                        .group = "?",
                        .tail = ")",
                        .columns = 1,
                        .set = set_hash,
                        .arg = (void *)key_hashes};
    return many_read(db, &many, count, pass_row, &reader);
}

RESULT idempotency_delete_old(struct db *db, const unsigned char *key_hash, int64_t age_ms) {
    struct db_stmt *stmt;
    TRY(db_statement(db, "DELETE FROM idempotency_keys WHERE key_hash = ? AND " AGE_MS " > ?", &stmt));
    db_set_bytes(stmt, 0, key_hash, HASH_SIZE);
    db_set_i64(stmt, 1, age_ms);
    return db_execute(stmt, NULL);
}

struct answers {
    const struct idempotent *rows;
    int64_t now_ms;
};

static void set_answer(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    const struct answers *answers = arg;
    const struct idempotent *answer = &answers->rows[row];
    db_set_bytes(stmt, first, answer->key_hash, HASH_SIZE);
    db_set_bytes(stmt, first + 1, answer->fingerprint, HASH_SIZE);
    db_set_i64(stmt, first + 2, answer->status);
    db_set_text(stmt, first + 3, answer->body, answer->body_len);
    db_set_str_or_null(stmt, first + 4, answer->location);
    db_set_str_or_null(stmt, first + 5, answer->etag);
    db_set_time(stmt, first + 6, answers->now_ms);
}

RESULT idempotency_insert(struct db *db, const struct idempotent *rows, size_t count, int64_t now_ms) {
    struct answers answers = {rows, now_ms};
    struct many many = {.head = "INSERT INTO idempotency_keys (key_hash, fingerprint, status, body, location, etag, "
                                "created_at) VALUES ",
                        .group = "(?,?,?,?,?,?,?)",
                        .tail = "",
                        .columns = IDEMPOTENCY_COLUMNS,
                        .set = set_answer,
                        .arg = &answers};
    return many_write(db, &many, count, NULL);
}
