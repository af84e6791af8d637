/* Buckets at their bounds, and text that Prometheus can read. */
#include "metrics/histogram.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct histogram h;

static int setup(void **state) {
    memset(&h, 0, sizeof h);
    return 0;
}

static void assert_writes(enum histogram_unit unit, const char *labels, const char *line) {
    AUTO_TEXT out = text_new(0);
    histogram_write(&out, &h, unit, "m", labels);
    if (!strstr(text_str(&out), line)) fail_msg("no line %s in\n%s", line, text_str(&out));
}

static void histogram_observe__when_on_a_bound__then_in_the_bucket_below(void **state) {
    histogram_observe(&h, HISTOGRAM_SECONDS, 500);
    histogram_observe(&h, HISTOGRAM_SECONDS, 501);
    histogram_observe(&h, HISTOGRAM_SECONDS, 10000000);
    histogram_observe(&h, HISTOGRAM_SECONDS, 10000001);
    assert_writes(HISTOGRAM_SECONDS, "", "m_bucket{le=\"0.0005\"} 1\nm_bucket{le=\"0.001\"} 2\n");
    assert_writes(HISTOGRAM_SECONDS, "", "m_bucket{le=\"10\"} 3\nm_bucket{le=\"+Inf\"} 4\n");
    assert_writes(HISTOGRAM_SECONDS, "", "m_sum 20.001002\nm_count 4\n");
}

static void histogram_observe__when_sizes__then_doubling_buckets(void **state) {
    for (int64_t n = 1; n <= 4096; n *= 2) histogram_observe(&h, HISTOGRAM_SIZES, n);
    histogram_observe(&h, HISTOGRAM_SIZES, 5000);
    assert_writes(HISTOGRAM_SIZES, "", "m_bucket{le=\"1\"} 1\nm_bucket{le=\"2\"} 2\nm_bucket{le=\"4\"} 3\n");
    assert_writes(HISTOGRAM_SIZES, "",
                  "m_bucket{le=\"1024\"} 11\nm_bucket{le=\"4096\"} 13\nm_bucket{le=\"+Inf\"} 14\n");
    assert_writes(HISTOGRAM_SIZES, "", "m_sum 13191\nm_count 14\n");
    assert_int_equal(histogram_count(&h), 14);
}

static void histogram_observe__when_negative__then_as_zero(void **state) {
    histogram_observe(&h, HISTOGRAM_SECONDS, -5);
    assert_writes(HISTOGRAM_SECONDS, "", "m_bucket{le=\"0.0005\"} 1\n");
    assert_writes(HISTOGRAM_SECONDS, "", "m_sum 0.000000\nm_count 1\n");
}

static void histogram_write__when_labelled__then_le_comes_last(void **state) {
    histogram_observe(&h, HISTOGRAM_SIZES, 1);
    assert_writes(HISTOGRAM_SIZES, "stage=\"queue\"", "m_bucket{stage=\"queue\",le=\"1\"} 1\n");
    assert_writes(HISTOGRAM_SIZES, "stage=\"queue\"", "m_sum{stage=\"queue\"} 1\nm_count{stage=\"queue\"} 1\n");
}

static void family_write__when_help_has_special_characters__then_escaped(void **state) {
    AUTO_TEXT out = text_new(0);
    family_write(&out, "m", "gauge", "a\\b\nc \"d\"");
    assert_string_equal(text_str(&out), "# HELP m a\\\\b\\nc \"d\"\n# TYPE m gauge\n");
}

static void label_add__when_value_has_special_characters__then_escaped(void **state) {
    AUTO_TEXT out = text_new(0);
    label_add(&out, "l", "a\"b\\c\nd");
    assert_string_equal(text_str(&out), "l=\"a\\\"b\\\\c\\nd\"");
}

static void sample_write__when_without_labels__then_without_braces(void **state) {
    AUTO_TEXT out = text_new(0);
    sample_write(&out, "m", "", -3);
    sample_write(&out, "m", "a=\"b\"", 4);
    assert_string_equal(text_str(&out), "m -3\nm{a=\"b\"} 4\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(histogram_observe__when_on_a_bound__then_in_the_bucket_below, setup),
        cmocka_unit_test_setup(histogram_observe__when_sizes__then_doubling_buckets, setup),
        cmocka_unit_test_setup(histogram_observe__when_negative__then_as_zero, setup),
        cmocka_unit_test_setup(histogram_write__when_labelled__then_le_comes_last, setup),
        cmocka_unit_test(family_write__when_help_has_special_characters__then_escaped),
        cmocka_unit_test(label_add__when_value_has_special_characters__then_escaped),
        cmocka_unit_test(sample_write__when_without_labels__then_without_braces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
