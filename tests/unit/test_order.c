/* domain/order.c: states, numbers, totals, merging. */
#include "domain/order.h"
#include "unit.h"

static void order_may_follow__every_pair__is_the_table_of_the_api(void **state) {
    static const char *const pairs[] = {"01", "07", "12", "13", "17", "24", "37", "45", "56"};
    for (int from = 0; from < ORDER_STATUS_COUNT; from++)
        for (int to = 0; to < ORDER_STATUS_COUNT; to++) {
            bool want = false;
            for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
                want |= pairs[i][0] - '0' == from && pairs[i][1] - '0' == to;
            assert_int_equal(order_may_follow((enum order_status)from, (enum order_status)to), want);
        }
}

static void order_status_parse__every_name__comes_back(void **state) {
    for (int i = 0; i < ORDER_STATUS_COUNT; i++) {
        enum order_status parsed;
        assert_true(order_status_parse(order_status_name((enum order_status)i), &parsed));
        assert_int_equal(parsed, i);
    }
    enum order_status parsed;
    assert_false(order_status_parse("pending", &parsed));
}

static void order_number__of_an_id__names_the_utc_day_and_the_id(void **state) {
    char number[ORDER_NUMBER_SIZE];
    order_number(42, INT64_C(1796083199000), number); /* 2026-11-30T23:59:59Z */
    assert_string_equal(number, "ORD-20261130-1A");
}

static void order_total__beyond_the_bound__is_refused(void **state) {
    int64_t total = 0;
    struct order_item fits[] = {{1, 2, 500}, {2, 1, 3}};
    assert_true(order_total(fits, 2, &total));
    assert_int_equal(total, 1003);
    struct order_item overflows[] = {{1, QUANTITY_MAX, MONEY_MAX}};
    assert_false(order_total(overflows, 1, &total));
    struct order_item adds_up[] = {{1, 1, MONEY_MAX}, {2, 1, 1}};
    assert_false(order_total(adds_up, 2, &total));
}

static void lines_merge__duplicates__are_summed_and_sorted(void **state) {
    struct line lines[] = {{9, 1}, {2, 5}, {9, 3}};
    size_t count = 3;
    assert_true(lines_merge(lines, &count));
    assert_int_equal(count, 2);
    assert_int_equal(lines[0].product_id, 2);
    assert_int_equal(lines[1].quantity, 4);
}

static void lines_merge__sum_above_the_maximum__is_refused(void **state) {
    struct line lines[] = {{1, QUANTITY_MAX}, {1, 1}};
    size_t count = 2;
    assert_false(lines_merge(lines, &count));
}

static void is_overdue__by_state_and_time(void **state) {
    struct order order = {.status = ORDER_PENDING, .ordered_at_ms = 500, .expires_at_ms = 1000};
    assert_false(order_is_overdue(&order, ORDER_PENDING, 0, 1000));
    assert_true(order_is_overdue(&order, ORDER_PENDING, 0, 1001));
    assert_false(order_is_overdue(&order, ORDER_PAYMENT_REQUESTED, 0, 9999));
    order.status = ORDER_PAYMENT_REQUESTED;
    assert_true(order_is_overdue(&order, ORDER_PAYMENT_REQUESTED, 100, 601)); /* no time of asking: since it was made */
    order.payment_requested_at_ms = 2000;
    assert_false(order_is_overdue(&order, ORDER_PAYMENT_REQUESTED, 100, 2100));
    assert_true(order_is_overdue(&order, ORDER_PAYMENT_REQUESTED, 100, 2101));
    assert_false(order_is_overdue(&order, ORDER_PENDING, 0, 9999));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_may_follow__every_pair__is_the_table_of_the_api),
        cmocka_unit_test(order_status_parse__every_name__comes_back),
        cmocka_unit_test(order_number__of_an_id__names_the_utc_day_and_the_id),
        cmocka_unit_test(order_total__beyond_the_bound__is_refused),
        cmocka_unit_test(lines_merge__duplicates__are_summed_and_sorted),
        cmocka_unit_test(lines_merge__sum_above_the_maximum__is_refused),
        cmocka_unit_test(is_overdue__by_state_and_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
