/* facade/ids.c: order ids are used in order and not thrown away. */
#include "facade/ids.h"
#include "unit.h"

static void take__from_the_lowest_range_that_suffices(void **state) {
    struct ids ids = {0};
    ids_give(&ids, (struct id_range){2000, 3000});
    ids_give(&ids, (struct id_range){1000, 1005});
    struct id_range taken = ids_take(&ids, 3);
    assert_int_equal(taken.next, 1000);
    assert_int_equal(taken.end, 1003);
    assert_int_equal(ids_take(&ids, 3).next, 2000);
    assert_int_equal(ids_take(&ids, 2).next, 1003);
    assert_int_equal(ids.count, 1);
}

static void take__more_than_any_has__is_empty(void **state) {
    struct ids ids = {0};
    ids_give(&ids, (struct id_range){1, 5});
    struct id_range taken = ids_take(&ids, 5);
    assert_int_equal(taken.next, taken.end);
    taken = ids_take(&ids, 0);
    assert_int_equal(taken.next, taken.end);
    assert_int_equal(ids_take(&ids, 4).next, 1);
}

static void give__what_touches__is_joined(void **state) {
    struct ids ids = {0};
    ids_give(&ids, (struct id_range){10, 20});
    struct id_range taken = ids_take(&ids, 4);
    taken.next = 11; /* one was used */
    ids_give(&ids, taken);
    assert_int_equal(ids.count, 1);
    assert_int_equal(ids_take(&ids, 9).next, 11);
}

static void give__an_empty_range__is_nothing(void **state) {
    struct ids ids = {0};
    ids_give(&ids, (struct id_range){7, 7});
    assert_int_equal(ids.count, 0);
}

static void give__beyond_the_room__lets_the_smallest_go(void **state) {
    struct ids ids = {0};
    for (int64_t i = 0; i < ID_RANGES_MAX; i++) ids_give(&ids, (struct id_range){i * 100, i * 100 + 10 + i});
    ids_give(&ids, (struct id_range){5000, 5005}); /* smaller than all */
    ids_give(&ids, (struct id_range){6000, 6050});
    assert_int_equal(ids.count, ID_RANGES_MAX);
    assert_int_equal(ids_take(&ids, 1).next, 100);
    assert_int_equal(ids_take(&ids, 50).next, 6000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(take__from_the_lowest_range_that_suffices),
        cmocka_unit_test(take__more_than_any_has__is_empty),
        cmocka_unit_test(give__what_touches__is_joined),
        cmocka_unit_test(give__an_empty_range__is_nothing),
        cmocka_unit_test(give__beyond_the_room__lets_the_smallest_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
