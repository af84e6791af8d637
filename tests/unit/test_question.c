#include "unit.h"

#include "timeouts/question.h"

static void question_write_url__when_a_template__then_filled_in(void **state) {
    static const struct {
        const char *template, *url;
    } rows[] = {
        {"http://pay/status", "http://pay/status?orderId=42"},
        {"http://pay/status?a=1", "http://pay/status?a=1&orderId=42"},
        {"http://pay/orders/{orderId}/payment", "http://pay/orders/42/payment"},
        {"http://pay/{orderId}?id={orderId}&n={orderNumber}", "http://pay/42?id=42&n=ORD-20261130-1A"},
        {"http://pay/{orderNumber}", "http://pay/ORD-20261130-1A?orderId=42"},
        {"http://pay/{other}", "http://pay/{other}?orderId=42"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_TEXT out = text_new(0);
        question_write_url(&out, rows[i].template, 42, "ORD-20261130-1A");
        assert_string_equal(text_str(&out), rows[i].url);
    }
}

static void question_delay_ms__when_asked_often__then_a_minute_at_most(void **state) {
    assert_int_equal(question_delay_ms(0), 2000);
    assert_int_equal(question_delay_ms(1), 4000);
    assert_int_equal(question_delay_ms(4), 32000);
    assert_int_equal(question_delay_ms(5), 60000);
    assert_int_equal(question_delay_ms(INT64_MAX), 60000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(question_write_url__when_a_template__then_filled_in),
        cmocka_unit_test(question_delay_ms__when_asked_often__then_a_minute_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
