#include "codec/scan.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void scan_json__when_text_varies__then_depth_is_the_deepest(void **state) {
    static const struct {
        const char *body;
        size_t depth;
    } rows[] = {
        {"", 0},
        {"1", 0},
        {"{}", 1},
        {"[[]]", 2},
        {"[[],[[]],[]]", 3},
        {"{\"a\":[{}]}", 3},
        {"{\"[[[[\":1}", 1},
        {"[\"\\\"[[\"]", 1},
        {"[\"\\\\\",[]]", 2},
        {"\"[", 0},
        {"\"\\", 0},
        {"]]]][[", 2},
        {"}{", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(scan_json(rows[i].body, strlen(rows[i].body)).depth, rows[i].depth);
    }
}

static void scan_json__when_a_million_brackets__then_counted(void **state) {
    const size_t count = 1000000;
    AUTO_FREE char *body = mem_new(count);
    memset(body, '[', count);
    assert_int_equal(scan_json(body, count).depth, count);
}

static void scan_json__when_numbers_vary__then_negative_zero_is_seen(void **state) {
    static const struct {
        const char *body;
        bool seen;
    } rows[] = {
        {"-0", true},     {"[-0]", true},    {"{\"a\":-0}", true},  {"{\"a\":-0 }", true},
        {"[-0,1]", true}, {"-0\n", true},    {"0", false},          {"-1", false},
        {"-0.0", false},  {"-0e1", false},   {"-0E1", false},       {"-00", false},
        {"-05", false},   {"\"-0\"", false}, {"{\"-0\":1}", false}, {"[\"\\\"-0\"]", false},
        {"-", false},     {"", false},       {"1e-0", false},       {"1E-0", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (scan_json(rows[i].body, strlen(rows[i].body)).negative_zero == rows[i].seen) continue;
        fail_msg("%s", rows[i].body);
    }
}

static void scan_json__when_nul_follows_zero__then_it_ends_the_number(void **state) {
    assert_true(scan_json("-0\0", 3).negative_zero);
}

static void scan_json__when_len_is_shorter__then_no_byte_beyond_counts(void **state) {
    assert_int_equal(scan_json("[[[", 1).depth, 1);
    assert_false(scan_json("-0", 1).negative_zero);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan_json__when_text_varies__then_depth_is_the_deepest),
        cmocka_unit_test(scan_json__when_a_million_brackets__then_counted),
        cmocka_unit_test(scan_json__when_numbers_vary__then_negative_zero_is_seen),
        cmocka_unit_test(scan_json__when_nul_follows_zero__then_it_ends_the_number),
        cmocka_unit_test(scan_json__when_len_is_shorter__then_no_byte_beyond_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
