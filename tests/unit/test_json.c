#include "codec/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void json_write_string__when_text_varies__then_escaped_minimally(void **state) {
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"", "\"\""},
        {"plain", "\"plain\""},
        {"a\"b", "\"a\\\"b\""},
        {"a\\b", "\"a\\\\b\""},
        {"\"", "\"\\\"\""},
        {"\\\\", "\"\\\\\\\\\""},
        {"a/b", "\"a/b\""},
        {"\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
        {"\x01", "\"\\u0001\""},
        {"x\x1fy", "\"x\\u001fy\""},
        {"\x0b", "\"\\u000b\""},
        {"\x7f", "\"\x7f\""},
        {"gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\""},
        {"\xf0\x9f\x92\xb6", "\"\xf0\x9f\x92\xb6\""},
        {"\xe2\x80\xa8", "\"\xe2\x80\xa8\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_TEXT out = text_new(0);
        json_write_string(&out, rows[i].in);
        assert_string_equal(text_str(&out), rows[i].out);
    }
}

static void json_write_string__when_ill_formed__then_each_byte_is_replaced(void **state) {
#define BAD "\xef\xbf\xbd"
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"\xff", "\"" BAD "\""},
        {"a\x80z", "\"a" BAD "z\""},
        {"\xc3", "\"" BAD "\""},
        {"\xc3z", "\"" BAD "z\""},
        {"\xc0\xaf", "\"" BAD BAD "\""},
        {"\xc1\xbf", "\"" BAD BAD "\""},
        {"\xe0\x9f\xbf", "\"" BAD BAD BAD "\""},
        {"\xe2\x82", "\"" BAD BAD "\""},
        {"\xe2\x82\"", "\"" BAD BAD "\\\"\""},
        {"\xed\xa0\x80", "\"" BAD BAD BAD "\""},
        {"\xf0\x8f\xbf\xbf", "\"" BAD BAD BAD BAD "\""},
        {"\xf4\x90\x80\x80", "\"" BAD BAD BAD BAD "\""},
        {"\xf5\x80\x80\x80", "\"" BAD BAD BAD BAD "\""},
        {"\xc2\x80", "\"\xc2\x80\""},
        {"\xe0\xa0\x80", "\"\xe0\xa0\x80\""},
        {"\xed\x9f\xbf", "\"\xed\x9f\xbf\""},
        {"\xee\x80\x80", "\"\xee\x80\x80\""},
        {"\xf0\x90\x80\x80", "\"\xf0\x90\x80\x80\""},
        {"\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_TEXT out = text_new(0);
        json_write_string(&out, rows[i].in);
        assert_string_equal(text_str(&out), rows[i].out);
    }
}

static void json_write_string_n__when_nul_inside__then_escaped(void **state) {
    AUTO_TEXT out = text_new(0);
    json_write_string_n(&out, "a\0b", 3);
    assert_string_equal(text_str(&out), "\"a\\u0000b\"");
}

static void json_write_string_n__when_len_is_shorter__then_stops(void **state) {
    AUTO_TEXT out = text_new(0);
    json_write_string_n(&out, "abcdef", 2);
    assert_string_equal(text_str(&out), "\"ab\"");
}

static void json_write_key__when_called__then_quoted_with_colon(void **state) {
    AUTO_TEXT out = text_new(0);
    json_write_key(&out, "na\"me");
    assert_string_equal(text_str(&out), "\"na\\\"me\":");
}

static void json_write_time__when_time_varies__then_quoted_or_null(void **state) {
    static const struct {
        int64_t ms;
        const char *out;
    } rows[] = {
        {0, "null"},
        {1, "\"1970-01-01T00:00:00.001Z\""},
        {INT64_C(1796040000123), "\"2026-11-30T12:00:00.123Z\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_TEXT out = text_new(0);
        json_write_time(&out, rows[i].ms);
        assert_string_equal(text_str(&out), rows[i].out);
    }
}

static void field_errors_add__when_full__then_stops(void **state) {
    struct field_errors errors = {0};
    for (int i = 0; i < FIELD_ERRORS_MAX + 3; i++) field_errors_add(&errors, "/a", "finding %d", i);
    assert_int_equal(errors.count, FIELD_ERRORS_MAX);
    assert_string_equal(errors.list[FIELD_ERRORS_MAX - 1].detail, "finding 15");
}

/* A field of 160 bytes filled so that the character at its end is cut after 1, 2, 3 of its bytes, or fits. */
static void field_errors_add__when_cut_inside_a_character__then_the_character_goes(void **state) {
    static const struct {
        const char *character;
        size_t before, kept;
    } rows[] = {
        {"\xc3\xbc", 158, 158},         {"\xc3\xbc", 157, 159},
        {"\xe2\x82\xac", 157, 157},     {"\xe2\x82\xac", 158, 158},
        {"\xe2\x82\xac", 156, 159},     {"\xf0\x9f\x92\xb6", 156, 156},
        {"\xf0\x9f\x92\xb6", 157, 157}, {"\xf0\x9f\x92\xb6", 158, 158},
        {"\xf0\x9f\x92\xb6", 155, 159}, {"x", 158, 159},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[400];
        memset(text, 'a', rows[i].before);
        text[rows[i].before] = '\0';
        assert_true(text_format(text + rows[i].before, sizeof text - rows[i].before, "%sxyz", rows[i].character));
        struct field_errors errors = {0};
        field_errors_add(&errors, text, "%s", text);
        assert_int_equal(strlen(errors.list[0].pointer), rows[i].kept);
        assert_int_equal(strlen(errors.list[0].detail), rows[i].kept);
    }
}

static void field_errors_write__when_none__then_empty_array(void **state) {
    const struct field_errors errors = {0};
    AUTO_TEXT out = text_new(0);
    field_errors_write(&out, &errors);
    assert_string_equal(text_str(&out), "\"errors\":[]");
}

static void field_errors_write__when_several__then_fragments_and_escaped_details(void **state) {
    struct field_errors errors = {0};
    field_errors_add(&errors, "", "is \"odd\"");
    field_errors_add(&errors, "/items/0/quantity", "b");
    field_errors_add(&errors, "/a b~1\xc3\xbc\"%", "c");
    AUTO_TEXT out = text_new(0);
    field_errors_write(&out, &errors);
    assert_string_equal(text_str(&out), "\"errors\":[{\"pointer\":\"#\",\"detail\":\"is \\\"odd\\\"\"},"
                                        "{\"pointer\":\"#/items/0/quantity\",\"detail\":\"b\"},"
                                        "{\"pointer\":\"#/a%20b~1%c3%bc%22%25\",\"detail\":\"c\"}]");
}

int main(void) {
    json_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_write_string__when_text_varies__then_escaped_minimally),
        cmocka_unit_test(json_write_string__when_ill_formed__then_each_byte_is_replaced),
        cmocka_unit_test(json_write_string_n__when_nul_inside__then_escaped),
        cmocka_unit_test(json_write_string_n__when_len_is_shorter__then_stops),
        cmocka_unit_test(json_write_key__when_called__then_quoted_with_colon),
        cmocka_unit_test(json_write_time__when_time_varies__then_quoted_or_null),
        cmocka_unit_test(field_errors_add__when_full__then_stops),
        cmocka_unit_test(field_errors_add__when_cut_inside_a_character__then_the_character_goes),
        cmocka_unit_test(field_errors_write__when_none__then_empty_array),
        cmocka_unit_test(field_errors_write__when_several__then_fragments_and_escaped_details),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
