/* store/: claims against a real server, on the table of jobs. */
#include "store/claims.h"

#include "store_stand.h"

#define LEASE_MS 30000
#define MANY 40

static const struct claim_table table = {
    .name = "jobs",
    .index = "idx_jobs_due",
    .scope = "queue",
    .key = "id",
    .columns = "attempts, payload",
    .at_claim = "status = 'CLAIMED', attempts = attempts + 1",
    .spent = "attempts >= max_attempts",
    .bury = "status = 'DEAD'",
};
static const struct claim_end done = {.set = "status = 'DONE', due_at = NULL"};
static const struct claim_end again = {.set = "status = 'READY', due_at = UTC_TIMESTAMP(6)"};

static struct claim claims[CLAIM_LIMIT_MAX];

/* Jobs 1..count of a queue, the last one the longest due. */
static void add_jobs(struct db *db, const char *queue, int first, int count) {
    for (int i = 0; i < count; i++)
        stand_run(
            db,
            "INSERT INTO jobs (id, queue, payload, max_attempts, created_at, due_at) VALUES (%d, '%s', '{\"n\":%d}', "
            "3, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) - INTERVAL %d SECOND)",
            first + i, queue, first + i, i + 1);
}

static void end_lease(struct db *db, int64_t id) {
    stand_run(
        db, "UPDATE jobs SET lease_until = UTC_TIMESTAMP(6) - INTERVAL 1 SECOND, due_at = lease_until WHERE id = %lld",
        (long long)id);
}

static size_t take(struct db *db, const char *queue, size_t limit) {
    struct claim_ask ask = {.scope = queue, .owner = "w", .lease_ms = LEASE_MS, .limit = limit};
    size_t count;
    MUST(claims_take(db, &table, &ask, claims, &count));
    return count;
}

static struct claim take_one(struct db *db) {
    assert_int_equal(take(db, "q", 1), 1);
    return claims[0];
}

static bool settle(struct db *db, const struct claim *claim) {
    bool ours;
    MUST(claims_settle(db, &table, claim, &done, &ours));
    return ours;
}

static bool renew(struct db *db, const struct claim *claim) {
    bool ours;
    MUST(claims_renew(db, &table, claim, LEASE_MS, &ours));
    return ours;
}

static int64_t count_with(struct db *db, const char *status) {
    char sql[100];
    snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM jobs WHERE status = '%s'", status);
    return stand_number(db, sql);
}

/* -- taking -- */

static void claims_take__when_some_are_due__then_longest_due_first_and_written_down(void **state) {
    struct stand *stand = *state;
    int64_t now_ms;
    add_jobs(stand->db, "q", 1, 5);
    add_jobs(stand->db, "other", 6, 1);
    stand_run(stand->db, "UPDATE jobs SET due_at = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR WHERE id = 5");
    stand_run(stand->db, "UPDATE jobs SET due_at = NULL WHERE id = 4");
    assert_int_equal(take(stand->db, "q", 10), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(claims[i].key, 3 - i);
        assert_int_equal(claims[i].fence, 1);
    }
    MUST(db_now(stand->db, &now_ms));
    assert_in_range(now_ms + LEASE_MS - claims[0].lease_until_ms, 0, 5000);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM jobs WHERE status = 'CLAIMED' AND fence = 1 AND "
                                             "attempts = 1 AND owner = 'w' AND lease_until = due_at AND "
                                             "claim_token IS NOT NULL AND id <= 3"),
                     3);
    assert_int_equal(take(stand->other, "q", 10), 0);
}

static void note_payload(void *arg, size_t index, struct db_stmt *row, unsigned first) {
    char want[32], *seen = arg;
    snprintf(want, sizeof want, "{\"n\":%lld}", (long long)claims[index].key);
    assert_string_equal(db_text(row, first + 1, NULL), want);
    assert_int_equal(db_i64(row, first), 0); /* as it was before */
    seen[claims[index].key] = 1;
}

static void claims_take__when_rows_are_wanted__then_their_columns_are_shown(void **state) {
    struct stand *stand = *state;
    char seen[4] = {0};
    struct claim_ask ask = {
        .scope = "q", .owner = "w", .lease_ms = LEASE_MS, .limit = 3, .row = note_payload, .arg = seen};
    size_t count;
    add_jobs(stand->db, "q", 1, 3);
    MUST(claims_take(stand->db, &table, &ask, claims, &count));
    assert_memory_equal(seen, ((char[]){0, 1, 1, 1}), 4);
}

/* The token stands nowhere but with the claimer. */
static void claims_take__then_only_a_digest_is_stored(void **state) {
    struct stand *stand = *state;
    char sql[200];
    add_jobs(stand->db, "q", 1, 1);
    struct claim claim = take_one(stand->db);
    snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM jobs WHERE claim_token = UNHEX(SHA2('%s', 256))", claim.token);
    assert_int_equal(stand_number(stand->db, sql), 1);
}

/* What SKIP LOCKED is for: another worker is in the middle of its claim and this one finds work all the same. That
 * fails when the rows have to be sorted: then all of them are locked by the first. */
static void claims_take__when_another_is_in_the_middle_of_it__then_the_next_rows(void **state) {
    struct stand *stand = *state;
    AUTO_TEXT sql = text_new(0);
    struct db_stmt *stmt;
    bool row;
    add_jobs(stand->db, "q", 1, MANY);
    claims_write_select(&table, &sql);
    MUST(db_begin(stand->other));
    MUST(db_statement(stand->other, text_str(&sql), &stmt));
    db_set_str(stmt, 0, "q");
    db_set_i64(stmt, 1, 10);
    MUST(db_execute(stmt, NULL));
    MUST(db_next(stmt, &row));
    assert_int_equal(db_i64(stmt, 0), MANY);
    assert_int_equal(take(stand->db, "q", 10), 10);
    assert_int_equal(claims[0].key, MANY - 10);
}

/* Rows that must be sorted are all locked to claim one: with the wrong index the second worker finds none. */
static void claims_take__when_the_index_gives_no_order__then_a_second_worker_finds_none(void **state) {
    struct stand *stand = *state;
    struct claim_table sorted = table;
    struct db_stmt *stmt;
    AUTO_TEXT sql = text_new(0);
    add_jobs(stand->db, "q", 1, MANY);
    sorted.index = "idx_jobs_status";
    claims_write_select(&sorted, &sql);
    MUST(db_begin(stand->other));
    MUST(db_statement(stand->other, text_str(&sql), &stmt));
    db_set_str(stmt, 0, "q");
    db_set_i64(stmt, 1, 10);
    MUST(db_execute(stmt, NULL));
    assert_int_equal(take(stand->db, "q", 10), 0);
}

/* Rows this session has sorted so far. */
static int64_t sorted_rows(struct db *db) {
    struct db_stmt *stmt;
    bool row;
    MUST(db_statement(db, "SHOW SESSION STATUS LIKE 'Sort_rows'", &stmt));
    MUST(db_execute(stmt, NULL));
    MUST(db_next(stmt, &row));
    assert_true(row);
    int64_t count = strtoll(db_text(stmt, 1, NULL), NULL, 10);
    db_finish(stmt);
    return count;
}

/* True: the candidates came in their order by themselves. */
static bool is_in_order(struct db *db, const struct claim_table *of) {
    AUTO_TEXT sql = text_new(0);
    struct db_stmt *stmt;
    int64_t before = sorted_rows(db);
    claims_write_select(of, &sql);
    MUST(db_begin(db));
    MUST(db_statement(db, text_str(&sql), &stmt));
    db_set_str(stmt, 0, "q");
    db_set_i64(stmt, 1, 10);
    MUST(db_execute(stmt, NULL));
    db_finish(stmt);
    db_rollback(db);
    return sorted_rows(db) == before;
}

static void claims_take__then_nothing_is_sorted(void **state) {
    struct stand *stand = *state;
    struct claim_table sorted = table;
    add_jobs(stand->db, "q", 1, MANY);
    add_jobs(stand->db, "r", MANY + 1, MANY);
    assert_true(is_in_order(stand->db, &table));
    sorted.index = "idx_jobs_status";
    assert_false(is_in_order(stand->db, &sorted));
}

static void claims_take__when_lease_is_over__then_again_with_a_higher_fence(void **state) {
    struct stand *stand = *state;
    add_jobs(stand->db, "q", 1, 1);
    struct claim first = take_one(stand->db);
    assert_int_equal(take(stand->other, "q", 1), 0);
    end_lease(stand->db, 1);
    struct claim second = take_one(stand->other);
    assert_int_equal(second.fence, first.fence + 1);
    assert_string_not_equal(second.token, first.token);
    assert_false(settle(stand->db, &first));
    assert_false(renew(stand->db, &first));
    assert_true(settle(stand->other, &second));
}

static void claims_take__when_claimed_too_often__then_buried_and_the_next_one_taken(void **state) {
    struct stand *stand = *state;
    add_jobs(stand->db, "q", 1, 5);
    stand_run(stand->db, "UPDATE jobs SET attempts = 3 WHERE id >= 2");
    assert_int_equal(take(stand->db, "q", 2), 1); /* in the third round: twice there was nothing but spent ones */
    assert_int_equal(claims[0].key, 1);
    assert_int_equal(count_with(stand->db, "DEAD"), 4);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM jobs WHERE status = 'DEAD' AND due_at IS NULL"), 4);
    assert_int_equal(take(stand->db, "q", 2), 0);
}

static void claims_take__when_the_most_are_asked_for__then_each_once(void **state) {
    struct stand *stand = *state;
    add_jobs(stand->db, "q", 1, 300);
    assert_int_equal(take(stand->db, "q", CLAIM_LIMIT_MAX), CLAIM_LIMIT_MAX);
    assert_int_equal(take(stand->other, "q", CLAIM_LIMIT_MAX), 300 - CLAIM_LIMIT_MAX);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM jobs WHERE fence = 1"), 300);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(DISTINCT claim_token) FROM jobs"), 300);
}

/* -- settling -- */

static void claims_settle__when_repeated__then_lost(void **state) {
    struct stand *stand = *state;
    add_jobs(stand->db, "q", 1, 1);
    struct claim claim = take_one(stand->db);
    assert_true(settle(stand->db, &claim));
    assert_false(settle(stand->db, &claim));
    assert_false(renew(stand->db, &claim));
    assert_int_equal(count_with(stand->db, "DONE"), 1);
}

/* Nobody has the row yet; the one whose lease is over has it no more. */
static void claims_settle__when_lease_is_over__then_lost_though_nobody_took_it(void **state) {
    struct stand *stand = *state;
    add_jobs(stand->db, "q", 1, 1);
    struct claim claim = take_one(stand->db);
    end_lease(stand->db, 1);
    assert_false(settle(stand->db, &claim));
    assert_false(renew(stand->db, &claim));
    assert_int_equal(count_with(stand->db, "CLAIMED"), 1);
}

/* Each of them alone: what is repeated in the WHERE decides. */
static void claims_settle__when_any_part_of_the_claim_differs__then_lost(void **state) {
    struct stand *stand = *state;
    add_jobs(stand->db, "q", 1, 2);
    struct claim claim = take_one(stand->db), other = claim;
    other.key--;
    assert_false(settle(stand->db, &other));
    other = claim;
    other.fence++;
    assert_false(settle(stand->db, &other));
    other.fence = claim.fence - 1;
    assert_false(settle(stand->db, &other));
    other = claim;
    other.token[0] = other.token[0] == '0' ? '1' : '0';
    assert_false(settle(stand->db, &other));
    assert_int_equal(take(stand->db, "q", 1), 1);
    memcpy(other.token, claims[0].token, sizeof other.token); /* another's, of the same fence */
    assert_false(settle(stand->db, &other));
    other = claim;
    other.scope = "r";
    assert_false(settle(stand->db, &other));
    assert_true(settle(stand->db, &claim));
}

static void claims_settle__when_row_was_never_claimed__then_nothing_matches_it(void **state) {
    struct stand *stand = *state;
    add_jobs(stand->db, "q", 1, 1);
    struct claim claim = {.scope = "q", .key = 1};
    assert_false(settle(stand->db, &claim));
    stand_run(stand->db, "UPDATE jobs SET lease_until = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR");
    assert_false(settle(stand->db, &claim)); /* NULL is no token */
}

static void claims_settle__when_given_back__then_the_next_one_takes_it(void **state) {
    struct stand *stand = *state;
    bool ours;
    add_jobs(stand->db, "q", 1, 1);
    struct claim first = take_one(stand->db);
    MUST(claims_settle(stand->db, &table, &first, &again, &ours));
    assert_true(ours);
    assert_int_equal(take_one(stand->other).fence, 2);
}

static void claims_settle__when_transaction_is_rolled_back__then_claim_stands(void **state) {
    struct stand *stand = *state;
    add_jobs(stand->db, "q", 1, 1);
    struct claim claim = take_one(stand->db);
    MUST(db_begin(stand->db));
    assert_true(settle(stand->db, &claim));
    db_rollback(stand->db);
    assert_true(settle(stand->db, &claim));
}

static void claims_renew__when_ours__then_the_lease_counts_from_now(void **state) {
    struct stand *stand = *state;
    add_jobs(stand->db, "q", 1, 1);
    struct claim claim = take_one(stand->db);
    stand_run(stand->db, "UPDATE jobs SET lease_until = UTC_TIMESTAMP(6) + INTERVAL 2 SECOND, due_at = lease_until");
    assert_true(renew(stand->db, &claim));
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM jobs WHERE lease_until = due_at AND "
                                             "lease_until > UTC_TIMESTAMP(6) + INTERVAL 20 SECOND"),
                     1);
}

/* -- a commit whose answer never came -- */

static void claims_take__when_the_connection_dies_before_the_commit__then_nothing_is_claimed(void **state) {
    struct stand *stand = *state;
    struct claim_ask ask = {.scope = "q", .owner = "w", .lease_ms = LEASE_MS, .limit = 1};
    size_t count;
    add_jobs(stand->db, "q", 1, 1);
    stand_run(stand->db, "KILL %llu", (unsigned long long)db_connection_id(stand->other));
    struct result result = claims_take(stand->other, &table, &ask, claims, &count);
    assert_true(failed(result));
    assert_int_equal(take(stand->db, "q", 1), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STAND_TEST(claims_take__when_some_are_due__then_longest_due_first_and_written_down),
        STAND_TEST(claims_take__when_rows_are_wanted__then_their_columns_are_shown),
        STAND_TEST(claims_take__then_only_a_digest_is_stored),
        STAND_TEST(claims_take__when_another_is_in_the_middle_of_it__then_the_next_rows),
        STAND_TEST(claims_take__when_the_index_gives_no_order__then_a_second_worker_finds_none),
        STAND_TEST(claims_take__then_nothing_is_sorted),
        STAND_TEST(claims_take__when_lease_is_over__then_again_with_a_higher_fence),
        STAND_TEST(claims_take__when_claimed_too_often__then_buried_and_the_next_one_taken),
        STAND_TEST(claims_take__when_the_most_are_asked_for__then_each_once),
        STAND_TEST(claims_settle__when_repeated__then_lost),
        STAND_TEST(claims_settle__when_lease_is_over__then_lost_though_nobody_took_it),
        STAND_TEST(claims_settle__when_any_part_of_the_claim_differs__then_lost),
        STAND_TEST(claims_settle__when_row_was_never_claimed__then_nothing_matches_it),
        STAND_TEST(claims_settle__when_given_back__then_the_next_one_takes_it),
        STAND_TEST(claims_settle__when_transaction_is_rolled_back__then_claim_stands),
        STAND_TEST(claims_renew__when_ours__then_the_lease_counts_from_now),
        STAND_TEST(claims_take__when_the_connection_dies_before_the_commit__then_nothing_is_claimed),
    };
    return cmocka_run_group_tests(tests, stand_setup, stand_teardown);
}
