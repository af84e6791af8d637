/* Latencies in microseconds, counted in buckets that are never wider than 1/64 of their value: percentiles are exact to
   1.6 %, and adding one costs a few nanoseconds. Plain memory, one thread. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#define LATENCY_STEPS 64 /* buckets per power of two */
#define LATENCY_POWERS 32
#define LATENCY_BUCKETS (LATENCY_STEPS * LATENCY_POWERS)

/* Zeroed memory is an empty collection. */
struct latency {
    uint64_t counts[LATENCY_BUCKETS];
    uint64_t count;
    int64_t max_us;
};

/* Negative values count as 0; what is beyond the last bucket counts there. */
void latency_add(struct latency *h, int64_t us);
void latency_merge(struct latency *into, const struct latency *from);
/* The value that `share` (0..1) of all are at most; 0 when empty. Never more than the greatest value added. */
int64_t latency_at(const struct latency *h, double share);
/* {"count":…,"p50":…,"p90":…,"p99":…,"max":…} */
void latency_print(const struct latency *h, FILE *out);
