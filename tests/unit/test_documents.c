#include "codec/documents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define NOON INT64_C(1796040000000)
#define NOON_TEXT "\"2026-11-30T12:00:00.000Z\""

static void document_order__when_payment_was_requested_or_not__then_the_field_is_there_or_not(void **state) {
    struct order_item items[] = {{7, 2, 450}, {9, 1, 100}};
    struct order order = {.id = 42,
                          .number = "ORD-20261130-1A",
                          .user_id = "u-\"1",
                          .total_amount = 1000,
                          .status = ORDER_PENDING,
                          .ordered_at_ms = NOON,
                          .expires_at_ms = NOON + 1800000,
                          .version = 3,
                          .items = items,
                          .item_count = 2};
    AUTO_TEXT out = text_new(0);
    document_order(&out, &order);
    assert_string_equal(text_str(&out),
                        "{\"id\":42,\"orderNumber\":\"ORD-20261130-1A\",\"status\":\"PENDING\",\"userId\":\"u-\\\"1\","
                        "\"items\":[{\"productId\":7,\"quantity\":2,\"unitPrice\":450},{\"productId\":9,\"quantity\":1,"
                        "\"unitPrice\":100}],"
                        "\"totalAmount\":1000,\"createdAt\":" NOON_TEXT
                        ",\"expiresAt\":\"2026-11-30T12:30:00.000Z\",\"version\":3}");
    order.payment_requested_at_ms = NOON + 1;
    order.status = ORDER_PAYMENT_REQUESTED;
    text_clear(&out);
    document_order(&out, &order);
    assert_non_null(strstr(text_str(&out), ",\"paymentRequestedAt\":\"2026-11-30T12:00:00.001Z\",\"version\":3}"));
    assert_non_null(strstr(text_str(&out), "\"status\":\"PAYMENT_REQUESTED\""));
}

static void document_order__when_text_is_not_empty__then_appended(void **state) {
    const struct order order = {.id = 1};
    AUTO_TEXT out = text_new(0);
    text_add_char(&out, '[');
    document_order(&out, &order);
    assert_int_equal(strncmp(text_str(&out), "[{\"id\":1,", 9), 0);
}

static void document_product__when_written__then_all_fields(void **state) {
    const struct product product = {.id = 7,
                                    .name = "T\xc3\xa9 \\",
                                    .price = 450,
                                    .status = "ON_SALE",
                                    .version = 1,
                                    .created_at_ms = NOON,
                                    .updated_at_ms = NOON};
    AUTO_TEXT out = text_new(0);
    document_product(&out, &product);
    assert_string_equal(
        text_str(&out),
        "{\"productId\":7,\"name\":\"T\xc3\xa9 \\\\\",\"price\":450,\"status\":\"ON_SALE\",\"version\":1,"
        "\"createdAt\":" NOON_TEXT ",\"updatedAt\":" NOON_TEXT "}");
}

static void document_stock__when_written__then_all_fields(void **state) {
    const struct stock_row row = {.product_id = 7, .stock = 0, .version = 12, .updated_at_ms = NOON};
    AUTO_TEXT out = text_new(0);
    document_stock(&out, &row);
    assert_string_equal(text_str(&out), "{\"productId\":7,\"stock\":0,\"version\":12,\"updatedAt\":" NOON_TEXT "}");
}

static void document_movement__when_reference_varies__then_order_id_or_null(void **state) {
    static const struct {
        const char *order_ref, *reason, *order_id, *shown_reason;
    } rows[] = {
        {"o:42", "", "42", "null"},
        {"o:9007199254740991", "", "9007199254740991", "null"},
        {"r:billing:ext-42", "", "null", "null"},
        {"r:o:42", "", "null", "null"},
        {"", "found \"it\"", "null", "\"found \\\"it\\\"\""},
        {"o:", "", "null", "null"},
        {"o:4x", "", "null", "null"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct movement_row row = {
            .id = 5,
            .movement = {.product_id = 7, .kind = MOVEMENT_ORDER, .delta = -2, .stock_after = 8, .version = 4},
            .at_ms = NOON};
        assert_true(text_format(row.movement.order_ref, sizeof row.movement.order_ref, "%s", rows[i].order_ref));
        assert_true(text_format(row.movement.reason, sizeof row.movement.reason, "%s", rows[i].reason));
        AUTO_TEXT out = text_new(0), expected = text_new(0);
        document_movement(&out, &row);
        text_addf(
            &expected,
            "{\"id\":5,\"kind\":\"ORDER\",\"delta\":-2,\"stockAfter\":8,\"version\":4,\"orderId\":%s,\"reason\":%s,"
            "\"at\":" NOON_TEXT "}",
            rows[i].order_id, rows[i].shown_reason);
        assert_string_equal(text_str(&out), text_str(&expected));
    }
}

static void document_compensation__when_open_or_resolved__then_time_or_null(void **state) {
    struct compensation row = {.id = 3,
                               .order_id = 42,
                               .reason = "PAID_TWICE",
                               .status = "OPEN",
                               .payment_key = "k/1",
                               .amount = 900,
                               .detected_at_ms = NOON};
    AUTO_TEXT out = text_new(0);
    document_compensation(&out, &row);
    assert_string_equal(text_str(&out),
                        "{\"id\":3,\"orderId\":42,\"reason\":\"PAID_TWICE\",\"status\":\"OPEN\",\"paymentKey\":\"k/1\","
                        "\"amount\":900,\"detectedAt\":" NOON_TEXT ",\"resolvedAt\":null}");
    row.resolved_at_ms = NOON;
    text_clear(&out);
    document_compensation(&out, &row);
    assert_non_null(strstr(text_str(&out), "\"resolvedAt\":" NOON_TEXT "}"));
}

static void document_finding__when_written__then_all_fields(void **state) {
    const struct audit_finding finding = {"negative-stock", 7, -1, 2, 3};
    AUTO_TEXT out = text_new(0);
    document_finding(&out, &finding);
    assert_string_equal(text_str(&out),
                        "{\"kind\":\"negative-stock\",\"productId\":7,\"stock\":-1,\"ledger\":2,\"expected\":3}");
}

static void document_problem__when_inputs_vary__then_the_table_speaks(void **state) {
    static const struct {
        enum error error;
        const char *detail, *request_id, *extras, *out;
    } rows[] = {
        {ERROR_NOT_FOUND, "No \"x\".", "r1", NULL,
         "{\"type\":\"/problems/not-found\",\"title\":\"Not found\",\"status\":404,\"code\":\"SYS-013\","
         "\"detail\":\"No \\\"x\\\".\",\"requestId\":\"r1\"}"},
        {ERROR_NOT_FOUND, NULL, NULL, "",
         "{\"type\":\"/problems/not-found\",\"title\":\"Not found\",\"status\":404,\"code\":\"SYS-013\","
         "\"detail\":\"Check the id.\",\"requestId\":null}"},
        {ERROR_INSUFFICIENT_STOCK, "d", "r2", "\"productId\":7,\"available\":0",
         "{\"type\":\"/problems/insufficient-stock\",\"title\":\"Insufficient stock\",\"status\":409,"
         "\"code\":\"PRD-002\",\"detail\":\"d\",\"requestId\":\"r2\",\"productId\":7,\"available\":0}"},
        {ERROR_COMMIT_UNKNOWN, "d", "r3", NULL,
         "{\"type\":\"/problems/outcome-unknown\",\"title\":\"Outcome unknown\",\"status\":503,"
         "\"code\":\"SYS-012\",\"detail\":\"d\",\"requestId\":\"r3\"}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_TEXT out = text_new(0);
        document_problem(&out, rows[i].error, rows[i].detail, rows[i].request_id, rows[i].extras);
        assert_string_equal(text_str(&out), rows[i].out);
    }
}

static void document_reservation__when_reserved_or_ended__then_what_is_left_or_when(void **state) {
    struct line items[] = {{7, 2}};
    struct reservation row = {.ref = {"shop", "ext-42"},
                              .items = items,
                              .item_count = 1,
                              .version = 1,
                              .created_at_ms = 1000,
                              .expires_at_ms = 3000};
    AUTO_TEXT out = text_new(0);
    document_reservation(&out, &row, 2500);
    assert_string_equal(text_str(&out),
                        "{\"orderId\":\"ext-42\",\"status\":\"RESERVED\",\"items\":[{\"productId\":7,\"quantity\":2}],"
                        "\"reason\":null,\"createdAt\":\"1970-01-01T00:00:01.000Z\","
                        "\"expiresAt\":\"1970-01-01T00:00:03.000Z\",\"expiresInMs\":500,\"confirmedAt\":null,"
                        "\"releasedAt\":null,\"version\":1}");
    text_clear(&out);
    document_reservation(&out, &row, 9000);
    assert_non_null(strstr(text_str(&out), "\"expiresInMs\":0,"));
    row = (struct reservation){.ref = {"shop", "x"},
                               .status = RESERVATION_CANCEL_REQUESTED,
                               .reason = "CANCELLED",
                               .created_at_ms = 1000,
                               .version = 1};
    text_clear(&out);
    document_reservation(&out, &row, 9000);
    assert_string_equal(text_str(&out), "{\"orderId\":\"x\",\"status\":\"CANCEL_REQUESTED\",\"items\":[],"
                                        "\"reason\":\"CANCELLED\",\"createdAt\":\"1970-01-01T00:00:01.000Z\","
                                        "\"expiresAt\":null,\"confirmedAt\":null,\"releasedAt\":null,\"version\":1}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document_order__when_payment_was_requested_or_not__then_the_field_is_there_or_not),
        cmocka_unit_test(document_order__when_text_is_not_empty__then_appended),
        cmocka_unit_test(document_product__when_written__then_all_fields),
        cmocka_unit_test(document_stock__when_written__then_all_fields),
        cmocka_unit_test(document_movement__when_reference_varies__then_order_id_or_null),
        cmocka_unit_test(document_compensation__when_open_or_resolved__then_time_or_null),
        cmocka_unit_test(document_finding__when_written__then_all_fields),
        cmocka_unit_test(document_problem__when_inputs_vary__then_the_table_speaks),
        cmocka_unit_test(document_reservation__when_reserved_or_ended__then_what_is_left_or_when),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
