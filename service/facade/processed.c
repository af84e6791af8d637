/* Commands that come from events of others. The event is written down in the transaction of its effect, so it has its
   effect once, whatever is delivered twice and whoever dies between. Looked up after the row locks: equal events lock
   equal rows, so what another instance did with one is there by then; a pair that locks no row meets at the primary
   key, and the second attempt reads it. */
#include "base/fault.h"
#include "base/memory.h"
#include "facade/answer.h"
#include "facade/trip.h"

#include <stdlib.h>
#include <string.h>

/* Riders with an event, sorted by event id, group and arrival. */
struct carriers {
    struct rider **riders;
    size_t count;
};

static int compare_events(const struct processed_event *a, const struct processed_event *b) {
    int order = strcmp(a->event_id, b->event_id);
    return order != 0 ? order : strcmp(a->consumer_group, b->consumer_group);
}

static int by_event(const void *a, const void *b) {
    const struct rider *x = *(struct rider *const *)a, *y = *(struct rider *const *)b;
    int order = compare_events(x->event, y->event);
    return order != 0 ? order : (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static size_t count_carriers(const struct attempt *attempt) {
    size_t count = 0;
    for (size_t i = 0; i < attempt->count; i++) count += attempt->riders[i]->event != NULL;
    return count;
}

/* Room for all of them is in carriers->riders. */
static void find_carriers(const struct attempt *attempt, struct carriers *carriers) {
    for (size_t i = 0; i < attempt->count; i++)
        if (attempt->riders[i]->event != NULL) carriers->riders[carriers->count++] = attempt->riders[i];
    qsort(carriers->riders, carriers->count, sizeof(struct rider *), by_event);
}

static void link_equals(const struct carriers *carriers) {
    for (size_t i = 1; i < carriers->count; i++)
        if (compare_events(carriers->riders[i - 1]->event, carriers->riders[i]->event) == 0)
            carriers->riders[i]->same_event = carriers->riders[i - 1];
}

static size_t first_of(const struct carriers *carriers, const struct processed_event *event) {
    size_t low = 0, high = carriers->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_events(carriers->riders[middle]->event, event) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void on_processed(void *arg, const struct processed_event *row) {
    const struct carriers *carriers = arg;
    for (size_t i = first_of(carriers, row); i < carriers->count; i++) {
        struct rider *rider = carriers->riders[i];
        if (compare_events(rider->event, row) != 0) return;
        rider->fate = FATE_ANSWERED; /* a blocked row keeps nobody waiting who has nothing to do there */
        answer_duplicate(rider);
    }
}

static RESULT find_processed(struct attempt *attempt, struct carriers *carriers) {
    AUTO_FREE const char **ids = mem_array(carriers->count + 1, sizeof ids[0]);
    for (size_t i = 0; i < carriers->count; i++) ids[i] = carriers->riders[i]->event->event_id;
    return processed_events_find(attempt->db, ids, carriers->count, on_processed, carriers);
}

RESULT attempt_load_processed(struct attempt *attempt) {
    size_t count = count_carriers(attempt);
    if (count == 0 || fault_on(FAULT_NO_PROCESSED_EVENTS)) return OK;
    AUTO_FREE struct rider **riders = mem_array(count, sizeof riders[0]);
    struct carriers carriers = {riders, 0};
    find_carriers(attempt, &carriers);
    link_equals(&carriers);
    return find_processed(attempt, &carriers);
}

RESULT attempt_write_processed(struct attempt *attempt, size_t *ret_count) {
    size_t count = count_carriers(attempt);
    *ret_count = 0;
    if (count == 0) return OK;
    AUTO_FREE struct rider **riders = mem_array(count, sizeof riders[0]);
    AUTO_FREE const struct processed_event **rows = mem_array(count, sizeof rows[0]);
    struct carriers carriers = {riders, 0};
    find_carriers(attempt, &carriers);
    for (size_t i = 0; i < carriers.count; i++)
        if (riders[i]->answer.processed) rows[(*ret_count)++] = riders[i]->event;
    if (*ret_count == 0 || fault_on(FAULT_NO_PROCESSED_EVENTS)) return OK;
    return processed_events_insert(attempt->db, rows, *ret_count, attempt->world.now_ms);
}
