#include "store/claims.h"

#include "base/fault.h"
#include "base/memory.h"
#include "codec/digest.h"
#include "metrics/metrics.h"

#include <assert.h>
#include <string.h>

#define SQL_MAX ((size_t)8 << 10)
#define ROUNDS_MAX 16 /* of one call that meets nothing but spent rows */
#define TRIES_MAX 3   /* of one round that deadlocks with a settle */
#define TOKEN_BYTES 32
#define HASH_SIZE 32
#define NOW "UTC_TIMESTAMP(6)"

/* Columns of the SELECT. */
enum { COLUMN_KEY, COLUMN_FENCE, COLUMN_SPENT, COLUMN_NOW, COLUMN_FIRST };

/* One round of a call. */
struct round {
    struct db *db;
    const struct claim_table *table;
    const struct claim_ask *ask;
    struct claim *claims;
    size_t count;
    int64_t spent[CLAIM_LIMIT_MAX];
    size_t spent_count;
    int64_t keys[CLAIM_LIMIT_MAX];                    /* of claims */
    unsigned char hashes[CLAIM_LIMIT_MAX][HASH_SIZE]; /* of their tokens */
    int64_t lease_until_ms;
};

void claim_token_hash(const char *token, unsigned char out[HASH_SIZE]) { digest_bytes(token, strlen(token), out); }

/* -- the candidates */

void claims_write_select(const struct claim_table *table, struct text *out) {
    text_addf(out, "SELECT %s, fence, %s, " NOW, table->key, table->spent != NULL ? table->spent : "0");
    if (table->columns != NULL) text_addf(out, ", %s", table->columns);
    text_addf(out, " FROM %s FORCE INDEX (%s) WHERE ", table->name, table->index);
    if (table->scope != NULL) text_addf(out, "%s = ? AND ", table->scope);
    text_addf(out, "due_at <= " NOW " ORDER BY due_at, %s LIMIT ? FOR UPDATE SKIP LOCKED", table->key);
}

static void take_row(struct round *round, struct db_stmt *row) {
    if (db_i64(row, COLUMN_SPENT) != 0) {
        round->spent[round->spent_count++] = db_i64(row, COLUMN_KEY);
        return;
    }
    struct claim *claim = &round->claims[round->count];
    *claim = (struct claim){.scope = round->ask->scope,
                            .key = db_i64(row, COLUMN_KEY),
                            .fence = db_i64(row, COLUMN_FENCE) + 1,
                            .lease_until_ms = db_time(row, COLUMN_NOW) + round->ask->lease_ms};
    text_random_hex(TOKEN_BYTES, claim->token);
    claim_token_hash(claim->token, round->hashes[round->count]);
    round->keys[round->count] = claim->key;
    round->lease_until_ms = claim->lease_until_ms;
    if (round->ask->row != NULL) round->ask->row(round->ask->arg, round->count, row, COLUMN_FIRST);
    round->count++;
}

static RESULT select_rows(struct round *round) {
    AUTO_TEXT sql = text_new(SQL_MAX);
    struct db_stmt *stmt;
    unsigned param = 0;
    bool row;
    claims_write_select(round->table, &sql);
    TRY(db_statement(round->db, text_str(&sql), &stmt));
    if (round->table->scope != NULL) db_set_str(stmt, param++, round->ask->scope);
    db_set_i64(stmt, param, (int64_t)round->ask->limit);
    TRY(db_execute(stmt, NULL));
    for (;;) {
        TRY(db_next(stmt, &row));
        if (!row) return OK;
        take_row(round, stmt);
    }
}

/* -- writing them down */

/* "?, ?, …": as many as keys, in a few sizes; a list is padded by its last element. */
static void write_list(struct text *out, size_t count) {
    for (size_t i = 0; i < db_chunk_up(count); i++) text_add_str(out, i == 0 ? "?" : ", ?");
}

static unsigned bind_keys(struct db_stmt *stmt, unsigned param, const int64_t *keys, size_t count) {
    for (size_t i = 0; i < db_chunk_up(count); i++) db_set_i64(stmt, param++, keys[i < count ? i : count - 1]);
    return param;
}

static void write_rows(const struct claim_table *table, size_t count, struct text *out) {
    text_add_str(out, " WHERE ");
    if (table->scope != NULL) text_addf(out, "%s = ? AND ", table->scope);
    text_addf(out, "%s IN (", table->key);
    write_list(out, count);
    text_add_str(out, ")");
}

/* The rows are locked, so each of them must be there. */
static RESULT execute_rows(const struct round *round, struct db_stmt *stmt, unsigned param, const int64_t *keys,
                           size_t count) {
    uint64_t matched;
    if (round->table->scope != NULL) db_set_str(stmt, param++, round->ask->scope);
    bind_keys(stmt, param, keys, count);
    TRY(db_execute(stmt, &matched));
    if (matched != count) FAIL(INTERNAL, 0);
    return OK;
}

/* Each row gets the token that stands at its place in the list. */
static void write_claim_sql(const struct round *round, struct text *sql) {
    const struct claim_table *table = round->table;
    text_addf(sql, "UPDATE %s FORCE INDEX (PRIMARY) SET claim_token = ELT(FIELD(%s, ", table->name, table->key);
    write_list(sql, round->count);
    text_add_str(sql, "), ");
    write_list(sql, round->count);
    text_add_str(sql, "), owner = ?, lease_until = ?, due_at = lease_until, fence = fence + 1");
    if (table->at_claim != NULL) text_addf(sql, ", %s", table->at_claim);
    write_rows(table, round->count, sql);
}

static RESULT write_claims(struct round *round) {
    AUTO_TEXT sql = text_new(SQL_MAX);
    struct db_stmt *stmt;
    const size_t count = round->count;
    if (count == 0 || fault_on(FAULT_NO_CLAIM_UPDATE)) return OK;
    write_claim_sql(round, &sql);
    TRY(db_statement(round->db, text_str(&sql), &stmt));
    unsigned param = bind_keys(stmt, 0, round->keys, count);
    for (size_t i = 0; i < db_chunk_up(count); i++)
        db_set_bytes(stmt, param++, round->hashes[i < count ? i : count - 1], HASH_SIZE);
    db_set_str(stmt, param++, round->ask->owner);
    db_set_time(stmt, param++, round->lease_until_ms);
    return execute_rows(round, stmt, param, round->keys, count);
}

static RESULT bury_spent(struct round *round) {
    AUTO_TEXT sql = text_new(SQL_MAX);
    struct db_stmt *stmt;
    if (round->spent_count == 0) return OK;
    text_addf(&sql, "UPDATE %s FORCE INDEX (PRIMARY) SET due_at = NULL, lease_until = NULL, %s", round->table->name,
              round->table->bury);
    write_rows(round->table, round->spent_count, &sql);
    TRY(db_statement(round->db, text_str(&sql), &stmt));
    return execute_rows(round, stmt, 0, round->spent, round->spent_count);
}

/* -- a call */

static RESULT write_round(struct round *round) {
    TRY(select_rows(round));
    TRY(write_claims(round));
    return bury_spent(round);
}

static RESULT try_round(struct round *round) {
    round->count = round->spent_count = 0;
    TRY(db_begin(round->db));
    struct result result = write_round(round);
    if (failed(result)) {
        db_rollback(round->db);
        return result;
    }
    return db_commit(round->db);
}

/* A settle of a row whose lease is just over takes the row and its index entry the other way round. */
static RESULT run_round(struct round *round) {
    struct result result = OK;
    for (int i = 0; i < TRIES_MAX; i++) {
        result = try_round(round);
        if (result.code != ERROR_DEADLOCK) break;
    }
    return result;
}

RESULT claims_take(struct db *db, const struct claim_table *table, const struct claim_ask *ask, struct claim *claims,
                   size_t *ret_count) {
    struct round round = {.db = db, .table = table, .ask = ask, .claims = claims};
    assert(ask->limit >= 1 && ask->limit <= CLAIM_LIMIT_MAX && (ask->scope != NULL) == (table->scope != NULL));
    for (int i = 0; i < ROUNDS_MAX; i++) {
        TRY(run_round(&round));
        metric_add(METRIC_CLAIMS, table->of, (int64_t)round.count);
        metric_add(METRIC_CLAIMS_BURIED, table->of, (int64_t)round.spent_count);
        if (round.count > 0 || round.spent_count == 0) break;
    }
    *ret_count = round.count;
    return OK;
}

/* -- settling and renewing */

static void write_where(const struct claim_table *table, struct text *sql) {
    text_add_str(sql, " WHERE ");
    if (table->scope != NULL) text_addf(sql, "%s = ? AND ", table->scope);
    text_addf(sql, "%s = ? AND lease_until %s", table->key, fault_on(FAULT_NO_CLAIM_LEASE) ? "IS NOT NULL" : "> " NOW);
    text_add_str(sql, fault_on(FAULT_NO_CLAIM_TOKEN) ? " AND ? IS NOT NULL" : " AND claim_token = ?");
    text_add_str(sql, fault_on(FAULT_NO_CLAIM_FENCE) ? " AND ? IS NOT NULL" : " AND fence = ?");
}

/* `hash` lives until the execute. */
static void bind_where(struct db_stmt *stmt, unsigned param, const struct claim *claim,
                       const unsigned char hash[HASH_SIZE]) {
    if (claim->scope != NULL) db_set_str(stmt, param++, claim->scope);
    db_set_i64(stmt, param++, claim->key);
    db_set_bytes(stmt, param++, hash, HASH_SIZE);
    db_set_i64(stmt, param, claim->fence);
}

void claims_count_loss(const struct claim_table *table) { metric_add(METRIC_CLAIMS_LOST, table->of, 1); }

static RESULT change(struct db *db, const struct claim_table *table, const struct claim *claim,
                     const struct claim_end *end, bool *ret_ours) {
    AUTO_TEXT sql = text_new(SQL_MAX);
    unsigned char hash[HASH_SIZE];
    struct db_stmt *stmt;
    uint64_t matched;
    text_addf(&sql, "UPDATE %s FORCE INDEX (PRIMARY) SET %s", table->name, end->set);
    write_where(table, &sql);
    claim_token_hash(claim->token, hash);
    TRY(db_statement(db, text_str(&sql), &stmt));
    if (end->bind != NULL) end->bind(stmt, end->arg);
    bind_where(stmt, end->params, claim, hash);
    TRY(db_execute(stmt, &matched));
    *ret_ours = matched == 1;
    return OK;
}

RESULT claims_try_settle(struct db *db, const struct claim_table *table, const struct claim *claim,
                         const struct claim_end *end, bool *ret_ours) {
    AUTO_TEXT set = text_new(SQL_MAX);
    text_addf(&set, "%s, lease_until = NULL", end->set);
    struct claim_end whole = {text_str(&set), end->params, end->bind, end->arg};
    TRY(change(db, table, claim, &whole, ret_ours));
    if (*ret_ours) metric_add(METRIC_CLAIMS_SETTLED, table->of, 1);
    return OK;
}

RESULT claims_settle(struct db *db, const struct claim_table *table, const struct claim *claim,
                     const struct claim_end *end, bool *ret_ours) {
    TRY(claims_try_settle(db, table, claim, end, ret_ours));
    if (!*ret_ours) claims_count_loss(table);
    return OK;
}

static void bind_lease(struct db_stmt *stmt, void *arg) { db_set_i64(stmt, 0, *(const int64_t *)arg); }

RESULT claims_renew(struct db *db, const struct claim_table *table, const struct claim *claim, int64_t lease_ms,
                    bool *ret_ours) {
    const struct claim_end end = {.set = "lease_until = " NOW " + INTERVAL ? * 1000 MICROSECOND, due_at = lease_until",
                                  .params = 1,
                                  .bind = bind_lease,
                                  .arg = &lease_ms};
    TRY(change(db, table, claim, &end, ret_ours));
    if (!*ret_ours) claims_count_loss(table);
    return OK;
}
