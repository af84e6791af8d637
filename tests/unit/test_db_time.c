#include "unit.h"

#include "store/db_time.h"

static void civil_of__when_known_moments__then_their_parts(void **state) {
    static const struct {
        int64_t ms;
        struct civil civil;
    } cases[] = {
        {0, {1970, 1, 1, 0, 0, 0, 0}},
        {-1, {1969, 12, 31, 23, 59, 59, 999000}},
        {951827696123, {2000, 2, 29, 12, 34, 56, 123000}},
        {1735689599000, {2024, 12, 31, 23, 59, 59, 0}},
        {4107542400000, {2100, 3, 1, 0, 0, 0, 0}},
        {253402300799999, {9999, 12, 31, 23, 59, 59, 999000}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct civil c = civil_of(cases[i].ms);
        assert_memory_equal(&c, &cases[i].civil, sizeof c);
        assert_int_equal(civil_to_ms(&c), cases[i].ms);
    }
}

static void civil_of__when_every_day_of_500_years__then_back_again(void **state) {
    unsigned last_day = 0;
    for (int64_t day = -100 * 365; day < 400 * 365; day++) {
        struct civil c = civil_of(day * 86400000 + 1);
        assert_int_equal(civil_to_ms(&c), day * 86400000 + (c.microsecond / 1000));
        assert_int_not_equal(c.day, last_day);
        last_day = c.day;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(civil_of__when_known_moments__then_their_parts),
        cmocka_unit_test(civil_of__when_every_day_of_500_years__then_back_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
