/* store/: what keeps the table of jobs in order, against a real server. */
#include "store/jobs.h"

#include "store_stand.h"

/* A job of queue q; `set` says what differs from a fresh one. */
static void add(struct db *db, int id, const char *set) {
    stand_run(db,
              "INSERT INTO jobs (id, queue, payload, max_attempts, created_at, due_at) VALUES (%d, 'q', '{}', 2, "
              "UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))",
              id);
    stand_run(db, "UPDATE jobs SET %s WHERE id = %d", set, id);
}

#define OVER "UTC_TIMESTAMP(6) - INTERVAL 1 SECOND"
#define LATER "UTC_TIMESTAMP(6) + INTERVAL 1 MINUTE"
#define CLAIMED_UNTIL(when_) "status = 'CLAIMED', fence = 1, lease_until = " when_ ", due_at = lease_until"

static void jobs_free_expired__then_only_what_is_over_and_dead_after_the_last_attempt(void **state) {
    struct stand *stand = *state;
    uint64_t freed;
    add(stand->db, 1, CLAIMED_UNTIL(OVER) ", attempts = 1");
    add(stand->db, 2, CLAIMED_UNTIL(OVER) ", attempts = 2");
    add(stand->db, 3, CLAIMED_UNTIL(LATER) ", attempts = 2");
    add(stand->db, 4, "attempts = 2");
    MUST(jobs_free_expired(stand->db, &freed));
    assert_int_equal(freed, 2);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM jobs WHERE id = 1 AND status = 'READY' AND "
                                             "lease_until IS NULL AND due_at <= UTC_TIMESTAMP(6)"),
                     1);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM jobs WHERE id = 2 AND status = 'DEAD' AND due_at IS "
                                             "NULL"),
                     1);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM jobs WHERE id = 3 AND status = 'CLAIMED'"), 1);
    MUST(jobs_free_expired(stand->db, &freed));
    assert_int_equal(freed, 0);
}

static void jobs_free_expired__when_more_than_a_statement_takes__then_in_steps(void **state) {
    struct stand *stand = *state;
    uint64_t freed;
    MUST(db_begin(stand->db));
    for (int i = 1; i <= JOBS_SWEEP_MAX + 5; i++) add(stand->db, i, CLAIMED_UNTIL(OVER));
    MUST(db_commit(stand->db));
    MUST(jobs_free_expired(stand->db, &freed));
    assert_int_equal(freed, JOBS_SWEEP_MAX);
    MUST(jobs_free_expired(stand->db, &freed));
    assert_int_equal(freed, 5);
}

/* A row that somebody settles or claims at this moment is left to them. */
static void jobs_free_expired__when_a_row_is_held__then_passed_over(void **state) {
    struct stand *stand = *state;
    uint64_t freed;
    add(stand->db, 1, CLAIMED_UNTIL(OVER));
    add(stand->db, 2, CLAIMED_UNTIL(OVER));
    MUST(db_begin(stand->other));
    stand_run(stand->other, "UPDATE jobs SET owner = 'x' WHERE id = 1");
    MUST(jobs_free_expired(stand->db, &freed));
    assert_int_equal(freed, 1);
}

static void jobs_purge__then_what_was_done_long_ago_and_nothing_else(void **state) {
    struct stand *stand = *state;
    uint64_t deleted;
    add(stand->db, 1, "status = 'DONE', due_at = NULL, done_at = UTC_TIMESTAMP(6) - INTERVAL 8 DAY");
    add(stand->db, 2, "status = 'DONE', due_at = NULL, done_at = UTC_TIMESTAMP(6) - INTERVAL 9 DAY");
    add(stand->db, 3, "status = 'DONE', due_at = NULL, done_at = UTC_TIMESTAMP(6) - INTERVAL 6 DAY");
    add(stand->db, 4, "status = 'DEAD', due_at = NULL, created_at = UTC_TIMESTAMP(6) - INTERVAL 90 DAY");
    add(stand->db, 5, "created_at = UTC_TIMESTAMP(6) - INTERVAL 90 DAY");
    MUST(jobs_purge(stand->db, 1, &deleted));
    assert_int_equal(deleted, 1);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM jobs WHERE id = 2"), 0);
    MUST(jobs_purge(stand->db, 100, &deleted));
    assert_int_equal(deleted, 1);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM jobs"), 3);
}

static void jobs_add__when_the_twin_is_there__then_the_first_one(void **state) {
    struct stand *stand = *state;
    const struct job_new job = {.queue = "q", .payload = "{\"a\":1}", .dedupe_key = "k", .max_attempts = 1};
    struct queued_job first, second;
    bool created;
    MUST(jobs_add(stand->db, &job, &created, &first));
    assert_true(created);
    assert_string_equal(text_str(&first.payload), "{\"a\":1}");
    MUST(jobs_add(stand->other, &job, &created, &second));
    assert_false(created);
    assert_int_equal(second.id, first.id);
    text_done(&first.payload);
    text_done(&second.payload);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM jobs"), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STAND_TEST(jobs_free_expired__then_only_what_is_over_and_dead_after_the_last_attempt),
        STAND_TEST(jobs_free_expired__when_more_than_a_statement_takes__then_in_steps),
        STAND_TEST(jobs_free_expired__when_a_row_is_held__then_passed_over),
        STAND_TEST(jobs_purge__then_what_was_done_long_ago_and_nothing_else),
        STAND_TEST(jobs_add__when_the_twin_is_there__then_the_first_one),
    };
    return cmocka_run_group_tests(tests, stand_setup, stand_teardown);
}
