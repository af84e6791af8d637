/* Requests by route and status. Two open tables that only grow: a slot is claimed once by compare-and-swap of its key
   and never given back, so a reader needs no lock and a claimed key never changes. What finds no slot is counted under
   "other", never dropped. */
#include "metrics/requests.h"

#include "base/memory.h"
#include "metrics/histogram.h"
#include "metrics/metrics.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { ROUTES_MAX = 128, STATUSES_MAX = 24 };

struct status_slot {
    _Atomic int status; /* 0 = free */
    _Atomic int64_t count;
};

struct route_slot {
    const char *_Atomic route; /* NULL = free */
    struct status_slot statuses[STATUSES_MAX];
    _Atomic int64_t other_statuses;
    struct histogram micros;
};

/* The last one takes the routes that came too late. */
static struct route_slot slots[ROUTES_MAX + 1];

/* FNV-1a. */
static uint32_t hash(const char *s) {
    uint32_t h = 2166136261u;
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

/* Puts a copy into a free slot: whoever owns the route may end before the page is last written. Returns what the slot
   holds after, ours or that of whoever was faster. */
static const char *settle_route(struct route_slot *slot, const char *route) {
    char *copy = mem_copy(route, strlen(route));
    const char *there = NULL;
    if (atomic_compare_exchange_strong_explicit(&slot->route, &there, copy, memory_order_acq_rel, memory_order_acquire))
        return copy;
    free(copy);
    return there;
}

static struct route_slot *find_route(const char *route) {
    uint32_t first = hash(route);
    for (uint32_t i = 0; i < ROUTES_MAX; i++) {
        struct route_slot *slot = &slots[(first + i) % ROUTES_MAX];
        const char *there = atomic_load_explicit(&slot->route, memory_order_acquire);
        if (!there) there = settle_route(slot, route);
        if (strcmp(there, route) == 0) return slot;
    }
    return &slots[ROUTES_MAX];
}

static bool claim_status(struct status_slot *slot, int status) {
    int there = atomic_load_explicit(&slot->status, memory_order_relaxed);
    if (there == 0 && atomic_compare_exchange_strong_explicit(&slot->status, &there, status, memory_order_relaxed,
                                                              memory_order_relaxed))
        return true;
    return there == status;
}

static _Atomic int64_t *find_count(struct route_slot *slot, int status) {
    if (status == 0) return &slot->other_statuses;
    for (size_t i = 0; i < STATUSES_MAX; i++)
        if (claim_status(&slot->statuses[i], status)) return &slot->statuses[i].count;
    return &slot->other_statuses;
}

void metric_request(const char *route, int status, int64_t micros) {
    struct route_slot *slot = find_route(route);
    atomic_fetch_add_explicit(find_count(slot, status), 1, memory_order_relaxed);
    histogram_observe(&slot->micros, HISTOGRAM_SECONDS, micros);
}

/* NULL when the slot has counted nothing. */
static const char *shown_route(size_t i) {
    if (i == ROUTES_MAX) return histogram_count(&slots[i].micros) ? "other" : NULL;
    return atomic_load_explicit(&slots[i].route, memory_order_acquire);
}

static void count_write(struct text *out, const char *route, const char *status, int64_t count) {
    if (count == 0) return;
    AUTO_TEXT labels = text_new(0);
    label_add(&labels, "route", route);
    text_add_char(&labels, ',');
    label_add(&labels, "status", status);
    sample_write(out, REQUESTS_NAME, text_str(&labels), count);
}

static void counts_write(struct text *out, const struct route_slot *slot, const char *route) {
    for (size_t i = 0; i < STATUSES_MAX; i++) {
        const struct status_slot *s = &slot->statuses[i];
        char status[12];
        text_format(status, sizeof status, "%d", atomic_load_explicit(&s->status, memory_order_relaxed));
        count_write(out, route, status, atomic_load_explicit(&s->count, memory_order_relaxed));
    }
    count_write(out, route, "other", atomic_load_explicit(&slot->other_statuses, memory_order_relaxed));
}

static void seconds_write(struct text *out, const struct route_slot *slot, const char *route) {
    AUTO_TEXT labels = text_new(0);
    label_add(&labels, "route", route);
    histogram_write(out, &slot->micros, HISTOGRAM_SECONDS, REQUEST_SECONDS_NAME, text_str(&labels));
}

void requests_write(struct text *out) {
    family_write(out, REQUESTS_NAME, "counter", REQUESTS_HELP);
    for (size_t i = 0; i <= ROUTES_MAX; i++)
        if (shown_route(i)) counts_write(out, &slots[i], shown_route(i));
    family_write(out, REQUEST_SECONDS_NAME, "histogram", REQUEST_SECONDS_HELP);
    for (size_t i = 0; i <= ROUTES_MAX; i++)
        if (shown_route(i)) seconds_write(out, &slots[i], shown_route(i));
}
