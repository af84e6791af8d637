/* Targets as they come from the wire: what splits, what is decoded, what is refused. */
#include "http/target.h"

#include "base/memory.h"
#include "base/text.h"

#include "unit.h"

#include <string.h>

/* Decoded segments joined by '|', then '?' and name=value pairs joined by ','. "refused" when it is. */
static const char *decoded(const char *raw) {
    static char out[512];
    struct target target;
    AUTO_FREE char *copy = mem_copy(raw, strlen(raw));
    if (failed(target_decode(copy, &target))) return "refused";
    AUTO_TEXT text = text_new(sizeof out - 1);
    for (size_t i = 0; i < target.segment_count && i < TARGET_SEGMENTS_MAX; i++)
        text_addf(&text, "%s%s", i ? "|" : "", target.segments[i]);
    for (size_t i = 0; i < target.param_count; i++)
        text_addf(&text, "%s%s=%s", i ? "," : "?", target.params[i].name, target.params[i].value);
    text_format(out, sizeof out, "%s", text_str(&text));
    return out;
}

static void target_decode__when_given_a_target__then_pieces_or_refusal(void **state) {
    static const struct {
        const char *raw, *expected;
    } cases[] = {
        {"/", ""},
        {"/v1/orders", "v1|orders"},
        {"/v1/orders/", "v1|orders|"},
        {"//x", "|x"},
        {"/v1/locks/a%2Fb", "v1|locks|a/b"},
        {"/v1/locks/a%3Fb", "v1|locks|a?b"},
        {"/v1/locks/a%2fb%25", "v1|locks|a/b%"},
        {"/v1/locks/%2541", "v1|locks|%41"},
        {"/v1/locks/a+b", "v1|locks|a+b"},
        {"/v1/locks/%C3%A4%E2%82%AC", "v1|locks|\xc3\xa4\xe2\x82\xac"},
        {"/v1/locks/..", "v1|locks|.."},
        {"http://example.org:80/v1/x?a=b", "v1|x?a=b"},
        {"HTTPS://example.org/v1", "v1"},
        {"/x?", "x"},
        {"/x?a=1&b=2", "x?a=1,b=2"},
        {"/x?a=1+2%2B3", "x?a=1 2+3"},
        {"/x?a%3Db=c%26d", "x?a=b=c&d"},
        {"/x?a=b=c", "x?a=b=c"},
        {"/x?force&&b=", "x?force=,b="},
        {"/x?a=/y?z", "x?a=/y?z"},
        {"/x?=v", "x?=v"},
        {"", "refused"},
        {"x", "refused"},
        {"*", "refused"},
        {"http://example.org", "refused"},
        {"ftp://example.org/x", "refused"},
        {"/%", "refused"},
        {"/%4", "refused"},
        {"/%g0", "refused"},
        {"/%0g", "refused"},
        {"/%00", "refused"},
        {"/a%00b", "refused"},
        {"/%0a", "refused"},
        {"/%7f", "refused"},
        {"/%c3", "refused"},
        {"/%c0%af", "refused"},
        {"/%ed%a0%80", "refused"},
        {"/\xff", "refused"},
        {"/x?a=%zz", "refused"},
        {"/x?%00=1", "refused"},
        {"/x?a=%ff", "refused"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(decoded(cases[i].raw), cases[i].expected);
}

static void target_decode__when_refused__then_the_result_is_untouched(void **state) {
    char raw[] = "/a/%zz";
    struct target target = {.segment_count = 77};
    struct result result = target_decode(raw, &target);
    assert_int_equal(result.code, ERROR_INVALID_REQUEST);
    assert_int_equal(target.segment_count, 77);
}

static void target_decode__when_too_deep__then_counted_beyond_the_maximum(void **state) {
    struct target target;
    char eight[] = "/1/2/3/4/5/6/7/8", nine[] = "/1/2/3/4/5/6/7/8/9", more[] = "/1/2/3/4/5/6/7/8/9/10/11/12";
    assert_false(failed(target_decode(eight, &target)));
    assert_int_equal(target.segment_count, TARGET_SEGMENTS_MAX);
    assert_string_equal(target.segments[7], "8");
    assert_false(failed(target_decode(nine, &target)));
    assert_int_equal(target.segment_count, TARGET_SEGMENTS_MAX + 1);
    assert_false(failed(target_decode(more, &target)));
    assert_int_equal(target.segment_count, TARGET_SEGMENTS_MAX + 1);
}

static void target_decode__when_too_many_params__then_refused(void **state) {
    assert_string_not_equal(decoded("/?a&b&c&d&e&f&g&h&i&j&k&l"), "refused");
    assert_string_equal(decoded("/?a&b&c&d&e&f&g&h&i&j&k&l&m"), "refused");
}

static void target_param__when_asked__then_the_first_value_or_null(void **state) {
    char raw[] = "/x?a=1&a=2&empty=";
    struct target target;
    assert_false(failed(target_decode(raw, &target)));
    assert_string_equal(target_param(&target, "a"), "1");
    assert_string_equal(target_param(&target, "empty"), "");
    assert_null(target_param(&target, "absent"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(target_decode__when_given_a_target__then_pieces_or_refusal),
        cmocka_unit_test(target_decode__when_refused__then_the_result_is_untouched),
        cmocka_unit_test(target_decode__when_too_deep__then_counted_beyond_the_maximum),
        cmocka_unit_test(target_decode__when_too_many_params__then_refused),
        cmocka_unit_test(target_param__when_asked__then_the_first_value_or_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
