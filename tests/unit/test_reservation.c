/* domain/reservation.c: names, sameness, keys and references of reservations. */
#include "base/text.h"
#include "domain/reservation.h"
#include "domain/stock.h"
#include "unit.h"

#include <string.h>

static struct reservation_ref ref(const char *credential, const char *order_id) {
    struct reservation_ref out;
    (void)text_copy(out.credential, sizeof out.credential, credential);
    (void)text_copy(out.order_id, sizeof out.order_id, order_id);
    return out;
}

static void status__each__has_a_name_that_reads_back(void **state) {
    for (int i = 0; i < RESERVATION_STATUS_COUNT; i++) {
        enum reservation_status status = RESERVATION_STATUS_COUNT;
        assert_true(reservation_status_parse(reservation_status_name((enum reservation_status)i), &status));
        assert_int_equal(status, i);
    }
    enum reservation_status none = RESERVATION_FAILED;
    assert_false(reservation_status_parse("PENDING", &none));
    assert_int_equal(none, RESERVATION_FAILED);
}

static void holds_stock__reserved_and_confirmed__alone(void **state) {
    for (int i = 0; i < RESERVATION_STATUS_COUNT; i++)
        assert_int_equal(reservation_holds_stock((enum reservation_status)i),
                         i == RESERVATION_RESERVED || i == RESERVATION_CONFIRMED);
}

static void compare__orders_by_credential_then_order(void **state) {
    struct reservation_ref a = ref("a", "2"), b = ref("a", "3"), c = ref("b", "1");
    assert_true(reservation_compare(&a, &b) < 0);
    assert_true(reservation_compare(&b, &c) < 0);
    assert_true(reservation_compare(&c, &a) > 0);
    assert_int_equal(reservation_compare(&a, &a), 0);
}

static void has_items__any_difference__is_seen(void **state) {
    struct line items[] = {{1, 2}, {3, 4}};
    struct reservation reservation = {.items = items, .item_count = 2};
    assert_true(reservation_has_items(&reservation, items, 2));
    assert_false(reservation_has_items(&reservation, items, 1));
    assert_false(reservation_has_items(&reservation, (struct line[]){{1, 2}, {3, 5}}, 2));
    assert_false(reservation_has_items(&reservation, (struct line[]){{1, 2}, {2, 4}}, 2));
}

static void is_overdue__only_reserved_and_only_past_the_grace(void **state) {
    struct reservation reservation = {.status = RESERVATION_RESERVED, .expires_at_ms = 1000};
    assert_false(reservation_is_overdue(&reservation, 500, 1500));
    assert_true(reservation_is_overdue(&reservation, 500, 1501));
    for (int i = 0; i < RESERVATION_STATUS_COUNT; i++) {
        reservation.status = (enum reservation_status)i;
        assert_int_equal(reservation_is_overdue(&reservation, 500, 99999), i == RESERVATION_RESERVED);
    }
}

static void key__is_below_every_order_and_tells_refs_apart(void **state) {
    struct reservation_ref refs[] = {ref("a", "bc"), ref("ab", "c"), ref("a", "b"), ref("", "abc")};
    for (size_t i = 0; i < 4; i++) {
        assert_true(reservation_key(&refs[i]) < -SAFE_INTEGER_MAX);
        for (size_t k = 0; k < i; k++) assert_int_not_equal(reservation_key(&refs[i]), reservation_key(&refs[k]));
    }
}

static void stock_ref__whatever_the_credential__is_unambiguous(void **state) {
    char out[ORDER_REF_SIZE];
    struct reservation_ref plain = ref("shop", "42"), left = ref("a:b", "c"), right = ref("a", "b:c");
    reservation_stock_ref(&plain, out);
    assert_string_equal(out, "r:shop:42");
    reservation_stock_ref(&left, out);
    assert_string_equal(out, "r3:a:b:c");
    reservation_stock_ref(&right, out);
    assert_string_equal(out, "r:a:b:c");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status__each__has_a_name_that_reads_back),
        cmocka_unit_test(holds_stock__reserved_and_confirmed__alone),
        cmocka_unit_test(compare__orders_by_credential_then_order),
        cmocka_unit_test(has_items__any_difference__is_seen),
        cmocka_unit_test(is_overdue__only_reserved_and_only_past_the_grace),
        cmocka_unit_test(key__is_below_every_order_and_tells_refs_apart),
        cmocka_unit_test(stock_ref__whatever_the_credential__is_unambiguous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
