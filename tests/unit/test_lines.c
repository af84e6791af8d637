/* codec/lines.c: lines as a row carries them. */
#include "codec/lines.h"
#include "unit.h"

#include <string.h>

static void write__then_read__the_same(void **state) {
    const struct line lines[] = {{1, 2}, {9007199254740991, 1000000}};
    struct line back[ORDER_LINES_MAX];
    size_t count;
    AUTO_TEXT out = text_new(0);
    lines_write(&out, lines, 2);
    assert_string_equal(text_str(&out), "[{\"productId\":1,\"quantity\":2},"
                                        "{\"productId\":9007199254740991,\"quantity\":1000000}]");
    assert_false(failed(lines_read(out.data, out.len, back, &count)));
    assert_int_equal(count, 2);
    assert_memory_equal(back, lines, sizeof lines);
}

static void write__none__is_an_empty_array(void **state) {
    AUTO_TEXT out = text_new(0);
    lines_write(&out, NULL, 0);
    assert_string_equal(text_str(&out), "[]");
}

static void read__of_another_writer__is_merged_and_sorted(void **state) {
    static const char json[] = "[{\"quantity\": 2, \"productId\": 7}, {\"productId\": 1, \"quantity\": 1}, "
                               "{\"productId\": 7, \"quantity\": 3}]";
    struct line back[ORDER_LINES_MAX];
    size_t count;
    assert_false(failed(lines_read(json, strlen(json), back, &count)));
    assert_int_equal(count, 2);
    assert_int_equal(back[1].product_id, 7);
    assert_int_equal(back[1].quantity, 5);
}

static void read__what_is_no_list_of_lines__is_bad_data(void **state) {
    static const char *const texts[] = {"",
                                        "{}",
                                        "[1]",
                                        "[{\"productId\":1}]",
                                        "[{\"productId\":0,\"quantity\":1}]",
                                        "[{\"productId\":1,\"quantity\":-1}]",
                                        "[",
                                        "null"};
    struct line back[ORDER_LINES_MAX];
    size_t count;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(lines_read(texts[i], strlen(texts[i]), back, &count).code, ERROR_BAD_DATA);
    AUTO_TEXT many = text_new(0);
    for (int i = 0; i <= ORDER_LINES_MAX; i++)
        text_addf(&many, "%s{\"productId\":%d,\"quantity\":1}", i == 0 ? "[" : ",", i + 1);
    text_add_char(&many, ']');
    assert_int_equal(lines_read(many.data, many.len, back, &count).code, ERROR_BAD_DATA);
}

int main(void) {
    json_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write__then_read__the_same),
        cmocka_unit_test(write__none__is_an_empty_array),
        cmocka_unit_test(read__of_another_writer__is_merged_and_sorted),
        cmocka_unit_test(read__what_is_no_list_of_lines__is_bad_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
