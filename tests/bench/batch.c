#include "bench/batch.h"

#include "base/clock.h"
#include "base/memory.h"
#include "codec/documents.h"

#include <stdlib.h>

#define ID_BLOCK 1024
#define TTL_MS 1800000

const char *const batch_step_names[STEP_COUNT] = {"begin", "lock",      "price",  "update", "orders",
                                                  "items", "movements", "outbox", "commit"};

struct batch batch_new(size_t count, int64_t product_id, int64_t quantity) {
    return (struct batch){.count = count,
                          .product_id = product_id,
                          .quantity = quantity,
                          .orders = mem_array(count, sizeof(struct order)),
                          .items = mem_array(count, sizeof(struct order_item)),
                          .movements = mem_array(count, sizeof(struct movement)),
                          .events = mem_array(count + 1, sizeof(struct event)),
                          .payloads = mem_array(count + 1, sizeof(struct text))};
}

void batch_done(struct batch *batch) {
    for (size_t i = 0; i <= batch->count; i++) text_done(&batch->payloads[i]);
    free(batch->orders);
    free(batch->items);
    free(batch->movements);
    free(batch->events);
    free(batch->payloads);
    *batch = (struct batch){0};
}

static RESULT next_id(struct batch_ids *ids, struct db *db, int64_t *ret) {
    if (ids->next == ids->end) {
        TRY(id_blocks_reserve(db, ID_BLOCK, false, &ids->next));
        ids->end = ids->next + ID_BLOCK;
    }
    *ret = ids->next++;
    return OK;
}

static void prepare_event(struct batch *batch, size_t i, const char *aggregate, int64_t id, const char *type) {
    struct event *event = &batch->events[i];
    *event = (struct event){.aggregate_type = aggregate, .event_type = type};
    text_uuid(event->event_id);
    (void)text_format(event->aggregate_id, sizeof event->aggregate_id, "%lld", (long long)id);
    event->payload = text_str(&batch->payloads[i]);
    event->payload_len = batch->payloads[i].len;
}

static void prepare_order(struct batch *batch, size_t i, int64_t id, int64_t now_ms) {
    struct order *order = &batch->orders[i];
    batch->items[i] = (struct order_item){batch->product_id, batch->quantity, 1000};
    *order = (struct order){.id = id,
                            .status = ORDER_PENDING,
                            .total_amount = batch->quantity * 1000,
                            .ordered_at_ms = now_ms,
                            .expires_at_ms = now_ms + TTL_MS,
                            .items = &batch->items[i],
                            .item_count = 1};
    order_number(id, now_ms, order->number);
    (void)text_format(order->user_id, sizeof order->user_id, "bench-%lld", (long long)id);
    struct movement *movement = &batch->movements[i];
    *movement = (struct movement){.product_id = batch->product_id, .kind = MOVEMENT_ORDER, .delta = -batch->quantity};
    (void)text_format(movement->order_ref, sizeof movement->order_ref, "o:%lld", (long long)id);
    text_clear(&batch->payloads[i]);
    document_order_created(&batch->payloads[i], order);
    prepare_event(batch, i, "ORDER", id, "order.created");
}

RESULT batch_prepare(struct batch *batch, struct db *db, struct batch_ids *ids) {
    int64_t now_ms = clock_wall_ms(), id = 0;
    for (size_t i = 0; i <= batch->count; i++)
        if (!batch->payloads[i].limit) batch->payloads[i] = text_new(0);
    for (size_t i = 0; i < batch->count; i++) {
        TRY(next_id(ids, db, &id));
        prepare_order(batch, i, id, now_ms);
    }
    return OK;
}

/* Takes the stock in memory, as the service decides it from the row it has read. */
static RESULT take_stock(struct batch *batch, struct stock_row *row) {
    int64_t version = row->version + 1;
    if (row->stock < batch->quantity * (int64_t)batch->count) FAIL(INSUFFICIENT_STOCK, 0);
    for (size_t i = 0; i < batch->count; i++) {
        row->stock -= batch->quantity;
        batch->movements[i].stock_after = row->stock;
        batch->movements[i].version = version;
    }
    row->version = version;
    text_clear(&batch->payloads[batch->count]);
    document_stock_changed(&batch->payloads[batch->count], row);
    prepare_event(batch, batch->count, "PRODUCT", batch->product_id, "stock.changed");
    batch->events[batch->count].aggregate_version = version;
    return OK;
}

/* The time since the last statement belongs to this one. */
static void pass(struct batch *batch, enum batch_step step) {
    int64_t now_us = clock_mono_us();
    batch->step_us[step] += now_us - batch->clock_us;
    batch->clock_us = now_us;
}

static RESULT read_stock(struct batch *batch, struct db *db, enum row_lock lock, struct stock_row *row,
                         int64_t *now_ms) {
    size_t found = 0;
    TRY(inventories_lock(db, &batch->product_id, 1, lock, row, &found, now_ms));
    if (found != 1) FAIL(PRODUCT_NOT_FOUND, 0);
    pass(batch, STEP_LOCK);
    TRY(products_price(db, row, 1));
    pass(batch, STEP_PRICE);
    return OK;
}

static RESULT write_rows(struct batch *batch, struct db *db, enum row_lock lock) {
    struct stock_row row = {0};
    int64_t now_ms = 0;
    TRY(read_stock(batch, db, lock, &row, &now_ms));
    int64_t expected = row.version;
    TRY(take_stock(batch, &row));
    TRY(inventories_update(db, &row, &expected, 1, true));
    pass(batch, STEP_UPDATE);
    TRY(orders_insert(db, batch->orders, batch->count));
    pass(batch, STEP_ORDERS);
    TRY(order_items_insert(db, batch->orders, batch->count));
    pass(batch, STEP_ITEMS);
    TRY(movements_insert(db, batch->movements, batch->count, now_ms));
    pass(batch, STEP_MOVEMENTS);
    TRY(outbox_insert(db, batch->events, batch->count + 1, now_ms));
    pass(batch, STEP_OUTBOX);
    return OK;
}

RESULT batch_run(struct batch *batch, struct db *db, enum row_lock lock) {
    batch->clock_us = clock_mono_us();
    TRY(db_begin(db));
    pass(batch, STEP_BEGIN);
    struct result done = write_rows(batch, db, lock);
    if (failed(done)) {
        db_rollback(db);
        return done;
    }
    TRY(db_commit(db));
    pass(batch, STEP_COMMIT);
    return OK;
}
