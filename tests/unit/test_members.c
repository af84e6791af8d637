#include "codec/members.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void member__when_first_or_later__then_comma_only_between(void **state) {
    AUTO_TEXT out = text_new(0);
    text_add_char(&out, '{');
    member_integer(&out, "a", -5);
    member_string(&out, "b", "x\"");
    member_name(&out, "c");
    text_add_char(&out, '{');
    member_time(&out, "d", 0);
    text_add_char(&out, '}');
    member_time(&out, "e", 1);
    text_add_char(&out, '}');
    assert_string_equal(text_str(&out),
                        "{\"a\":-5,\"b\":\"x\\\"\",\"c\":{\"d\":null},\"e\":\"1970-01-01T00:00:00.001Z\"}");
}

static void member_string__when_value_ends_in_brace__then_comma_follows(void **state) {
    AUTO_TEXT out = text_new(0);
    text_add_char(&out, '{');
    member_string(&out, "a", "{");
    member_integer(&out, "b", 1);
    assert_string_equal(text_str(&out), "{\"a\":\"{\",\"b\":1");
}

static void member_string_or_null__when_empty__then_null(void **state) {
    AUTO_TEXT out = text_new(0);
    member_string_or_null(&out, "a", "");
    member_string_or_null(&out, "b", "x");
    assert_string_equal(text_str(&out), "\"a\":null,\"b\":\"x\"");
}

static void member_integer__when_extreme__then_all_digits(void **state) {
    AUTO_TEXT out = text_new(0);
    member_integer(&out, "a", INT64_MIN);
    member_integer(&out, "b", INT64_MAX);
    assert_string_equal(text_str(&out), "\"a\":-9223372036854775808,\"b\":9223372036854775807");
}

static void member_items__when_count_varies__then_array(void **state) {
    struct order_item items[] = {{1, 2, 300}, {4, 5, 0}};
#define FIRST "{\"productId\":1,\"quantity\":2,\"unitPrice\":300}"
#define SECOND "{\"productId\":4,\"quantity\":5,\"unitPrice\":0}"
    static const char *const expected[] = {
        "\"items\":[]",
        "\"items\":[" FIRST "]",
        "\"items\":[" FIRST "," SECOND "]",
    };
    for (size_t count = 0; count <= 2; count++) {
        const struct order order = {.items = items, .item_count = count};
        AUTO_TEXT out = text_new(0);
        member_items(&out, &order);
        assert_string_equal(text_str(&out), expected[count]);
    }
}

static void member__when_text_overflows__then_marked_and_unharmed(void **state) {
    for (size_t limit = 1; limit < 20; limit++) {
        AUTO_TEXT out = text_new(limit);
        member_integer(&out, "name", 1234567890);
        member_string(&out, "other", "value");
        assert_true(out.overflow);
        assert_true(out.len <= limit);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(member__when_first_or_later__then_comma_only_between),
        cmocka_unit_test(member_string__when_value_ends_in_brace__then_comma_follows),
        cmocka_unit_test(member_string_or_null__when_empty__then_null),
        cmocka_unit_test(member_integer__when_extreme__then_all_digits),
        cmocka_unit_test(member_items__when_count_varies__then_array),
        cmocka_unit_test(member__when_text_overflows__then_marked_and_unharmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
