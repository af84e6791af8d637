/* Durations both ways, and everything that is not one. */
#include "base/duration.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void duration_parse__when_well_formed__then_milliseconds(void **state) {
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"PT15M", 900000},
        {"PT1.5S", 1500},
        {"P1D", 86400000},
        {"PT0S", 0},
        {"PT0.001S", 1},
        {"PT0.120000000S", 120},
        {"PT1H30M", 5400000},
        {"P2DT3H4M5.006S", 183845006},
        {"PT36H", 129600000},
        {"PT007S", 7000},
        {"PT9223372036854775.807S", INT64_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t ms = -1;
        if (!duration_parse(rows[i].text, strlen(rows[i].text), &ms)) fail_msg("%s refused", rows[i].text);
        assert_int_equal(ms, rows[i].ms);
    }
}

static void duration_parse__when_malformed__then_false_and_untouched(void **state) {
    static const char *const rows[] = {
        "",
        "P",
        "PT",
        "P1",
        "15M",
        "T15M",
        "PT15",
        "P15M",
        "PTM",
        "P1DT",
        "PT1M1H",
        "PT1M1M",
        "P1H",
        "PT1D",
        "PT1.5M",
        "P1.5D",
        "PT1.S",
        "PT.5S",
        "PT-1S",
        "-PT1S",
        "+PT1S",
        "PT1S ",
        " PT1S",
        "pt1s",
        "PT1,5S",
        "P1Y",
        "P1W",
        "P1M1D",
        "PT1ST1S",
        "PTT1S",
        "PT0.0001S",
        "PT1.0000000000S",
        "PT1S1S",
        "PT1.5.5S",
        "PT99999999999999999999S",
        "P106751991168D",
        "PT9223372036854775.808S",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t ms = -7;
        if (duration_parse(rows[i], strlen(rows[i]), &ms)) fail_msg("%s accepted", rows[i]);
        assert_int_equal(ms, -7);
    }
}

static void duration_parse__when_length_cuts_the_text__then_only_that_part_counts(void **state) {
    int64_t ms;
    assert_true(duration_parse("PT1SX", 4, &ms));
    assert_int_equal(ms, 1000);
    assert_false(duration_parse("PT1S", 3, &ms));
    assert_false(duration_parse("PT1\0S", 5, &ms));
}

static void duration_format__when_formatted__then_shortest_spelling(void **state) {
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {0, "PT0S"},
        {1, "PT0.001S"},
        {1500, "PT1.5S"},
        {120, "PT0.12S"},
        {900000, "PT15M"},
        {5400000, "PT1H30M"},
        {86400000, "P1D"},
        {183845006, "P2DT3H4M5.006S"},
        {31536000000, "P365D"},
        {1010, "PT1.01S"},
        {60000, "PT1M"},
        {86400001, "P1DT0.001S"},
        {INT64_MAX, "P106751991167DT7H12M55.807S"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[DURATION_SIZE];
        duration_format(rows[i].ms, out);
        assert_string_equal(out, rows[i].text);
    }
}

static void duration_format__when_parsed_again__then_same_value(void **state) {
    for (int64_t ms = 0; ms < INT64_MAX / 7; ms = ms * 7 + 1) {
        char out[DURATION_SIZE];
        int64_t again = -1;
        duration_format(ms, out);
        assert_true(duration_parse(out, strlen(out), &again));
        assert_int_equal(again, ms);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(duration_parse__when_well_formed__then_milliseconds),
        cmocka_unit_test(duration_parse__when_malformed__then_false_and_untouched),
        cmocka_unit_test(duration_parse__when_length_cuts_the_text__then_only_that_part_counts),
        cmocka_unit_test(duration_format__when_formatted__then_shortest_spelling),
        cmocka_unit_test(duration_format__when_parsed_again__then_same_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
