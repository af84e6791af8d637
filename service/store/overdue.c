/* By the index of (status, moment): a range that ends at the limit, so a scan costs what it gives out. The moment goes
   back as text: a foreign writer's may have microseconds, which our milliseconds have not. */
#include "store/overdue.h"

#include "base/text.h"
#include "store/many.h"

#include <assert.h>

#define FIRST_MOMENT "1000-01-01 00:00:00.000000"
#define BEHIND(moment)                                                                                                 \
    moment " < UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND AND " moment " >= CAST(? AS DATETIME(6)) AND (" moment        \
           " > CAST(? AS DATETIME(6)) OR id > ?) ORDER BY " moment ", id LIMIT ?"
#define PENDING_SQL                                                                                                    \
    "SELECT id, CAST(expires_at AS CHAR(26)) FROM orders FORCE INDEX (idx_orders_expiry) WHERE status = 'PENDING' "    \
    "AND " BEHIND("expires_at")
#define REQUESTED_SQL                                                                                                  \
    "SELECT id, CAST(payment_requested_at AS CHAR(26)) FROM orders FORCE INDEX (idx_orders_payment) WHERE status = "   \
    "'PAYMENT_REQUESTED' AND " BEHIND("payment_requested_at")
#define RESERVED_SQL                                                                                                   \
    "SELECT id, CAST(expires_at AS CHAR(26)), credential, order_id FROM stock_reservations "                           \
    "FORCE INDEX (idx_stock_reservations_lease) WHERE status = 'RESERVED' AND " BEHIND("expires_at")

struct overdue_scan overdue_scan_start(void) {
    return (struct overdue_scan){.moment = FIRST_MOMENT};
}

struct reader {
    struct overdue_scan *scan;
    int64_t *ids;
    struct reservation_ref *refs; /* one of the two is NULL */
    size_t count;
};

static void take(void *arg, struct db_stmt *row) {
    struct reader *reader = arg;
    size_t at = reader->count++;
    reader->scan->id = db_i64(row, 0);
    db_copy_text(row, 1, reader->scan->moment, sizeof reader->scan->moment);
    if (reader->ids != NULL) {
        reader->ids[at] = reader->scan->id;
        return;
    }
    db_copy_text(row, 2, reader->refs[at].credential, sizeof reader->refs[at].credential);
    db_copy_text(row, 3, reader->refs[at].order_id, sizeof reader->refs[at].order_id);
}

static RESULT read(struct db *db, const char *sql, size_t limit, struct reader *reader) {
    struct db_stmt *stmt;
    char moment[OVERDUE_MOMENT_SIZE]; /* the scan moves while rows come */
    assert(limit <= OVERDUE_LIMIT_MAX);
    (void)text_copy(moment, sizeof moment, reader->scan->moment);
    TRY(db_statement(db, sql, &stmt));
    db_set_i64(stmt, 0, reader->scan->overdue_ms * 1000);
    db_set_str(stmt, 1, moment);
    db_set_str(stmt, 2, moment);
    db_set_i64(stmt, 3, reader->scan->id);
    db_set_i64(stmt, 4, (int64_t)limit);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, take, reader);
}

RESULT overdue_orders(struct db *db, struct overdue_scan *scan, size_t limit, int64_t *ids, size_t *ret_count) {
    struct reader reader = {.scan = scan, .ids = ids};
    TRY(read(db, scan->status == ORDER_PENDING ? PENDING_SQL : REQUESTED_SQL, limit, &reader));
    *ret_count = reader.count;
    return OK;
}

RESULT overdue_reservations(struct db *db, struct overdue_scan *scan, size_t limit, struct reservation_ref *refs,
                            size_t *ret_count) {
    struct reader reader = {.scan = scan, .refs = refs};
    TRY(read(db, RESERVED_SQL, limit, &reader));
    *ret_count = reader.count;
    return OK;
}
