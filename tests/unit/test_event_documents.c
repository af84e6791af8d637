#include "codec/documents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static struct order_item items[] = {{7, 2, 450}};
static const struct order order = {.id = 42,
                                   .number = "ORD-1",
                                   .user_id = "u\\1",
                                   .total_amount = 900,
                                   .status = ORDER_SHIPPED,
                                   .expires_at_ms = INT64_C(1796040000000),
                                   .version = 3,
                                   .items = items,
                                   .item_count = 1};
#define ITEMS "\"items\":[{\"productId\":7,\"quantity\":2,\"unitPrice\":450}]"
#define USER "\"userId\":\"u\\\\1\""

static void document_order_created__when_written__then_payload(void **state) {
    AUTO_TEXT out = text_new(0);
    document_order_created(&out, &order);
    assert_string_equal(text_str(&out), "{\"orderId\":42,\"orderNumber\":\"ORD-1\"," USER ",\"totalAmount\":900," ITEMS
                                        ",\"expiresAt\":\"2026-11-30T12:00:00.000Z\"}");
}

static void document_order_cancelled__when_written__then_payload(void **state) {
    AUTO_TEXT out = text_new(0);
    document_order_cancelled(&out, &order, "too \"late\"");
    assert_string_equal(text_str(&out), "{\"orderId\":42,\"orderNumber\":\"ORD-1\"," USER "," ITEMS
                                        ",\"reason\":\"too \\\"late\\\"\"}");
}

static void document_payment_requested__when_written__then_payload(void **state) {
    AUTO_TEXT out = text_new(0);
    document_payment_requested(&out, &order);
    assert_string_equal(text_str(&out), "{\"orderId\":42," USER "}");
}

static void document_payment__when_written__then_payload(void **state) {
    const struct payment payment = {.order_id = 42, .payment_key = "k\"1", .amount = 900, .status = PAYMENT_APPROVED};
    AUTO_TEXT out = text_new(0);
    document_payment(&out, &order, &payment);
    assert_string_equal(text_str(&out), "{\"orderId\":42," USER ",\"paymentKey\":\"k\\\"1\",\"amount\":900}");
}

static void document_refund_required__when_written__then_payload(void **state) {
    const struct compensation row = {.order_id = 42, .reason = "PAID_BUT_CANCELLED", .payment_key = "k", .amount = 900};
    AUTO_TEXT out = text_new(0);
    document_refund_required(&out, &order, &row);
    assert_string_equal(text_str(&out), "{\"orderId\":42," USER ",\"paymentKey\":\"k\",\"amount\":900,"
                                        "\"reason\":\"PAID_BUT_CANCELLED\"}");
}

static void document_status_changed__when_written__then_payload(void **state) {
    AUTO_TEXT out = text_new(0);
    document_status_changed(&out, &order);
    assert_string_equal(text_str(&out), "{\"orderId\":42," USER ",\"status\":\"SHIPPED\"}");
}

static void document_stock_changed__when_written__then_payload(void **state) {
    const struct stock_row row = {.product_id = 7, .stock = 8, .version = 9};
    AUTO_TEXT out = text_new(0);
    document_stock_changed(&out, &row);
    assert_string_equal(text_str(&out), "{\"productId\":7,\"stock\":8,\"version\":9}");
}

static void document_reservation_result__when_written__then_payload(void **state) {
    struct line lines[] = {{7, 2}};
    const struct reservation row = {.ref = {"shop", "ext-42"},
                                    .status = RESERVATION_FAILED,
                                    .items = lines,
                                    .item_count = 1,
                                    .reason = "OUT_OF_STOCK"};
    AUTO_TEXT out = text_new(0);
    document_reservation_result(&out, &row, 1000);
    assert_string_equal(text_str(&out), "{\"orderId\":\"ext-42\",\"credential\":\"shop\",\"status\":\"FAILED\","
                                        "\"reserved\":false,\"items\":[{\"productId\":7,\"quantity\":2}],"
                                        "\"reason\":\"OUT_OF_STOCK\",\"decidedAt\":\"1970-01-01T00:00:01.000Z\","
                                        "\"reservationExpiresAt\":null}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document_order_created__when_written__then_payload),
        cmocka_unit_test(document_order_cancelled__when_written__then_payload),
        cmocka_unit_test(document_payment_requested__when_written__then_payload),
        cmocka_unit_test(document_payment__when_written__then_payload),
        cmocka_unit_test(document_refund_required__when_written__then_payload),
        cmocka_unit_test(document_status_changed__when_written__then_payload),
        cmocka_unit_test(document_stock_changed__when_written__then_payload),
        cmocka_unit_test(document_reservation_result__when_written__then_payload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
