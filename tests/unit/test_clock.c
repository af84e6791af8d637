/* The clock goes forward by itself and by shifts. */
#include "base/clock.h"

#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void clock_mono__when_read_twice__then_does_not_go_back(void **state) {
    int64_t first_us = clock_mono_us();
    assert_true(clock_mono_us() >= first_us);
    assert_true(first_us > 0);
}

static void clock_mono__when_read_in_both_units__then_they_agree(void **state) {
    int64_t before_us = clock_mono_us();
    int64_t now_ms = clock_mono_ms();
    int64_t after_us = clock_mono_us();
    assert_true(before_us / 1000 <= now_ms && now_ms <= after_us / 1000);
}

static void clock_wall__when_read__then_is_unix_time(void **state) {
    int64_t before = (int64_t)time(NULL);
    int64_t now_ms = clock_wall_ms();
    assert_true(now_ms / 1000 >= before - 1 && now_ms / 1000 <= before + 60);
}

static void clock_boot__when_read__then_not_behind_the_monotonic_one_and_shifted_with_it(void **state) {
    int64_t mono_ms = clock_mono_ms(), boot_ms = clock_boot_ms();
    assert_true(boot_ms >= mono_ms);
    clock_shift(3600000, 0);
    int64_t later_ms = clock_boot_ms();
    clock_shift(0, 0);
    assert_in_range(later_ms - boot_ms, 3600000, 3660000);
}

static void clock_shift__when_set__then_moves_each_clock_by_its_own(void **state) {
    int64_t mono_ms = clock_mono_ms(), wall_ms = clock_wall_ms();
    clock_shift(3600000, -7200000);
    int64_t mono_by = clock_mono_ms() - mono_ms, wall_by = clock_wall_ms() - wall_ms;
    int64_t mono_us = clock_mono_us();
    clock_shift(0, 0);
    assert_in_range(mono_by, 3600000, 3660000);
    assert_in_range(wall_by + 7200000, 0, 60000);
    assert_true(mono_us / 1000 - mono_ms >= 3600000);
    assert_true(clock_mono_ms() - mono_ms < 60000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_mono__when_read_twice__then_does_not_go_back),
        cmocka_unit_test(clock_mono__when_read_in_both_units__then_they_agree),
        cmocka_unit_test(clock_wall__when_read__then_is_unix_time),
        cmocka_unit_test(clock_boot__when_read__then_not_behind_the_monotonic_one_and_shifted_with_it),
        cmocka_unit_test(clock_shift__when_set__then_moves_each_clock_by_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
