#include "unit.h"

#include "store/many.h"

static void db_chunk__when_n__then_largest_power_of_two_not_above(void **state) {
    static const size_t cases[][3] = {/* n, down, up */
                                      {1, 1, 1},       {2, 2, 2},       {3, 2, 4},      {127, 64, 128},
                                      {128, 128, 128}, {255, 128, 256}, {256, 256, 256}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(db_chunk(cases[i][0]), cases[i][1]);
        assert_int_equal(db_chunk_up(cases[i][0]), cases[i][2]);
    }
}

static void db_chunk__when_above_the_largest__then_the_largest(void **state) {
    assert_int_equal(db_chunk(257), DB_CHUNK_MAX);
    assert_int_equal(db_chunk(100000), DB_CHUNK_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(db_chunk__when_n__then_largest_power_of_two_not_above),
        cmocka_unit_test(db_chunk__when_above_the_largest__then_the_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
