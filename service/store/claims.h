/* Claims: how a worker makes rows of a table its own for a while. One module for everything that is claimed: jobs,
   parts of the outbox, webhook deliveries. On a worker or a background thread.

   Invariants
   1. A claim stands in the row (owner, lease, fence + 1, a fresh token) before the row lock goes: SELECT … FOR UPDATE
   SKIP LOCKED and the UPDATE are one transaction. Work begins only after its COMMIT was answered.
   2. Every settle and renewal repeats scope, key, token and fence in its WHERE, and asks that the lease is not over;
   its row count is the answer. 0 rows: the claim is lost, whoever has the row now, and nothing was changed.
   3. Time is the database's. A lease that ends makes its row a candidate again, by itself.
   4. A claim whose COMMIT was not answered is nobody's: nothing is worked, its lease ends.

   What a table brings: the columns that sql/V007__jobs.sql explains (due_at, lease_until, owner, fence, claim_token)
   and an index (scope, due_at, key). Candidates are the rows with due_at in the past, in the order of that index:
   whatever shall not be claimed has due_at NULL or in the future. Without the index, or with another order, every
   candidate would be locked to claim one, and a second worker would find none. */
#pragma once

#include "base/text.h"
#include "store/db.h"

#define CLAIM_LIMIT_MAX DB_CHUNK_MAX /* rows of one call */
#define CLAIM_TOKEN_SIZE 65          /* 32 random bytes in hex; only its SHA-256 stands in the table */

/* The label of the metrics. */
enum claim_of { CLAIM_OF_JOBS, CLAIM_OF_PAYMENTS, CLAIM_OF_PARTS, CLAIM_OF_DELIVERIES };

/* A table whose rows are claimed. All of it is text of ours: it goes into statements as it is. */
struct claim_table {
    enum claim_of of;
    const char *name;
    const char *index;    /* (scope, due_at, key) */
    const char *scope;    /* a text column: rows are claimed within one value of it; NULL = all are one */
    const char *key;      /* an integer column; scope and key (or key alone) are the primary key */
    const char *columns;  /* what `row` wants to see: "payload, attempts"; NULL = nothing */
    const char *at_claim; /* assigned with the claim: "attempts = attempts + 1"; NULL = nothing */
    const char *spent; /* true of a candidate that shall not be claimed any more: "attempts >= max_attempts"; or NULL */
    const char *bury;  /* assigned to it instead: "status = 'DEAD'"; due_at becomes NULL */
};

struct claim {
    const char *scope; /* borrowed from who asked */
    int64_t key;
    int64_t fence;
    char token[CLAIM_TOKEN_SIZE]; /* a secret of this row's claim alone */
    int64_t lease_until_ms;       /* Unix, of the database's clock */
};

struct claim_ask {
    const char *scope; /* NULL exactly when the table has none */
    const char *owner; /* ≤ 128 bytes; decides nothing */
    int64_t lease_ms;  /* counted from the SELECT */
    size_t limit;      /* 1..CLAIM_LIMIT_MAX */
    /* Called for each row in its order, before the COMMIT: what it takes is worth something only when claims_take
     * succeeds, and a transaction that is tried again calls it anew from index 0. `first` is the first of the table's
     * `columns`. It must not run statements. May be NULL. */
    void (*row)(void *arg, size_t index, struct db_stmt *row, unsigned first);
    void *arg;
};
/* Claims up to limit rows, the longest due first; claims has room for limit. Its own transaction: none may be open.
   COMMIT_UNKNOWN: nothing is claimed as far as the caller may act on it. */
RESULT claims_take(struct db *db, const struct claim_table *table, const struct claim_ask *ask, struct claim *claims,
                   size_t *ret_count);

/* What becomes of the row. `set` says when it is a candidate next: "due_at = NULL", "due_at = UTC_TIMESTAMP(6)". */
struct claim_end {
    const char *set;
    unsigned params;                               /* its ? */
    void (*bind)(struct db_stmt *stmt, void *arg); /* sets parameters 0..params-1; NULL when there are none */
    void *arg;
};
/* Ends the claim: done, to be tried again, given back. One UPDATE, in autocommit or in the caller's transaction.
 *ret_ours false: the claim was lost and nothing was changed. */
RESULT claims_settle(struct db *db, const struct claim_table *table, const struct claim *claim,
                     const struct claim_end *end, bool *ret_ours);
/* The lease becomes now + lease_ms. As claims_settle. */
RESULT claims_renew(struct db *db, const struct claim_table *table, const struct claim *claim, int64_t lease_ms,
                    bool *ret_ours);

/* As claims_settle, for a caller who can tell a repeat from a loss: lockstock_claims_lost_total is left to
 * claims_count_loss. */
RESULT claims_try_settle(struct db *db, const struct claim_table *table, const struct claim *claim,
                         const struct claim_end *end, bool *ret_ours);
void claims_count_loss(const struct claim_table *table);

/* SHA-256 of a token, as it stands in claim_token. */
void claim_token_hash(const char *token, unsigned char out[32]);
/* The SELECT of a claim (parameters: scope when there is one, limit), for tests that EXPLAIN it. */
void claims_write_select(const struct claim_table *table, struct text *out);
