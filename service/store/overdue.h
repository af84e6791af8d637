/* Orders and reservations whose time is over, oldest first, a batch at a time. Plain reads: what comes back is a hint,
   the train that takes it looks again. On a job's thread. */
#pragma once

#include "domain/reservation.h"
#include "store/db.h"

#define OVERDUE_LIMIT_MAX 256
#define OVERDUE_MOMENT_SIZE 27

/* Where a scan stands: behind the last row it gave out, so that rows nothing can be done with do not hold it up. */
struct overdue_scan {
    enum order_status status; /* orders: PENDING by expires_at, PAYMENT_REQUESTED by payment_requested_at */
    int64_t overdue_ms;       /* only those whose moment lies longer ago */
    char moment[OVERDUE_MOMENT_SIZE];
    int64_t id;
};
/* At the oldest; status and overdue_ms are the caller's. */
struct overdue_scan overdue_scan_start(void);

/* The next `limit` (≤ OVERDUE_LIMIT_MAX) at most; moves the scan behind them. */
RESULT overdue_orders(struct db *db, struct overdue_scan *scan, size_t limit, int64_t *ids, size_t *ret_count);
/* Reservations that are RESERVED, by expires_at. */
RESULT overdue_reservations(struct db *db, struct overdue_scan *scan, size_t limit, struct reservation_ref *refs,
                            size_t *ret_count);
