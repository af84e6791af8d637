#include "unit.h"

#include "codec/payment_status.h"

#include <string.h>

static enum payment_word word_of(const char *body) {
    struct payment_status_said said;
    payment_status_read(body, strlen(body), &said);
    return said.word;
}

static void payment_status_read__when_paid__then_key_and_amount(void **state) {
    static const char body[] = "{\"status\":\"PAID\",\"amount\":500,\"paymentKey\":\"pay-1\",\"method\":[\"card\"]}";
    struct payment_status_said said;
    payment_status_read(body, strlen(body), &said);
    assert_int_equal(said.word, PAYMENT_SAYS_PAID);
    assert_string_equal(said.payment_key, "pay-1");
    assert_int_equal(said.amount, 500);
    assert_int_equal(word_of("{\"status\":\"PAID\",\"amount\":0,\"paymentKey\":\"p\"}"), PAYMENT_SAYS_PAID);
}

static void payment_status_read__when_not_paid__then_so(void **state) {
    assert_int_equal(word_of("{\"status\":\"NOT_PAID\"}"), PAYMENT_SAYS_NOT_PAID);
    assert_int_equal(word_of(" {\"status\":\"NOT_PAID\",\"paymentKey\":null}\n"), PAYMENT_SAYS_NOT_PAID);
}

/* Nothing of it may cancel an order or enter a payment. */
static void payment_status_read__when_anything_else__then_nothing(void **state) {
    static const char *const bodies[] = {
        "",
        "NOT_PAID",
        "\"NOT_PAID\"",
        "[]",
        "{}",
        "{\"status\":\"not_paid\"}",
        "{\"status\":\"NOT_PAID\"",
        "{\"status\":\"NOT_PAID\"} x",
        "{\"status\":\"NOT_PAID\",\"status\":\"PAID\"}",
        "{\"status\":\"PENDING\"}",
        "{\"status\":\"PAID\"}",
        "{\"status\":\"PAID\",\"amount\":500}",
        "{\"status\":\"PAID\",\"paymentKey\":\"p\"}",
        "{\"status\":\"PAID\",\"paymentKey\":\"\",\"amount\":500}",
        "{\"status\":\"PAID\",\"paymentKey\":\" p\",\"amount\":500}",
        "{\"status\":\"PAID\",\"paymentKey\":\"a\\nb\",\"amount\":500}",
        "{\"status\":\"PAID\",\"paymentKey\":\"p\",\"amount\":-1}",
        "{\"status\":\"PAID\",\"paymentKey\":\"p\",\"amount\":5.0}",
        "{\"status\":\"PAID\",\"paymentKey\":\"p\",\"amount\":\"500\"}",
        "{\"status\":\"PAID\",\"paymentKey\":\"p\",\"amount\":9007199254740992}",
        "\xff",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        assert_int_equal(word_of(bodies[i]), PAYMENT_SAYS_NOTHING);
}

static void payment_status_read__when_deep__then_nothing(void **state) {
    char body[4096];
    memset(body, '[', sizeof body);
    struct payment_status_said said;
    payment_status_read(body, sizeof body, &said);
    assert_int_equal(said.word, PAYMENT_SAYS_NOTHING);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payment_status_read__when_paid__then_key_and_amount),
        cmocka_unit_test(payment_status_read__when_not_paid__then_so),
        cmocka_unit_test(payment_status_read__when_anything_else__then_nothing),
        cmocka_unit_test(payment_status_read__when_deep__then_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
