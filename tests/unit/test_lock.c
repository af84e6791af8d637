#include "unit.h"

#include "domain/lock.h"

#include <string.h>

static void lock_name_fault__when_odd__then_said(void **state) {
    char longest[LOCK_NAME_MAX + 1], longer[LOCK_NAME_MAX + 2];
    memset(longest, 'n', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    memset(longer, 'n', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    static const char *const good[] = {"a", "a/b", "k\xc3\xa4se", "inventory-lock:1", "lockstock", "a b", ":"};
    static const char *const bad[] = {"", " a", "a ", " ", "a{b", "a}b", "lockstock:", "lockstock:x", "a\nb", "\xff"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) assert_null(lock_name_fault(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_non_null(lock_name_fault(bad[i]));
    assert_null(lock_name_fault(longest));
    assert_non_null(lock_name_fault(longer));
    assert_true(lock_name_is_stock("inventory-lock:7"));
    assert_false(lock_name_is_stock("inventory-loc"));
}

static void lock_token_is_good__when_length_or_letters_differ__then_told_apart(void **state) {
    char text[LOCK_TOKEN_MAX + 2];
    memset(text, 'a', sizeof text);
    text[LOCK_TOKEN_MAX + 1] = '\0';
    assert_false(lock_token_is_good(text));
    text[LOCK_TOKEN_MAX] = '\0';
    assert_true(lock_token_is_good(text));
    text[LOCK_TOKEN_MIN] = '\0';
    assert_true(lock_token_is_good(text));
    text[LOCK_TOKEN_MIN - 1] = '\0';
    assert_false(lock_token_is_good(text));
    assert_true(lock_token_is_good("ABCxyz019_-aaaaa"));
    assert_false(lock_token_is_good("ABCxyz019_-aaaa "));
    assert_false(lock_token_is_good("ABCxyz019_-aaaa\xc3\xa4"));
}

static void lock_fence__when_epochs_grow__then_fences_do_and_stay_exact(void **state) {
    assert_int_equal(lock_fence(1, 0), INT64_C(4294967296));
    assert_true(lock_fence(2, 1) > lock_fence(1, LOCK_FENCE_SPAN - 1));
    int64_t last = lock_fence(LOCK_EPOCH_MAX - 1, LOCK_FENCE_SPAN - 1);
    assert_true(last < INT64_C(9007199254740992));
    assert_int_equal((int64_t)(double)last, last);
}

static void lock_marker_parse__when_malformed__then_refused(void **state) {
    static const char *const bad[] = {"", ":", "1", "1:", ":x", "0:x", "-1:x", "x:1", "01:x", "9999999:x", "1.5:x"};
    int64_t epoch = 0;
    const char *run_id = NULL;
    assert_true(lock_marker_parse("17:abc:d", &epoch, &run_id));
    assert_int_equal(epoch, 17);
    assert_string_equal(run_id, "abc:d");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_false(lock_marker_parse(bad[i], &epoch, &run_id));
}

static void lock_safe_for_ms__when_time_passes__then_less_than_is_left_and_never_negative(void **state) {
    assert_int_equal(lock_safe_for_ms(30000, 0), 30000 - 300 - 5);
    assert_int_equal(lock_safe_for_ms(30000, 1000), 30000 - 1000 - 300 - 5);
    assert_int_equal(lock_safe_for_ms(100, 0), 94);
    assert_int_equal(lock_safe_for_ms(100, 94), 0);
    assert_int_equal(lock_safe_for_ms(100, 95), 0);
    assert_int_equal(lock_safe_for_ms(0, 0), 0);
    assert_int_equal(lock_safe_for_ms(100, 100000), 0);
}

static void words__then_as_in_the_api(void **state) {
    assert_string_equal(lock_kind_name(LOCK_KIND_LOCK), "lock");
    assert_string_equal(lock_kind_name(LOCK_KIND_FAIR), "fair");
    assert_string_equal(lock_kind_name(LOCK_KIND_RW), "rw");
    assert_string_equal(lock_kind_name(LOCK_KIND_SEMAPHORE), "semaphore");
    assert_string_equal(lock_mode_name(LOCK_MODE_EXCLUSIVE), "exclusive");
    assert_string_equal(lock_mode_name(LOCK_MODE_SHARED), "shared");
    assert_string_equal(lock_kind_name(LOCK_KIND_DATABASE), "database");
    assert_string_equal(lock_safety_name(LOCK_SAFETY_REDIS), "redis");
    assert_string_equal(lock_safety_name(LOCK_SAFETY_DATABASE), "database");
    assert_string_equal(lock_safety_name(LOCK_SAFETY_NONE), "none");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lock_name_fault__when_odd__then_said),
        cmocka_unit_test(lock_token_is_good__when_length_or_letters_differ__then_told_apart),
        cmocka_unit_test(lock_fence__when_epochs_grow__then_fences_do_and_stay_exact),
        cmocka_unit_test(lock_marker_parse__when_malformed__then_refused),
        cmocka_unit_test(lock_safe_for_ms__when_time_passes__then_less_than_is_left_and_never_negative),
        cmocka_unit_test(words__then_as_in_the_api),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
