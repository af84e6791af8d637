#include "codec/bodies.h"

#include "body_cases.h"

static struct result decode_payment(const char *body, size_t len, struct field_errors *errors) {
    struct payment_body value;
    return body_payment(body, len, errors, &value);
}
static struct result decode_cancel(const char *body, size_t len, struct field_errors *errors) {
    struct cancel_body value;
    return body_cancel(body, len, errors, &value);
}
static struct result decode_status(const char *body, size_t len, struct field_errors *errors) {
    struct status_body value;
    return body_status(body, len, errors, &value);
}

static void body_payment__when_right__then_values(void **state) {
    static const struct {
        const char *body;
        bool completed;
        const char *key;
        int64_t amount;
    } rows[] = {
        {"{\"result\":\"COMPLETED\",\"paymentKey\":\"k\",\"amount\":0}", true, "k", 0},
        {"{\"amount\":9007199254740991,\"paymentKey\":\"k 1\",\"result\":\"FAILED\"}", false, "k 1", MONEY_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct payment_body value;
        struct field_errors errors;
        assert_false(failed(body_payment(rows[i].body, strlen(rows[i].body), &errors, &value)));
        assert_int_equal(value.completed, rows[i].completed);
        assert_string_equal(value.payment_key, rows[i].key);
        assert_int_equal(value.amount, rows[i].amount);
    }
}

static void body_payment__when_one_thing_is_wrong__then_its_pointer(void **state) {
    static const struct refusal rows[] = {
        {"", "", "a JSON object is required"},
        {"{\"paymentKey\":\"k\",\"amount\":1}", "/result", "is required"},
        {"{\"result\":\"COMPLETED\",\"amount\":1}", "/paymentKey", "is required"},
        {"{\"result\":\"COMPLETED\",\"paymentKey\":\"k\"}", "/amount", "is required"},
        {"{\"result\":null,\"paymentKey\":\"k\",\"amount\":1}", "/result", "one of COMPLETED, FAILED"},
        {"{\"result\":\"DONE\",\"paymentKey\":\"k\",\"amount\":1}", "/result", "one of COMPLETED, FAILED"},
        {"{\"result\":\"FAILED\",\"paymentKey\":\"\",\"amount\":1}", "/paymentKey", "1 to 255 bytes"},
        {"{\"result\":\"FAILED\",\"paymentKey\":\"k\",\"amount\":-1}", "/amount", "from 0 to 9007199254740991"},
        {"{\"result\":\"FAILED\",\"paymentKey\":\"k\",\"amount\":1,\"x\":1}", "/x", "not a known field"},
    };
    CHECK_REFUSALS(decode_payment, rows);
}

/* The longest key fits, one more byte does not. */
static void body_payment__when_key_is_long__then_255_bytes_are_the_limit(void **state) {
    for (int size = 255; size <= 256; size++) {
        AUTO_TEXT body = text_new(0);
        text_addf(&body, "{\"result\":\"FAILED\",\"amount\":1,\"paymentKey\":\"%0*d\"}", size, 7);
        struct payment_body value = {0};
        struct field_errors errors;
        assert_int_equal(failed(body_payment(body.data, body.len, &errors, &value)), size > 255);
        assert_int_equal(strlen(value.payment_key), size > 255 ? 0 : 255);
    }
}

static void body_payment__when_refused__then_ret_is_untouched(void **state) {
    static const char body[] = "{\"result\":\"FAILED\",\"paymentKey\":\"new\",\"amount\":-1}";
    struct payment_body value = {.completed = true, .payment_key = "old", .amount = 5};
    struct field_errors errors;
    assert_true(failed(body_payment(body, strlen(body), &errors, &value)));
    assert_true(value.completed);
    assert_string_equal(value.payment_key, "old");
    assert_int_equal(value.amount, 5);
}

static void body_cancel__when_right__then_reason_or_default(void **state) {
    static const struct {
        const char *body, *reason;
    } rows[] = {
        {"", "USER_REQUESTED"},
        {"{}", "USER_REQUESTED"},
        {"{\"reason\":null}", "USER_REQUESTED"},
        {"{\"reason\":\"\"}", ""},
        {"{\"reason\":\"TIMEOUT\"}", "TIMEOUT"},
        {"{\"reason\":\"zu sp\xc3\xa4t\"}", "zu sp\xc3\xa4t"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cancel_body value;
        struct field_errors errors;
        assert_false(failed(body_cancel(rows[i].body, strlen(rows[i].body), &errors, &value)));
        assert_string_equal(value.reason, rows[i].reason);
    }
}

static void body_cancel__when_wrong__then_refused(void **state) {
    static const struct refusal rows[] = {
        {"{\"reason\":1}", "/reason", "0 to 200 bytes"},
        {"{\"reason\":\"a\\u0001\"}", "/reason", "without control characters"},
        {"{\"why\":\"x\"}", "/why", "not a known field"},
        {"null", "", "must be an object"},
        {" ", "", "line 1"},
    };
    CHECK_REFUSALS(decode_cancel, rows);
}

static void body_cancel__when_reason_is_long__then_200_bytes_are_the_limit(void **state) {
    for (int size = 200; size <= 201; size++) {
        AUTO_TEXT body = text_new(0);
        text_addf(&body, "{\"reason\":\"%0*d\"}", size, 7);
        struct field_errors errors;
        assert_int_equal(failed(decode_cancel(body.data, body.len, &errors)), size > 200);
    }
}

static void body_status__when_each_status__then_parsed(void **state) {
    for (int status = 0; status < ORDER_STATUS_COUNT; status++) {
        AUTO_TEXT body = text_new(0);
        text_addf(&body, "{\"status\":\"%s\"}", order_status_name((enum order_status)status));
        struct status_body value;
        struct field_errors errors;
        assert_false(failed(body_status(body.data, body.len, &errors, &value)));
        assert_int_equal(value.status, status);
    }
}

static void body_status__when_wrong__then_all_are_named(void **state) {
    static const char all[] = "must be one of PENDING, PAYMENT_REQUESTED, PAYMENT_COMPLETED, PAYMENT_FAILED, "
                              "PREPARING, SHIPPED, DELIVERED, CANCELLED";
    static const struct refusal rows[] = {
        {"{\"status\":\"shipped\"}", "/status", all},
        {"{\"status\":\"\"}", "/status", all},
        {"{\"status\":3}", "/status", all},
        {"{\"status\":null}", "/status", all},
        {"{}", "/status", "is required"},
        {"", "", "a JSON object is required"},
    };
    CHECK_REFUSALS(decode_status, rows);
}

static void body_empty__when_absent_or_empty__then_fine(void **state) {
    static const char *const bodies[] = {"", "{}", " {\n} "};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct field_errors errors;
        assert_false(failed(body_empty(bodies[i], strlen(bodies[i]), &errors)));
        assert_int_equal(errors.count, 0);
    }
}

static void body_empty__when_anything_else__then_refused(void **state) {
    static const struct refusal rows[] = {
        {"{\"a\":1}", "/a", "not a known field"},
        {"[]", "", "must be an object"},
        {"null", "", "must be an object"},
        {"{}{}", "", "end of file expected"},
    };
    CHECK_REFUSALS(body_empty, rows);
}

int main(void) {
    json_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(body_payment__when_right__then_values),
        cmocka_unit_test(body_payment__when_one_thing_is_wrong__then_its_pointer),
        cmocka_unit_test(body_payment__when_key_is_long__then_255_bytes_are_the_limit),
        cmocka_unit_test(body_payment__when_refused__then_ret_is_untouched),
        cmocka_unit_test(body_cancel__when_right__then_reason_or_default),
        cmocka_unit_test(body_cancel__when_wrong__then_refused),
        cmocka_unit_test(body_cancel__when_reason_is_long__then_200_bytes_are_the_limit),
        cmocka_unit_test(body_status__when_each_status__then_parsed),
        cmocka_unit_test(body_status__when_wrong__then_all_are_named),
        cmocka_unit_test(body_empty__when_absent_or_empty__then_fine),
        cmocka_unit_test(body_empty__when_anything_else__then_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
