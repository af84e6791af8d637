/* Counters, gauges and histograms of the whole process in Prometheus text. Any thread: relaxed atomics, no lock. */
#pragma once

#include "base/text.h"

#include <stdint.h>

/* metrics.def rows: METRIC_COUNTER | METRIC_GAUGE | METRIC_HISTOGRAM(id, name, label, values, help).
   label "" = none, else the label name; values is its fixed set "a|b|c", addressed by index. */
enum metric {
#define METRIC_COUNTER(id, name, label, values, help) METRIC_##id,
#define METRIC_GAUGE(id, name, label, values, help) METRIC_##id,
#define METRIC_HISTOGRAM(id, name, label, values, help) METRIC_##id,
#include "metrics/metrics.def"
#undef METRIC_COUNTER
#undef METRIC_GAUGE
#undef METRIC_HISTOGRAM
    METRIC_COUNT
};

/* label: index into the row's values ("a|b|c"), 0 without a label. */
void metric_add(enum metric metric, unsigned label, int64_t n);
void metric_set(enum metric metric, unsigned label, int64_t value);
/* Histograms take microseconds when the name ends in _seconds (printed as seconds), plain numbers otherwise. */
void metric_observe(enum metric metric, unsigned label, int64_t value);
/* The number of a counter or gauge; of a histogram how much was observed. */
int64_t metric_get(enum metric metric, unsigned label);
/* One answered request: lockstock_http_requests_total{route,status} and lockstock_http_request_seconds. route is the
   pattern, not the path, and is copied. The first 128 routes and 24 statuses of each are told apart, the rest is
   "other". */
void metric_request(const char *route, int status, int64_t micros);
/* The whole page. */
void metrics_write(struct text *out);
/* Table for docs, to stdout. */
void metrics_print_markdown(void);
