#include "timeouts/timeouts.h"

#include "base/fault.h"
#include "facade/outside.h"
#include "metrics/metrics.h"
#include "store/overdue.h"

#include <assert.h>

#define BATCH_MAX 200    /* of one call; less when the queue is small */
#define QUEUE_PART 4     /* a batch takes at most this part of the queue */
#define BATCHES_MAX 1000 /* of one run: the run's own time ends it earlier */

static_assert(BATCH_MAX <= FACADE_CALL_MAX, "a batch is one call");
static_assert(BATCH_MAX <= OVERDUE_LIMIT_MAX, "a batch is one scan");

/* Labels of METRIC_TIMEOUTS. */
enum outcome { OUTCOME_CANCELLED, OUTCOME_UNANSWERED, OUTCOME_RELEASED, OUTCOME_KEPT, OUTCOME_FAILED };

/* One scan of one job. */
struct scan {
    struct job_run *run;
    struct facade *facade;
    struct overdue_scan place; /* where the scan stands, and how late is late */
    size_t batch;
    enum outcome done_as;
    /* Reads the next batch and makes its riders; *ret_count 0 = nothing is left. */
    struct result (*next)(struct scan *scan, struct rider **riders, size_t *ret_count);
};

static size_t batch_of(const struct config *config) {
    size_t part = (size_t)config->queue_max / QUEUE_PART;
    return part == 0 ? 1 : part < BATCH_MAX ? part : BATCH_MAX;
}

/* Somebody was faster: paid, cancelled, confirmed or released it. */
static bool is_kept(enum error error) {
    return error == ERROR_ORDER_CANCELLED || error == ERROR_ORDER_STATE || error == ERROR_RESERVATION_STATE ||
           error == ERROR_ORDER_NOT_FOUND || error == ERROR_RESERVATION_NOT_FOUND;
}

static enum outcome outcome_of(const struct scan *scan, const struct answer *answer) {
    if (answer->error == ERROR_NONE) return scan->done_as;
    return is_kept(answer->error) ? OUTCOME_KEPT : OUTCOME_FAILED;
}

/* False: nothing of it could be done. */
static bool carry_out(struct scan *scan, struct rider **riders, size_t count) {
    struct answer answers[BATCH_MAX];
    size_t failures = 0;
    facade_call(scan->facade, riders, count, answers);
    for (size_t i = 0; i < count; i++) {
        enum outcome outcome = outcome_of(scan, &answers[i]);
        metric_add(METRIC_TIMEOUTS, outcome, 1);
        scan->run->done += outcome == scan->done_as;
        failures += outcome == OUTCOME_FAILED;
    }
    answers_done(answers, count);
    return failures < count;
}

static RESULT run_batches(struct scan *scan) {
    struct rider *riders[BATCH_MAX];
    for (unsigned i = 0; i < BATCHES_MAX && job_run_still_ours(scan->run); i++) {
        size_t count = 0;
        TRY(scan->next(scan, riders, &count));
        if (count == 0) return OK;
        if (!carry_out(scan, riders, count)) FAIL(UNAVAILABLE, 0);
        if (count < scan->batch) return OK;
    }
    return OK;
}

static RESULT next_orders(struct scan *scan, struct rider **riders, size_t *ret_count) {
    int64_t ids[BATCH_MAX];
    TRY(overdue_orders(scan->run->db, &scan->place, scan->batch, ids, ret_count));
    for (size_t i = 0; i < *ret_count; i++)
        riders[i] = rider_for_timeout(ids[i], scan->place.status, scan->place.overdue_ms);
    return OK;
}

static RESULT next_reservations(struct scan *scan, struct rider **riders, size_t *ret_count) {
    struct reservation_ref refs[BATCH_MAX];
    TRY(overdue_reservations(scan->run->db, &scan->place, scan->batch, refs, ret_count));
    for (size_t i = 0; i < *ret_count; i++) {
        riders[i] = rider_for_reservation(COMMAND_RESERVATION_SWEEP, refs[i].credential, refs[i].order_id, 0);
        riders[i]->command.reservation.overdue_ms = scan->place.overdue_ms;
        riders[i]->command.reservation.blind = fault_on(FAULT_STALE_TIMEOUT);
    }
    return OK;
}

static struct scan scan_of(struct job_run *run, void *facade) {
    return (struct scan){.run = run,
                         .facade = facade,
                         .place = overdue_scan_start(),
                         .batch = batch_of(run->config),
                         .done_as = OUTCOME_CANCELLED,
                         .next = next_orders};
}

RESULT timeouts_cancel_unpaid(struct job_run *run, void *facade) {
    struct scan scan = scan_of(run, facade);
    scan.place.status = ORDER_PAYMENT_REQUESTED;
    scan.place.overdue_ms = run->config->payment_timeout;
    if (run->config->payment_status_url[0] != '\0') {
        scan.done_as = OUTCOME_UNANSWERED;
        if (scan.place.overdue_ms < TIMEOUT_UNANSWERED_MS) scan.place.overdue_ms = TIMEOUT_UNANSWERED_MS;
    }
    return run_batches(&scan);
}

RESULT timeouts_cancel_expired(struct job_run *run, void *facade) {
    struct scan scan = scan_of(run, facade);
    scan.place.status = ORDER_PENDING;
    return run_batches(&scan);
}

RESULT timeouts_release_overdue(struct job_run *run, void *facade) {
    struct scan scan = scan_of(run, facade);
    scan.place.overdue_ms = run->config->reservation_grace;
    scan.done_as = OUTCOME_RELEASED;
    scan.next = next_reservations;
    return run_batches(&scan);
}
