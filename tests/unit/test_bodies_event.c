#include "unit.h"

#include "codec/bodies_event.h"

#include <stdlib.h>
#include <string.h>

static struct result read_body(const char *body, struct field_errors *errors, struct event_body *ret) {
    return body_event(body, strlen(body), errors, ret);
}

static struct event_body read_good(const char *body) {
    struct field_errors errors;
    struct event_body event;
    struct result result = read_body(body, &errors, &event);
    if (failed(result)) fail_msg("%s: %s %s", body, errors.list[0].pointer, errors.list[0].detail);
    return event;
}

#define EVENT(type, payload) "{\"eventId\":\"e-1\",\"eventType\":\"" type "\",\"payload\":" payload "}"

static void payment__when_the_order_is_a_number__then_of_our_order(void **state) {
    struct event_body event =
        read_good(EVENT("payment.completed", "{\"orderId\":42,\"paymentKey\":\"k\",\"amount\":7,\"method\":\"card\"}"));
    assert_string_equal(event.event_id, "e-1");
    assert_int_equal(event.effect, INBOX_PAYMENT);
    assert_true(event.completed);
    assert_int_equal(event.order_number, 42);
    assert_string_equal(event.payment_key, "k");
    assert_int_equal(event.amount, 7);
    event = read_good(EVENT("payment.failed", "{\"orderId\":42,\"paymentKey\":\"k\",\"amount\":7}"));
    assert_int_equal(event.effect, INBOX_PAYMENT);
    assert_false(event.completed);
}

static void payment__when_the_order_is_a_text__then_of_a_reservation(void **state) {
    struct event_body event = read_good(EVENT("payment.completed", "{\"orderId\":\"ext-42\"}"));
    assert_int_equal(event.effect, INBOX_CONFIRM);
    assert_string_equal(event.order_id, "ext-42");
    assert_int_equal(read_good(EVENT("payment.failed", "{\"orderId\":\"ext-42\"}")).effect, INBOX_RELEASE);
}

static void order__when_created__then_a_reservation_of_its_lines(void **state) {
    struct event_body event = read_good(
        EVENT("order.created", "{\"orderId\":\"x\",\"items\":[{\"productId\":2,\"quantity\":1,\"unitPrice\":5},"
                               "{\"productId\":1,\"quantity\":3},{\"productId\":2,\"quantity\":1}]}"));
    assert_int_equal(event.effect, INBOX_RESERVE);
    assert_int_equal(event.line_count, 2);
    assert_int_equal(event.lines[0].product_id, 1);
    assert_int_equal(event.lines[1].quantity, 2);
    assert_int_equal(read_good(EVENT("order.cancelled", "{\"orderId\":\"x\"}")).effect, INBOX_RELEASE);
}

static void event__when_it_has_more_than_we_know__then_ignored(void **state) {
    struct event_body event = read_good(
        "{\"eventId\":\"e\",\"eventType\":\"order.cancelled\",\"timestamp\":1,\"more\":{\"a\":[1.5]},"
        "\"aggregateId\":null,\"source\":\"shop\",\"schemaVersion\":1,\"payload\":{\"orderId\":\"x\",\"z\":0}}");
    assert_int_equal(event.effect, INBOX_RELEASE);
}

static void event__when_our_own__then_no_effect_whatever_its_type(void **state) {
    struct event_body event = read_good("{\"eventId\":\"e\",\"eventType\":\"stock.changed\",\"source\":\"lockstock\","
                                        "\"payload\":{\"productId\":1}}");
    assert_int_equal(event.effect, INBOX_NOTHING);
}

static void event__when_odd__then_the_field_is_named(void **state) {
    static const struct {
        const char *body, *pointer;
    } rows[] = {
        {"", ""},
        {"not json", ""},
        {"[]", ""},
        {"{}", "/eventId"},
        {"{\"eventId\":\"\",\"eventType\":\"order.cancelled\",\"payload\":{\"orderId\":\"x\"}}", "/eventId"},
        {"{\"eventId\":\"a b\",\"eventType\":\"order.cancelled\",\"payload\":{\"orderId\":\"x\"}}", "/eventId"},
        {"{\"eventId\":\"\xc3\xa9\",\"eventType\":\"order.cancelled\",\"payload\":{\"orderId\":\"x\"}}", "/eventId"},
        {"{\"eventId\":\"e\",\"eventType\":\"order.shipped\",\"payload\":{\"orderId\":\"x\"}}", "/eventType"},
        {"{\"eventId\":\"e\",\"eventType\":\"order.cancelled\"}", "/payload"},
        {"{\"eventId\":\"e\",\"eventType\":\"order.cancelled\",\"payload\":[]}", "/payload"},
        {"{\"eventId\":\"e\",\"eventType\":\"order.cancelled\",\"schemaVersion\":2,\"payload\":{\"orderId\":\"x\"}}",
         "/schemaVersion"},
        {EVENT("order.cancelled", "{}"), "/payload/orderId"},
        {EVENT("order.cancelled", "{\"orderId\":7}"), "/payload/orderId"},
        {EVENT("order.cancelled", "{\"orderId\":null}"), "/payload/orderId"},
        {EVENT("order.cancelled", "{\"orderId\":\" x\"}"), "/payload/orderId"},
        {EVENT("payment.completed", "{\"orderId\":0,\"paymentKey\":\"k\",\"amount\":1}"), "/payload/orderId"},
        {EVENT("payment.completed", "{\"orderId\":1.5,\"paymentKey\":\"k\",\"amount\":1}"), "/payload/orderId"},
        {EVENT("payment.completed", "{\"orderId\":1,\"paymentKey\":\"\",\"amount\":1}"), "/payload/paymentKey"},
        {EVENT("payment.completed", "{\"orderId\":1,\"paymentKey\":\"k\",\"amount\":-1}"), "/payload/amount"},
        {EVENT("payment.completed", "{\"orderId\":1,\"paymentKey\":\"k\",\"amount\":1.5}"), "/payload/amount"},
        {EVENT("order.created", "{\"orderId\":\"x\",\"items\":[]}"), "/payload/items"},
        {EVENT("order.created", "{\"orderId\":\"x\"}"), "/payload/items"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct field_errors errors;
        struct event_body event;
        assert_int_equal(read_body(rows[i].body, &errors, &event).code, ERROR_INVALID_REQUEST);
        if (strcmp(errors.list[0].pointer, rows[i].pointer) != 0)
            fail_msg("%s: %s", rows[i].body, errors.list[0].pointer);
    }
}

static void event__when_its_payload_is_odd__then_its_id_is_known(void **state) {
    struct field_errors errors;
    struct event_body event;
    assert_true(failed(read_body(EVENT("order.cancelled", "{}"), &errors, &event)));
    assert_string_equal(event.event_id, "e-1");
}

static void answer__when_written__then_applied_only_when_it_was_not(void **state) {
    AUTO_TEXT out = text_new(0);
    document_event_answer(&out, "e", false, NULL);
    assert_string_equal(text_str(&out), "{\"eventId\":\"e\",\"duplicate\":false}");
    text_clear(&out);
    document_event_answer(&out, "e", false, "PRD-002");
    assert_string_equal(text_str(&out),
                        "{\"eventId\":\"e\",\"duplicate\":false,\"applied\":false,\"reason\":\"PRD-002\"}");
}

int main(void) {
    json_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payment__when_the_order_is_a_number__then_of_our_order),
        cmocka_unit_test(payment__when_the_order_is_a_text__then_of_a_reservation),
        cmocka_unit_test(order__when_created__then_a_reservation_of_its_lines),
        cmocka_unit_test(event__when_it_has_more_than_we_know__then_ignored),
        cmocka_unit_test(event__when_our_own__then_no_effect_whatever_its_type),
        cmocka_unit_test(event__when_odd__then_the_field_is_named),
        cmocka_unit_test(event__when_its_payload_is_odd__then_its_id_is_known),
        cmocka_unit_test(answer__when_written__then_applied_only_when_it_was_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
