#include "bench/latency.h"

#include <stdbool.h>
#include <stddef.h>

/* Values below LATENCY_STEPS have a bucket each; above, bucket = (power, the 6 bits after the leading one). */
static size_t bucket_of(int64_t us) {
    if (us < LATENCY_STEPS) return us < 0 ? 0 : (size_t)us;
    int power = 63 - __builtin_clzll((unsigned long long)us);
    size_t step = (size_t)(us >> (power - 6)) - LATENCY_STEPS;
    size_t bucket = (size_t)(power - 5) * LATENCY_STEPS + step;
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

/* Greatest value of the bucket. */
static int64_t bucket_top(size_t bucket) {
    if (bucket < LATENCY_STEPS) return (int64_t)bucket;
    int shift = (int)(bucket / LATENCY_STEPS) - 1;
    int64_t step = (int64_t)(bucket % LATENCY_STEPS) + LATENCY_STEPS;
    return ((step + 1) << shift) - 1;
}

void latency_add(struct latency *h, int64_t us) {
    h->counts[bucket_of(us)]++;
    h->count++;
    if (us > h->max_us) h->max_us = us;
}

void latency_merge(struct latency *into, const struct latency *from) {
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) into->counts[i] += from->counts[i];
    into->count += from->count;
    if (from->max_us > into->max_us) into->max_us = from->max_us;
}

int64_t latency_at(const struct latency *h, double share) {
    uint64_t wanted = (uint64_t)(share * (double)h->count), seen = 0;
    if (wanted >= h->count) return h->max_us;
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        seen += h->counts[i];
        if (seen > wanted) return bucket_top(i) < h->max_us ? bucket_top(i) : h->max_us;
    }
    return h->max_us;
}

void latency_print(const struct latency *h, FILE *out) {
    fprintf(out, "{\"count\":%llu,\"p50\":%lld,\"p90\":%lld,\"p99\":%lld,\"max\":%lld}", (unsigned long long)h->count,
            (long long)latency_at(h, 0.50), (long long)latency_at(h, 0.90), (long long)latency_at(h, 0.99),
            (long long)h->max_us);
}
