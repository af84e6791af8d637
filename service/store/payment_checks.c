#include "store/payment_checks.h"

#include "base/text.h"

#define NOW "UTC_TIMESTAMP(6)"
#define NO_END "2147483647" /* of attempts: time decides when to give up, not their number */
/* A number as a text of the column's collation. */
#define KEY_OF "CONVERT(o.id, CHAR) COLLATE utf8mb4_bin"
#define FEED                                                                                                           \
    "INSERT INTO jobs (queue, payload, dedupe_key, max_attempts, created_at, due_at) "                                 \
    "SELECT '" PAYMENT_CHECKS_QUEUE "', CONCAT('{\"orderId\":', o.id, '}'), " KEY_OF ", " NO_END ", " NOW ", " NOW     \
    " FROM orders o WHERE o.status = 'PAYMENT_REQUESTED' AND o.payment_requested_at <= " NOW                           \
    " - INTERVAL ? * 1000 MICROSECOND AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.queue = '" PAYMENT_CHECKS_QUEUE     \
    "' AND j.dedupe_key = " KEY_OF ") LIMIT " STRINGIZE(PAYMENT_CHECKS_FEED_MAX)
#define DONE "status = 'DONE', due_at = NULL, done_at = " NOW ", dedupe_key = NULL, last_result = ?"
#define AGAIN "status = 'READY', last_result = ?, due_at = " NOW " + INTERVAL ? * 1000 MICROSECOND"

const struct claim_table payment_checks_table = {
    .of = CLAIM_OF_PAYMENTS,
    .name = "jobs",
    .index = "idx_jobs_due",
    .scope = "queue",
    .key = "id",
    .columns = "dedupe_key, attempts",
    .at_claim = "status = 'CLAIMED', attempts = attempts + 1",
};

RESULT payment_checks_feed(struct db *db, int64_t overdue_ms, uint64_t *ret_added) {
    struct db_stmt *stmt;
    TRY(db_statement(db, FEED, &stmt));
    db_set_i64(stmt, 0, overdue_ms);
    struct result result = db_execute(stmt, ret_added);
    if (result.code != ERROR_DUPLICATE) return result;
    *ret_added = 0; /* another round is at it */
    return OK;
}

static void take_row(void *arg, size_t index, struct db_stmt *row, unsigned first) {
    struct payment_check *check = (struct payment_check *)arg + index;
    size_t len;
    const char *key = db_text(row, first, &len);
    check->order_id = 0;
    (void)text_parse_i64(key, len, &check->order_id);
    check->attempts = db_i64(row, first + 1);
}

RESULT payment_checks_take(struct db *db, const char *owner, int64_t lease_ms, struct payment_check *checks,
                           size_t *ret_count) {
    struct claim claims[PAYMENT_CHECKS_TAKE_MAX];
    const struct claim_ask ask = {.scope = PAYMENT_CHECKS_QUEUE,
                                  .owner = owner,
                                  .lease_ms = lease_ms,
                                  .limit = PAYMENT_CHECKS_TAKE_MAX,
                                  .row = take_row,
                                  .arg = checks};
    TRY(claims_take(db, &payment_checks_table, &ask, claims, ret_count));
    for (size_t i = 0; i < *ret_count; i++) checks[i].claim = claims[i];
    return OK;
}

struct end {
    const char *result;
    int64_t delay_ms;
};

static void bind_done(struct db_stmt *stmt, void *arg) { db_set_str(stmt, 0, ((struct end *)arg)->result); }

static void bind_again(struct db_stmt *stmt, void *arg) {
    bind_done(stmt, arg);
    db_set_i64(stmt, 1, ((struct end *)arg)->delay_ms);
}

RESULT payment_checks_done(struct db *db, const struct payment_check *check, const char *result, bool *ret_ours) {
    struct end values = {.result = result};
    const struct claim_end end = {DONE, 1, bind_done, &values};
    return claims_settle(db, &payment_checks_table, &check->claim, &end, ret_ours);
}

RESULT payment_checks_again(struct db *db, const struct payment_check *check, int64_t delay_ms, const char *result,
                            bool *ret_ours) {
    struct end values = {result, delay_ms};
    const struct claim_end end = {AGAIN, 2, bind_again, &values};
    return claims_settle(db, &payment_checks_table, &check->claim, &end, ret_ours);
}
