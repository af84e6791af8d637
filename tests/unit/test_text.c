/* Growing text, and every parser and printer of small values. */
#include "base/text.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void text_add__when_added__then_grows_and_ends_with_nul(void **state) {
    AUTO_TEXT t = text_new(0);
    assert_string_equal(text_str(&t), "");
    text_add_str(&t, "ab");
    text_add_char(&t, 'c');
    text_add_i64(&t, -42);
    text_addf(&t, "/%s/%d", "x", 7);
    text_add(&t, "yz!", 2);
    assert_string_equal(text_str(&t), "abc-42/x/7yz");
    assert_int_equal(t.len, strlen(t.data));
    for (int i = 0; i < 10000; i++) text_add_char(&t, '.');
    assert_int_equal(t.len, 12 + 10000);
    assert_false(t.overflow);
    assert_true(t.len < t.cap);
}

static void text_add_i64__when_extreme__then_exact(void **state) {
    AUTO_TEXT t = text_new(0);
    text_add_i64(&t, INT64_MIN);
    text_add_char(&t, ' ');
    text_add_i64(&t, INT64_MAX);
    text_add_char(&t, ' ');
    text_add_i64(&t, 0);
    assert_string_equal(text_str(&t), "-9223372036854775808 9223372036854775807 0");
}

static void text_add__when_limit_is_hit__then_marked_and_nothing_more_is_added(void **state) {
    AUTO_TEXT t = text_new(5);
    text_add_str(&t, "12345");
    assert_false(t.overflow);
    text_add_char(&t, '6');
    assert_true(t.overflow);
    text_add_str(&t, "");
    text_addf(&t, "%d", 1);
    assert_string_equal(text_str(&t), "12345");
    text_clear(&t);
    assert_false(t.overflow);
    text_addf(&t, "%s", "123456");
    assert_true(t.overflow);
    assert_string_equal(text_str(&t), "");
}

static void text_done__when_zeroed_or_done_twice__then_harmless(void **state) {
    struct text t = {0};
    text_done(&t);
    text_add_str(&t, "works");
    assert_string_equal(text_str(&t), "works");
    text_done(&t);
    text_done(&t);
    assert_string_equal(text_str(&t), "");
}

static void text_parse_i64__when_decimal__then_value(void **state) {
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {{"0", 0},
                {"1", 1},
                {"-1", -1},
                {"42", 42},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value = 99;
        assert_true(text_parse_i64(rows[i].text, strlen(rows[i].text), &value));
        assert_int_equal(value, rows[i].value);
    }
}

static void text_parse_i64__when_anything_else__then_false(void **state) {
    static const char *const rows[] = {"",
                                       "-",
                                       "+1",
                                       " 1",
                                       "1 ",
                                       "01",
                                       "-0",
                                       "00",
                                       "1.0",
                                       "1e3",
                                       "0x1",
                                       "--1",
                                       "1-",
                                       "9223372036854775808",
                                       "-9223372036854775809",
                                       "99999999999999999999"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value = 99;
        if (text_parse_i64(rows[i], strlen(rows[i]), &value)) fail_msg("'%s' accepted", rows[i]);
        assert_int_equal(value, 99);
    }
    int64_t value;
    assert_false(text_parse_i64("1\0", 2, &value));
    assert_true(text_parse_i64("12", 1, &value));
    assert_int_equal(value, 1);
}

static void text_is_printable_utf8__when_text__then_true(void **state) {
    static const char *const rows[] = {
        "",         "plain",        "caf\xC3\xA9",  "\xE2\x82\xAC",    "\xF0\x9F\x94\x92",
        "\xC2\xA0", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(text_is_printable_utf8(rows[i], strlen(rows[i])));
}

static void text_is_printable_utf8__when_control_or_malformed__then_false(void **state) {
    static const char *const rows[] = {"a\nb",
                                       "\t",
                                       "\x7F",
                                       "\xC2\x80",
                                       "\xC2\x9F",
                                       "\x80",
                                       "\xC3",
                                       "\xC3(",
                                       "\xC0\x80",
                                       "\xC1\xBF",
                                       "\xE0\x80\x80",
                                       "\xE0\x9F\xBF",
                                       "\xE2\x82",
                                       "\xED\xA0\x80",
                                       "\xED\xBF\xBF",
                                       "\xF0\x80\x80\x80",
                                       "\xF0\x8F\xBF\xBF",
                                       "\xF4\x90\x80\x80",
                                       "\xF5\x80\x80\x80",
                                       "\xFF",
                                       "ok\xE2\x82"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (text_is_printable_utf8(rows[i], strlen(rows[i]))) fail_msg("row %zu accepted", i);
    assert_false(text_is_printable_utf8("a\0b", 3));
}

static void text_utf8_next__when_each_width__then_size_and_point(void **state) {
    uint32_t point = 0;
    assert_int_equal(text_utf8_next("A", 1, &point), 1);
    assert_int_equal(point, 'A');
    assert_int_equal(text_utf8_next("\xC3\xA9x", 3, &point), 2);
    assert_int_equal(point, 0xE9);
    assert_int_equal(text_utf8_next("\xE2\x82\xAC", 3, &point), 3);
    assert_int_equal(point, 0x20AC);
    assert_int_equal(text_utf8_next("\xF0\x9F\x94\x92", 4, &point), 4);
    assert_int_equal(point, 0x1F512);
    assert_int_equal(text_utf8_next("\xF0\x9F\x94\x92", 3, &point), 0);
    assert_int_equal(text_utf8_next("", 0, &point), 0);
}

static void text_hex__when_turned_back__then_same_bytes(void **state) {
    static const unsigned char bytes[] = {0x00, 0x01, 0xAB, 0xFF};
    char hex[9];
    unsigned char back[4];
    text_hex(bytes, 4, hex);
    assert_string_equal(hex, "0001abff");
    assert_true(text_unhex("0001ABff", 8, back, 4));
    assert_memory_equal(back, bytes, 4);
}

static void text_unhex__when_not_exactly_that_many_digits__then_false(void **state) {
    unsigned char out[2];
    assert_false(text_unhex("abc", 3, out, 2));
    assert_false(text_unhex("abcde", 5, out, 2));
    assert_false(text_unhex("abcdef", 6, out, 2));
    assert_false(text_unhex("abcg", 4, out, 2));
    assert_false(text_unhex("ab:d", 4, out, 2));
    assert_true(text_unhex("", 0, out, 0));
}

static void text_base32__when_printed__then_crockford_without_padding(void **state) {
    static const struct {
        int64_t value;
        const char *text;
    } rows[] = {{0, "0"}, {1, "1"}, {31, "Z"}, {32, "10"}, {42, "1A"}, {1023, "ZZ"}, {INT64_MAX, "7ZZZZZZZZZZZZ"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[14];
        text_base32(rows[i].value, out);
        assert_string_equal(out, rows[i].text);
    }
}

static void text_time__when_printed__then_utc_with_milliseconds(void **state) {
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {INT64_C(1796040000123), "2026-11-30T12:00:00.123Z"},
        {INT64_C(951782400000), "2000-02-29T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {INT64_MIN, "0000-01-01T00:00:00.000Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[TEXT_TIME_SIZE];
        text_time(rows[i].ms, out);
        assert_string_equal(out, rows[i].text);
    }
}

static void text_uuid__when_made__then_version_7_of_now(void **state) {
    char out[TEXT_UUID_SIZE];
    int64_t before_ms = clock_wall_ms();
    text_uuid(out);
    int64_t after_ms = clock_wall_ms();
    assert_int_equal(strlen(out), 36);
    assert_true(out[8] == '-' && out[13] == '-' && out[18] == '-' && out[23] == '-');
    assert_int_equal(out[14], '7');
    assert_non_null(strchr("89ab", out[19]));
    unsigned char bytes[6];
    char digits[13];
    assert_true(text_format(digits, sizeof digits, "%.8s%.4s", out, out + 9));
    assert_true(text_unhex(digits, 12, bytes, 6));
    int64_t ms = 0;
    for (int i = 0; i < 6; i++) ms = ms << 8 | bytes[i];
    assert_in_range(ms, before_ms, after_ms);
}

static void text_uuid__when_made_later__then_sorts_after(void **state) {
    char first[TEXT_UUID_SIZE], second[TEXT_UUID_SIZE], third[TEXT_UUID_SIZE];
    text_uuid(first);
    text_uuid(third);
    assert_string_not_equal(first, third);
    clock_shift(0, 1000);
    text_uuid(second);
    clock_shift(0, 0);
    assert_true(strcmp(first, second) < 0);
}

static void text_format__when_cut__then_false_and_terminated(void **state) {
    char out[4];
    assert_true(text_format(out, sizeof out, "%d", 123));
    assert_string_equal(out, "123");
    assert_false(text_format(out, sizeof out, "%d", 1234));
    assert_string_equal(out, "123");
}

static void text_copy__what_does_not_fit__is_cut_and_told(void **state) {
    char out[4] = "xxx";
    assert_true(text_copy(out, sizeof out, "abc"));
    assert_string_equal(out, "abc");
    assert_false(text_copy(out, sizeof out, "abcd"));
    assert_string_equal(out, "abc");
    assert_true(text_copy(out, sizeof out, ""));
    assert_string_equal(out, "");
    assert_false(text_copy(out, 0, ""));
}

static void text_uuid__thousands__are_all_different(void **state) {
    enum { COUNT = 4000 };
    static char ids[COUNT][TEXT_UUID_SIZE];
    for (int i = 0; i < COUNT; i++) text_uuid(ids[i]);
    qsort(ids, COUNT, sizeof ids[0], (int (*)(const void *, const void *))strcmp);
    for (int i = 1; i < COUNT; i++) assert_string_not_equal(ids[i - 1], ids[i]);
}

static void text_hash__when_gone_on__then_as_of_the_whole(void **state) {
    assert_int_equal(text_hash(""), 2166136261U);
    assert_int_equal(text_hash("a"), 0xe40c292cU);
    assert_int_equal(text_hash_on(text_hash("foo"), "bar"), 0xbf9cf968U);
}

static void add_segment__when_odd__then_percent_encoded(void **state) {
    AUTO_TEXT out = text_new(0);
    text_add_segment(&out, "a/b%c \xc3\xbc?#-._~:@");
    assert_string_equal(text_str(&out), "a%2Fb%25c%20%C3%BC%3F%23-._~:@");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_hash__when_gone_on__then_as_of_the_whole),
        cmocka_unit_test(text_copy__what_does_not_fit__is_cut_and_told),
        cmocka_unit_test(text_uuid__thousands__are_all_different),
        cmocka_unit_test(text_add__when_added__then_grows_and_ends_with_nul),
        cmocka_unit_test(text_add_i64__when_extreme__then_exact),
        cmocka_unit_test(text_add__when_limit_is_hit__then_marked_and_nothing_more_is_added),
        cmocka_unit_test(text_done__when_zeroed_or_done_twice__then_harmless),
        cmocka_unit_test(text_parse_i64__when_decimal__then_value),
        cmocka_unit_test(text_parse_i64__when_anything_else__then_false),
        cmocka_unit_test(text_is_printable_utf8__when_text__then_true),
        cmocka_unit_test(text_is_printable_utf8__when_control_or_malformed__then_false),
        cmocka_unit_test(text_utf8_next__when_each_width__then_size_and_point),
        cmocka_unit_test(text_hex__when_turned_back__then_same_bytes),
        cmocka_unit_test(text_unhex__when_not_exactly_that_many_digits__then_false),
        cmocka_unit_test(text_base32__when_printed__then_crockford_without_padding),
        cmocka_unit_test(text_time__when_printed__then_utc_with_milliseconds),
        cmocka_unit_test(text_uuid__when_made__then_version_7_of_now),
        cmocka_unit_test(text_uuid__when_made_later__then_sorts_after),
        cmocka_unit_test(text_format__when_cut__then_false_and_terminated),
        cmocka_unit_test(add_segment__when_odd__then_percent_encoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
