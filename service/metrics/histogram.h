/* Fixed-bucket histograms and the Prometheus text around samples: what metrics.c and requests.c share. Any thread. */
#pragma once

#include "base/text.h"

#include <stdatomic.h>

#define HISTOGRAM_BUCKETS_MAX 14

/* buckets[i] counts what lies above bound i-1 and up to bound i, the one after the last bound the rest. Zeroed = empty.
   A reader may see a sum that is one observation ahead of or behind the buckets; the buckets agree with themselves. */
struct histogram {
    _Atomic int64_t sum;
    _Atomic int64_t buckets[HISTOGRAM_BUCKETS_MAX + 1];
};

enum histogram_unit { HISTOGRAM_SECONDS /* observed in microseconds */, HISTOGRAM_SIZES };

/* Negative values count as 0. */
void histogram_observe(struct histogram *h, enum histogram_unit unit, int64_t value);
int64_t histogram_count(const struct histogram *h);
/* The lines of one series; labels is "" or `a="b"`, already escaped. */
void histogram_write(struct text *out, const struct histogram *h, enum histogram_unit unit, const char *name,
                     const char *labels);

/* "# HELP" and "# TYPE". */
void family_write(struct text *out, const char *name, const char *type, const char *help);
/* `name{labels} value`, without braces when labels is "". */
void sample_write(struct text *out, const char *name, const char *labels, int64_t value);
/* Appends `name="value"` with value escaped. */
void label_add(struct text *out, const char *name, const char *value);
