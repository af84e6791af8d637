#include "unit.h"

#include "domain/schedule.h"

#include <string.h>

#define MINUTE 60000
#define DAY INT64_C(86400000)

static void schedule_name_is_good__when_odd__then_refused(void **state) {
    char longest[SCHEDULE_NAME_MAX + 2];
    memset(longest, 'n', sizeof longest);
    longest[SCHEDULE_NAME_MAX + 1] = '\0';
    assert_false(schedule_name_is_good(longest));
    longest[SCHEDULE_NAME_MAX] = '\0';
    assert_true(schedule_name_is_good(longest));
    static const char *const good[] = {"a", "orderTimeoutCancelJob", "team:nightly_report-2.1"};
    static const char *const bad[] = {"", " a", "a ", "a b", "a/b", "k\xc3\xa4se", "a\n", "a%", "a*"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) assert_true(schedule_name_is_good(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_false(schedule_name_is_good(bad[i]));
}

static void schedule_by_is_good__when_odd__then_refused(void **state) {
    char longest[SCHEDULE_BY_MAX + 2];
    memset(longest, 'n', sizeof longest);
    longest[SCHEDULE_BY_MAX + 1] = '\0';
    assert_false(schedule_by_is_good(longest));
    longest[SCHEDULE_BY_MAX] = '\0';
    assert_true(schedule_by_is_good(longest));
    assert_true(schedule_by_is_good("pod-1 on node 7"));
    static const char *const bad[] = {"", " a", "a ", "a\tb", "k\xc3\xa4se", "\x7f"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_false(schedule_by_is_good(bad[i]));
}

static void schedule_token_write__when_read__then_the_same(void **state) {
    static const int64_t least[] = {0, 1, 30000, SCHEDULE_AT_MOST_MS_MAX};
    const char hex[] = "0123456789abcdef0123456789abcdef";
    for (size_t i = 0; i < sizeof least / sizeof least[0]; i++) {
        char token[SCHEDULE_TOKEN_SIZE];
        int64_t at_least_ms = -1;
        schedule_token_write(hex, least[i], token);
        assert_memory_equal(token, hex, SCHEDULE_TOKEN_HEX);
        assert_true(schedule_token_read(token, &at_least_ms));
        assert_int_equal(at_least_ms, least[i]);
    }
}

static void schedule_token_read__when_none_of_ours__then_refused(void **state) {
    static const char *const bad[] = {"",
                                      "c0ffee00c0ffee00",
                                      "c0ffee00c0ffee00c0ffee00c0ffee00",
                                      "c0ffee00c0ffee00c0ffee00c0ffee00-",
                                      "c0ffee00c0ffee00c0ffee00c0ffee00--1",
                                      "c0ffee00c0ffee00c0ffee00c0ffee00-1x",
                                      "c0ffee00c0ffee00c0ffee00c0ffee00-01",
                                      "c0ffee00c0ffee00c0ffee00c0ffee00-86400001",
                                      "C0FFEE00c0ffee00c0ffee00c0ffee00-1"};
    int64_t at_least_ms;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (schedule_token_read(bad[i], &at_least_ms)) fail_msg("taken: %s", bad[i]);
}

static void schedule_round_of__when_anywhere_in_a_round__then_its_begin(void **state) {
    assert_int_equal(schedule_round_of(120000, MINUTE, 0), 120000);
    assert_int_equal(schedule_round_of(179999, MINUTE, 0), 120000);
    assert_int_equal(schedule_round_of(180000, MINUTE, 0), 180000);
    const int64_t half_past_three = 12600000;
    assert_int_equal(schedule_round_of(20000 * DAY + half_past_three - 1, DAY, half_past_three),
                     19999 * DAY + half_past_three);
    assert_int_equal(schedule_round_of(20000 * DAY + half_past_three, DAY, half_past_three),
                     20000 * DAY + half_past_three);
    /* a short period with the late begin of a long one */
    assert_int_equal(schedule_round_of(5500, 1000, half_past_three), 5000);
}

static void schedule_at_least_ms__when_the_period_is_short__then_room_is_left(void **state) {
    assert_int_equal(schedule_at_least_ms(30000, MINUTE), 30000);
    assert_int_equal(schedule_at_least_ms(4000, 5000), 4000);
    assert_int_equal(schedule_at_least_ms(30000, 1000), 800);
    assert_int_equal(schedule_at_least_ms(0, 1000), 0);
}

static void schedule_decide__when_rows_differ__then_run_or_wait(void **state) {
    static const struct {
        const char *what;
        struct schedule_row row;
        int64_t now_ms, round_ms, wait_ms;
    } cases[] = {
        {"never run", {0}, 130000, 120000, 0},
        {"run in an earlier round", {true, 60000, 90000}, 130000, 120000, 0},
        {"run in an earlier round, free at this moment", {true, 60000, 130000}, 130000, 120000, 0},
        {"run in this round at its very begin", {true, 120000, 121000}, 130000, 120000, 50000},
        {"run in this round and free", {true, 125000, 126000}, 130000, 120000, 50000},
        {"run in this round and held", {true, 125000, 725000}, 130000, 120000, 50000},
        {"held since an earlier round, beyond this one", {true, 60000, 660000}, 130000, 120000, 50000},
        {"held since an earlier round, not for long", {true, 60000, 130250}, 130000, 120000, 250},
        {"from a clock that is ahead", {true, 3720000, 3720001}, 130000, 120000, 50000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t round_ms = -1, wait_ms = -1;
        schedule_decide(cases[i].now_ms, MINUTE, 0, &cases[i].row, &round_ms, &wait_ms);
        if (round_ms != cases[i].round_ms || wait_ms != cases[i].wait_ms)
            fail_msg("%s: round %lld, wait %lld", cases[i].what, (long long)round_ms, (long long)wait_ms);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedule_name_is_good__when_odd__then_refused),
        cmocka_unit_test(schedule_by_is_good__when_odd__then_refused),
        cmocka_unit_test(schedule_token_write__when_read__then_the_same),
        cmocka_unit_test(schedule_token_read__when_none_of_ours__then_refused),
        cmocka_unit_test(schedule_round_of__when_anywhere_in_a_round__then_its_begin),
        cmocka_unit_test(schedule_at_least_ms__when_the_period_is_short__then_room_is_left),
        cmocka_unit_test(schedule_decide__when_rows_differ__then_run_or_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
