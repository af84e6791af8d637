/* Buckets are kept apart and added up when written, so that an observation touches two numbers only. */
#include "metrics/histogram.h"

#include <assert.h>

/* A bound in the unit that is observed, and as Prometheus shows it. */
struct bound {
    int64_t value;
    const char *shown;
};

static const struct bound second_bounds[] = {
    {500, "0.0005"},  {1000, "0.001"},  {2500, "0.0025"}, {5000, "0.005"},  {10000, "0.01"},
    {25000, "0.025"}, {50000, "0.05"},  {100000, "0.1"},  {250000, "0.25"}, {500000, "0.5"},
    {1000000, "1"},   {2500000, "2.5"}, {5000000, "5"},   {10000000, "10"},
};
static const struct bound size_bounds[] = {
    {1, "1"},   {2, "2"},     {4, "4"},     {8, "8"},     {16, "16"},     {32, "32"},
    {64, "64"}, {128, "128"}, {256, "256"}, {512, "512"}, {1024, "1024"}, {4096, "4096"},
};

struct scale {
    const struct bound *bounds;
    size_t count;
};

static const struct scale scales[] = {
    [HISTOGRAM_SECONDS] = {second_bounds, sizeof second_bounds / sizeof *second_bounds},
    [HISTOGRAM_SIZES] = {size_bounds, sizeof size_bounds / sizeof *size_bounds},
};
static_assert(sizeof second_bounds / sizeof *second_bounds <= HISTOGRAM_BUCKETS_MAX, "a bucket for each bound");
static_assert(sizeof size_bounds / sizeof *size_bounds <= HISTOGRAM_BUCKETS_MAX, "a bucket for each bound");

static void add(_Atomic int64_t *cell, int64_t n) { atomic_fetch_add_explicit(cell, n, memory_order_relaxed); }
static int64_t get(const _Atomic int64_t *cell) { return atomic_load_explicit(cell, memory_order_relaxed); }

void histogram_observe(struct histogram *h, enum histogram_unit unit, int64_t value) {
    const struct scale *scale = &scales[unit];
    int64_t seen = value > 0 ? value : 0;
    size_t i = 0;
    while (i < scale->count && seen > scale->bounds[i].value) i++;
    add(&h->buckets[i], 1);
    add(&h->sum, seen);
}

int64_t histogram_count(const struct histogram *h) {
    int64_t count = 0;
    for (size_t i = 0; i <= HISTOGRAM_BUCKETS_MAX; i++) count += get(&h->buckets[i]);
    return count;
}

static void add_name(struct text *out, const char *name, const char *suffix, const char *labels) {
    text_add_str(out, name);
    text_add_str(out, suffix);
    if (*labels) text_addf(out, "{%s}", labels);
    text_add_char(out, ' ');
}

static void bucket_write(struct text *out, const char *name, const char *labels, const char *bound, int64_t count) {
    text_addf(out, "%s_bucket{%s%sle=\"%s\"} ", name, labels, *labels ? "," : "", bound);
    text_add_i64(out, count);
    text_add_char(out, '\n');
}

static void sum_write(struct text *out, enum histogram_unit unit, int64_t sum) {
    if (unit == HISTOGRAM_SECONDS)
        text_addf(out, "%lld.%06lld\n", (long long)(sum / 1000000), (long long)(sum % 1000000));
    else
        text_addf(out, "%lld\n", (long long)sum);
}

void histogram_write(struct text *out, const struct histogram *h, enum histogram_unit unit, const char *name,
                     const char *labels) {
    const struct scale *scale = &scales[unit];
    int64_t count = 0;
    for (size_t i = 0; i < scale->count; i++) {
        count += get(&h->buckets[i]);
        bucket_write(out, name, labels, scale->bounds[i].shown, count);
    }
    count += get(&h->buckets[scale->count]);
    bucket_write(out, name, labels, "+Inf", count);
    add_name(out, name, "_sum", labels);
    sum_write(out, unit, get(&h->sum));
    add_name(out, name, "_count", labels);
    text_add_i64(out, count);
    text_add_char(out, '\n');
}

/* HELP escapes backslash and newline, a label value the quote too. */
static void add_escaped(struct text *out, const char *s, bool quote) {
    for (; *s; s++) {
        if (*s == '\n') {
            text_add_str(out, "\\n");
            continue;
        }
        if (*s == '\\' || (quote && *s == '"')) text_add_char(out, '\\');
        text_add_char(out, *s);
    }
}

void family_write(struct text *out, const char *name, const char *type, const char *help) {
    text_addf(out, "# HELP %s ", name);
    add_escaped(out, help, false);
    text_addf(out, "\n# TYPE %s %s\n", name, type);
}

void sample_write(struct text *out, const char *name, const char *labels, int64_t value) {
    add_name(out, name, "", labels);
    text_add_i64(out, value);
    text_add_char(out, '\n');
}

void label_add(struct text *out, const char *name, const char *value) {
    text_addf(out, "%s=\"", name);
    add_escaped(out, value, true);
    text_add_char(out, '"');
}
