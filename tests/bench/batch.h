/* What a train of new orders of one product writes, and the transaction that writes it: the statements of service/store
   in the service's order, without HTTP, queue or Redis. One thread. */
#pragma once

#include "base/text.h"
#include "store/tables.h"

/* The statements of the transaction, in order. */
enum batch_step {
    STEP_BEGIN,
    STEP_LOCK,
    STEP_PRICE,
    STEP_UPDATE,
    STEP_ORDERS,
    STEP_ITEMS,
    STEP_MOVEMENTS,
    STEP_OUTBOX,
    STEP_COMMIT,
    STEP_COUNT
};
extern const char *const batch_step_names[STEP_COUNT];

/* Orders of one line each, all of one product. */
struct batch {
    size_t count;
    int64_t product_id, quantity;
    struct order *orders;
    struct order_item *items; /* orders[i].items points at items[i] */
    struct movement *movements;
    struct event *events;                  /* order.created of each, then one stock.changed */
    struct text *payloads;                 /* of the events */
    int64_t step_us[STEP_COUNT], clock_us; /* time by statement, summed over all runs */
};

/* Ids of orders from blocks of the service's own id_blocks table. */
struct batch_ids {
    int64_t next, end;
};

struct batch batch_new(size_t count, int64_t product_id, int64_t quantity);
void batch_done(struct batch *batch);
/* New ids, numbers and payloads, so that the transaction itself has nothing to build. */
RESULT batch_prepare(struct batch *batch, struct db *db, struct batch_ids *ids);
/* BEGIN … COMMIT. ROW_LOCK_NONE: the row is read plainly, and VERSION_CONFLICT tells that another was faster. After a
   failure the transaction is rolled back. */
RESULT batch_run(struct batch *batch, struct db *db, enum row_lock lock);
