/* Each row of metrics.def is usable, and the page is valid Prometheus text line by line. */
#include "metrics/metrics.h"

#include <ctype.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct row {
    char kind;
    const char *name, *label, *values, *help;
};

static const struct row rows[METRIC_COUNT] = {
#define METRIC_COUNTER(id, name, label, values, help) [METRIC_##id] = {'c', name, label, values, help},
#define METRIC_GAUGE(id, name, label, values, help) [METRIC_##id] = {'g', name, label, values, help},
#define METRIC_HISTOGRAM(id, name, label, values, help) [METRIC_##id] = {'h', name, label, values, help},
#include "metrics/metrics.def"
#undef METRIC_COUNTER
#undef METRIC_GAUGE
#undef METRIC_HISTOGRAM
};

static void assert_page(const char *lines, bool expected) {
    AUTO_TEXT out = text_new(0);
    metrics_write(&out);
    if ((strstr(text_str(&out), lines) != NULL) != expected)
        fail_msg("%s lines %s in\n%s", expected ? "no" : "the", lines, text_str(&out));
}

static bool is_name(const char *s, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (!islower((unsigned char)s[i]) && !isdigit((unsigned char)s[i]) && s[i] != '_') return false;
    return len > 0;
}

/* A label set needs a name and at most eight values, none empty. */
static void rows__when_read__then_names_and_labels_are_well_formed(void **state) {
    for (int i = 0; i < METRIC_COUNT; i++) {
        const struct row *row = &rows[i];
        assert_true(is_name(row->name, strlen(row->name)));
        assert_memory_equal(row->name, "lockstock_", 10);
        assert_int_equal(*row->label != '\0', *row->values != '\0');
        assert_true(*row->help != '\0');
        assert_int_equal(row->kind == 'c', strstr(row->name, "_total") != NULL);
        unsigned count = 1;
        for (const char *c = row->values; *c; c++) {
            count += *c == '|';
            assert_false(c[0] == '|' && (c[1] == '|' || c[1] == '\0'));
        }
        assert_in_range(count, 1, 8);
    }
}

static void metric_add__when_labelled__then_that_series_alone(void **state) {
    metric_add(METRIC_TRAINS, 0, 2);
    metric_add(METRIC_TRAINS, 3, 1);
    metric_add(METRIC_TRAINS, 0, 3);
    assert_int_equal(metric_get(METRIC_TRAINS, 0), 5);
    assert_int_equal(metric_get(METRIC_TRAINS, 1), 0);
    assert_page("# TYPE lockstock_trains_total counter\nlockstock_trains_total{outcome=\"committed\"} 5\n"
                "lockstock_trains_total{outcome=\"nothing\"} 0\nlockstock_trains_total{outcome=\"failed\"} 0\n"
                "lockstock_trains_total{outcome=\"unknown\"} 1\n# HELP",
                true);
}

static void metric_set__when_set__then_replaces(void **state) {
    metric_set(METRIC_QUEUE_DEPTH, 0, 7);
    metric_set(METRIC_QUEUE_DEPTH, 0, 3);
    metric_add(METRIC_QUEUE_DEPTH, 0, -1);
    assert_int_equal(metric_get(METRIC_QUEUE_DEPTH, 0), 2);
    assert_page("# TYPE lockstock_queue_depth gauge\nlockstock_queue_depth 2\n", true);
}

static void metric_observe__when_seconds__then_microseconds_are_shown_as_seconds(void **state) {
    metric_observe(METRIC_TRAIN_STAGE, 2, 2000);
    metric_observe(METRIC_TRAIN_STAGE, 2, 250000);
    assert_int_equal(metric_get(METRIC_TRAIN_STAGE, 2), 2);
    assert_page("# TYPE lockstock_train_stage_seconds histogram\n", true);
    assert_page("lockstock_train_stage_seconds_bucket{stage=\"transaction\",le=\"0.0025\"} 1\n", true);
    assert_page("lockstock_train_stage_seconds_sum{stage=\"transaction\"} 0.252000\n"
                "lockstock_train_stage_seconds_count{stage=\"transaction\"} 2\n",
                true);
    assert_page("lockstock_train_stage_seconds_count{stage=\"queue\"} 0\n", true);
}

static void metric_observe__when_sizes__then_plain_numbers(void **state) {
    metric_observe(METRIC_TRAIN_SIZE, 0, 64);
    assert_page("lockstock_train_size_bucket{le=\"32\"} 0\nlockstock_train_size_bucket{le=\"64\"} 1\n", true);
    assert_page("lockstock_train_size_sum 64\nlockstock_train_size_count 1\n", true);
}

/* name{label="value",…} number, or a HELP or TYPE line. */
static bool is_page_line(const char *line, size_t len) {
    if (len > 7 && (memcmp(line, "# HELP ", 7) == 0 || memcmp(line, "# TYPE ", 7) == 0)) return true;
    size_t name = strcspn(line, "{ ");
    const char *at = line + name;
    if (!is_name(line, name)) return false;
    if (*at == '{') {
        do {
            size_t label = strcspn(++at, "=");
            if (!is_name(at, label) || at[label + 1] != '"') return false;
            for (at += label + 2; *at != '"'; at++) at += *at == '\\';
        } while (*++at == ',');
        if (*at++ != '}') return false;
    }
    size_t number = strspn(at + 1, "-.0123456789");
    return *at == ' ' && number > 0 && at + 1 + number == line + len;
}

static void metrics_write__when_written__then_each_line_is_valid(void **state) {
    metric_request("GET /v1/\"odd\\route\"", 200, 1);
    AUTO_TEXT out = text_new(0);
    metrics_write(&out);
    const char *end = text_str(&out) + out.len;
    assert_int_equal(end[-1], '\n');
    for (const char *line = text_str(&out); line < end;) {
        size_t len = strcspn(line, "\n");
        if (!is_page_line(line, len)) fail_msg("not a line: %.*s", (int)len, line);
        line += len + 1;
    }
}

static void metrics_write__when_written__then_each_family_once(void **state) {
    AUTO_TEXT out = text_new(0);
    metrics_write(&out);
    for (int i = 0; i < METRIC_COUNT; i++) {
        char head[128];
        assert_true(text_format(head, sizeof head, "# TYPE %s ", rows[i].name));
        const char *first = strstr(text_str(&out), head);
        assert_non_null(first);
        assert_null(strstr(first + 1, head));
    }
    assert_page("# TYPE lockstock_http_requests_total counter\n", true);
    assert_page("# TYPE lockstock_http_request_seconds histogram\n", true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows__when_read__then_names_and_labels_are_well_formed),
        cmocka_unit_test(metric_add__when_labelled__then_that_series_alone),
        cmocka_unit_test(metric_set__when_set__then_replaces),
        cmocka_unit_test(metric_observe__when_seconds__then_microseconds_are_shown_as_seconds),
        cmocka_unit_test(metric_observe__when_sizes__then_plain_numbers),
        cmocka_unit_test(metrics_write__when_written__then_each_line_is_valid),
        cmocka_unit_test(metrics_write__when_written__then_each_family_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
