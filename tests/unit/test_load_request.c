/* tests/bench/load_request.c: requests from a form. */
#include "bench/load.h"
#include "unit.h"

static struct load_options order(void) {
    return (struct load_options){.host = "h:1",
                                 .method = "POST",
                                 .path = "/o/@n@",
                                 .body = "{@product@,@quantity@,@x@}",
                                 .header = "",
                                 .seed = 7};
}

static void load_request__marks__are_replaced_and_the_rest_stays(void **state) {
    struct load_options options = order();
    const struct step_values values = {.product = 42, .number = 9, .quantity = 3};
    AUTO_TEXT text = text_new(0);
    assert_true(load_request(&options, NULL, &values, &text));
    assert_string_equal(text_str(&text), "POST /o/9 HTTP/1.1\r\nHost: h:1\r\nContent-Type: application/json\r\n"
                                         "Content-Length: 10\r\n\r\n{42,3,@x@}");
}

static void load_request__keyed__has_a_key_of_its_own(void **state) {
    struct load_options options = order();
    AUTO_TEXT text = text_new(0);
    options.keyed = true;
    options.body = "";
    options.header = "A: b";
    const struct step_values values = {.product = 1, .number = 10};
    assert_true(load_request(&options, NULL, &values, &text));
    assert_string_equal(text_str(&text),
                        "POST /o/10 HTTP/1.1\r\nHost: h:1\r\nIdempotency-Key: bench-7-10\r\nA: b\r\n\r\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_request__marks__are_replaced_and_the_rest_stays),
        cmocka_unit_test(load_request__keyed__has_a_key_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
