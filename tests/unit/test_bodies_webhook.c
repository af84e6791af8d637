#include "unit.h"

#include "codec/bodies_webhook.h"

#include <stdlib.h>
#include <string.h>

static struct result read_body(const char *body, struct field_errors *errors, struct webhook_body *ret) {
    return body_webhook(body, strlen(body), errors, ret);
}

static void body__when_types_are_named__then_those(void **state) {
    struct field_errors errors;
    struct webhook_body body;
    assert_false(failed(read_body(
        "{\"url\":\"https://a.example/h\",\"eventTypes\":[\"order.created\",\"stock.changed\"]}", &errors, &body)));
    assert_string_equal(body.url, "https://a.example/h");
    assert_true(event_types_have(body.event_types, "stock.changed"));
    assert_false(event_types_have(body.event_types, "order.cancelled"));
}

static void body__when_no_types__then_all(void **state) {
    struct field_errors errors;
    struct webhook_body body;
    assert_false(failed(read_body("{\"url\":\"https://a.example/h\"}", &errors, &body)));
    assert_int_equal(body.event_types, 0);
}

static void body__when_odd__then_the_field_is_named(void **state) {
    static const struct {
        const char *body, *pointer;
    } rows[] = {
        {"{}", "/url"},
        {"{\"url\":\"\"}", "/url"},
        {"{\"url\":1}", "/url"},
        {"{\"url\":\"https://a\\u0001b\"}", "/url"},
        {"{\"url\":\"https://a\",\"eventTypes\":[]}", "/eventTypes"},
        {"{\"url\":\"https://a\",\"eventTypes\":\"order.created\"}", "/eventTypes"},
        {"{\"url\":\"https://a\",\"eventTypes\":[\"order.created\",\"no.such\"]}", "/eventTypes/1"},
        {"{\"url\":\"https://a\",\"eventTypes\":[\"order.created\",\"order.created\"]}", "/eventTypes/1"},
        {"{\"url\":\"https://a\",\"secret\":\"x\"}", "/secret"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct field_errors errors;
        struct webhook_body body;
        assert_int_equal(read_body(rows[i].body, &errors, &body).code, ERROR_INVALID_REQUEST);
        if (strcmp(errors.list[0].pointer, rows[i].pointer) != 0)
            fail_msg("%s: %s", rows[i].body, errors.list[0].pointer);
    }
}

static void document__when_a_webhook__then_its_secret_only_when_asked_for(void **state) {
    struct webhook webhook = {.id = "i", .url = "https://a", .event_types = 1, .status = "ACTIVE", .secret = "whsec_x"};
    AUTO_TEXT with = text_new(0);
    AUTO_TEXT without = text_new(0);
    document_webhook(&with, &webhook, true);
    document_webhook(&without, &webhook, false);
    assert_string_equal(text_str(&with),
                        "{\"id\":\"i\",\"url\":\"https://a\",\"eventTypes\":[\"order.created\"],\"status\":\"ACTIVE\","
                        "\"disabledReason\":null,\"createdAt\":null,\"disabledAt\":null,\"secret\":\"whsec_x\"}");
    assert_null(strstr(text_str(&without), "whsec_"));
}

static void document__when_a_delivery__then_nulls_where_nothing_is_known(void **state) {
    struct delivery delivery = {
        .id = 7, .webhook_id = "w", .event_id = "e", .event_type = "t", .aggregate_id = "a", .status = "PENDING"};
    AUTO_TEXT out = text_new(0);
    document_delivery(&out, &delivery);
    assert_string_equal(text_str(&out),
                        "{\"id\":7,\"webhookId\":\"w\",\"eventId\":\"e\",\"eventType\":\"t\",\"aggregateId\":\"a\","
                        "\"status\":\"PENDING\",\"attempts\":0,\"lastStatus\":null,\"lastError\":null,"
                        "\"createdAt\":null,\"attemptedAt\":null,\"nextAttemptAt\":null,\"doneAt\":null}");
}

int main(void) {
    json_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(body__when_types_are_named__then_those),
        cmocka_unit_test(body__when_no_types__then_all),
        cmocka_unit_test(body__when_odd__then_the_field_is_named),
        cmocka_unit_test(document__when_a_webhook__then_its_secret_only_when_asked_for),
        cmocka_unit_test(document__when_a_delivery__then_nulls_where_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
