/* The metrics of metrics.def: one cell a metric and label value, allocated for the life of the process. A label is an
   index into its row's fixed set, so the number of series is known from the table alone. */
#include "metrics/metrics.h"

#include "metrics/histogram.h"
#include "metrics/requests.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum kind { KIND_COUNTER, KIND_GAUGE, KIND_HISTOGRAM };

static const struct row {
    enum kind kind;
    const char *name, *label, *values, *help;
} rows[METRIC_COUNT] = {
#define METRIC_COUNTER(id, name_, label_, values_, help_) [METRIC_##id] = {KIND_COUNTER, name_, label_, values_, help_},
#define METRIC_GAUGE(id, name_, label_, values_, help_) [METRIC_##id] = {KIND_GAUGE, name_, label_, values_, help_},
#define METRIC_HISTOGRAM(id, name_, label_, values_, help_)                                                            \
    [METRIC_##id] = {KIND_HISTOGRAM, name_, label_, values_, help_},
#include "metrics/metrics.def"
#undef METRIC_COUNTER
#undef METRIC_GAUGE
#undef METRIC_HISTOGRAM
};

static const char *const kind_names[] = {"counter", "gauge", "histogram"};

enum { LABELS_MAX = 8 /* a power of two: see the_label */ };
static_assert((LABELS_MAX & (LABELS_MAX - 1)) == 0, "the_label masks");

static _Atomic int64_t numbers[METRIC_COUNT][LABELS_MAX];
static struct histogram histograms[METRIC_COUNT][LABELS_MAX];

/* A wrong label is the caller's fault; the mask keeps it from becoming a wrong write. */
static unsigned the_label(unsigned label) {
    assert(label < LABELS_MAX);
    return label & (LABELS_MAX - 1);
}

static _Atomic int64_t *number(enum metric metric, unsigned label) { return &numbers[metric][the_label(label)]; }

static enum histogram_unit unit_of(enum metric metric) {
    static const char suffix[] = "_seconds";
    size_t len = strlen(rows[metric].name), tail = sizeof suffix - 1;
    bool seconds = len > tail && memcmp(rows[metric].name + len - tail, suffix, tail) == 0;
    return seconds ? HISTOGRAM_SECONDS : HISTOGRAM_SIZES;
}

void metric_add(enum metric metric, unsigned label, int64_t n) {
    atomic_fetch_add_explicit(number(metric, label), n, memory_order_relaxed);
}

void metric_set(enum metric metric, unsigned label, int64_t value) {
    atomic_store_explicit(number(metric, label), value, memory_order_relaxed);
}

void metric_observe(enum metric metric, unsigned label, int64_t value) {
    histogram_observe(&histograms[metric][the_label(label)], unit_of(metric), value);
}

int64_t metric_get(enum metric metric, unsigned label) {
    if (rows[metric].kind == KIND_HISTOGRAM) return histogram_count(&histograms[metric][the_label(label)]);
    return atomic_load_explicit(number(metric, label), memory_order_relaxed);
}

static void series_write(struct text *out, enum metric metric, unsigned label, const char *labels) {
    if (rows[metric].kind == KIND_HISTOGRAM)
        histogram_write(out, &histograms[metric][label], unit_of(metric), rows[metric].name, labels);
    else
        sample_write(out, rows[metric].name, labels, metric_get(metric, label));
}

/* One series for each value of the set "a|b|c". */
static void labelled_write(struct text *out, enum metric metric) {
    const char *value = rows[metric].values;
    for (unsigned label = 0; label < LABELS_MAX; label++) {
        size_t len = strcspn(value, "|");
        AUTO_TEXT plain = text_new(0), labels = text_new(0);
        text_add(&plain, value, len);
        label_add(&labels, rows[metric].label, text_str(&plain));
        series_write(out, metric, label, text_str(&labels));
        value += len;
        if (!*value++) return;
    }
}

void metrics_write(struct text *out) {
    for (int i = 0; i < METRIC_COUNT; i++) {
        const struct row *row = &rows[i];
        family_write(out, row->name, kind_names[row->kind], row->help);
        if (*row->label)
            labelled_write(out, (enum metric)i);
        else
            series_write(out, (enum metric)i, 0, "");
    }
    requests_write(out);
}

/* `stage`: queue, lock, … */
static void print_labels(const struct row *row) {
    if (!*row->label) return;
    printf("`%s`: ", row->label);
    for (const char *c = row->values; *c; c++)
        if (*c == '|')
            fputs(", ", stdout);
        else
            putchar(*c);
}

static void print_row(const struct row *row) {
    printf("| `%s` | %s | ", row->name, kind_names[row->kind]);
    print_labels(row);
    printf(" | %s |\n", row->help);
}

void metrics_print_markdown(void) {
    static const struct row by_route[] = {
        {KIND_COUNTER, REQUESTS_NAME, "route, status", "the route's pattern and the exact code", REQUESTS_HELP},
        {KIND_HISTOGRAM, REQUEST_SECONDS_NAME, "route", "the route's pattern", REQUEST_SECONDS_HELP},
    };
    printf("| metric | type | labels | meaning |\n|---|---|---|---|\n");
    for (int i = 0; i < METRIC_COUNT; i++) print_row(&rows[i]);
    for (size_t i = 0; i < sizeof by_route / sizeof *by_route; i++) print_row(&by_route[i]);
}
