#include "unit.h"

#include "store/balance.h"

#include <string.h>

/* A product whose books are in order; each test breaks one thing. */
static struct balance sound(void) {
    return (struct balance){.product_id = 7,
                            .has_row = true,
                            .stock = 90,
                            .version = 4,
                            .ledger_stock = 90,
                            .ledger_version = 4,
                            .moved = 90,
                            .moved_by_orders = -10,
                            .held = 10};
}

static void assert_only(const struct balance *b, const char *kind) {
    struct audit_finding findings[BALANCE_FINDINGS_MAX];
    assert_int_equal(balance_judge(b, findings), 1);
    assert_string_equal(findings[0].kind, kind);
    assert_int_equal(findings[0].product_id, b->product_id);
}

static void balance_judge__when_books_agree__then_nothing(void **state) {
    struct balance b = sound(),
                   untouched = {.product_id = 8, .has_row = true, .stock = 5, .ledger_stock = -1, .ledger_version = -1};
    struct audit_finding findings[BALANCE_FINDINGS_MAX];
    assert_int_equal(balance_judge(&b, findings), 0);
    assert_int_equal(balance_judge(&untouched, findings), 0);
}

static void balance_judge__when_stock_is_negative__then_negative_stock(void **state) {
    struct balance b = sound();
    b.stock = b.ledger_stock = b.moved = -1;
    assert_only(&b, "negative-stock");
}

static void balance_judge__when_movements_do_not_add_up__then_ledger_differs(void **state) {
    struct balance b = sound();
    b.moved = 91;
    assert_only(&b, "ledger-differs");
}

static void balance_judge__when_stock_changed_without_version__then_ledger_differs(void **state) {
    struct balance b = sound();
    b.stock = 89;
    assert_only(&b, "ledger-differs");
}

static void balance_judge__when_version_went_back__then_ledger_differs(void **state) {
    struct balance b = sound();
    b.version = 3;
    assert_only(&b, "ledger-differs");
}

static void balance_judge__when_movements_have_no_stock_row__then_ledger_differs(void **state) {
    struct balance b = {.product_id = 9, .ledger_stock = -1, .ledger_version = -1, .moved = 3};
    assert_only(&b, "ledger-differs");
}

static void balance_judge__when_orders_hold_more_than_was_moved__then_orders_differ(void **state) {
    struct balance b = sound();
    struct audit_finding findings[BALANCE_FINDINGS_MAX];
    b.held = 11;
    assert_only(&b, "orders-differ");
    balance_judge(&b, findings);
    assert_int_equal(findings[0].ledger, 10);
    assert_int_equal(findings[0].expected, 11);
}

static void balance_judge__when_a_writer_moved_the_version__then_foreign_only(void **state) {
    struct balance b = sound();
    b.stock = 50;
    b.version = 5;
    assert_only(&b, "foreign");
}

static void balances_of__when_asked_in_any_order__then_sorted_without_duplicates(void **state) {
    __attribute__((cleanup(balances_done))) struct balances b = {0};
    for (int64_t i = 0; i < 1000; i++) balances_of(&b, i * 7919 % 500)->held++;
    assert_int_equal(b.count, 500);
    for (size_t i = 0; i < b.count; i++) {
        assert_int_equal(b.rows[i].product_id, i);
        assert_int_equal(b.rows[i].held, 2);
        assert_int_equal(b.rows[i].ledger_version, -1);
    }
}

static void balance_judge__when_reservations_hold_more_than_was_moved__then_reservations_differ(void **state) {
    struct audit_finding findings[BALANCE_FINDINGS_MAX];
    struct balance b = {.product_id = 7,
                        .has_row = true,
                        .stock = 8,
                        .ledger_stock = 8,
                        .moved = 8,
                        .version = 1,
                        .ledger_version = 1,
                        .moved_by_reservations = -2,
                        .reserved = 3};
    assert_int_equal(balance_judge(&b, findings), 1);
    assert_string_equal(findings[0].kind, "reservations-differ");
    assert_int_equal(findings[0].ledger, 2);
    assert_int_equal(findings[0].expected, 3);
    b.reserved = 2;
    assert_int_equal(balance_judge(&b, findings), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balance_judge__when_books_agree__then_nothing),
        cmocka_unit_test(balance_judge__when_stock_is_negative__then_negative_stock),
        cmocka_unit_test(balance_judge__when_movements_do_not_add_up__then_ledger_differs),
        cmocka_unit_test(balance_judge__when_stock_changed_without_version__then_ledger_differs),
        cmocka_unit_test(balance_judge__when_version_went_back__then_ledger_differs),
        cmocka_unit_test(balance_judge__when_movements_have_no_stock_row__then_ledger_differs),
        cmocka_unit_test(balance_judge__when_orders_hold_more_than_was_moved__then_orders_differ),
        cmocka_unit_test(balance_judge__when_a_writer_moved_the_version__then_foreign_only),
        cmocka_unit_test(balances_of__when_asked_in_any_order__then_sorted_without_duplicates),
        cmocka_unit_test(balance_judge__when_reservations_hold_more_than_was_moved__then_reservations_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
