/* Writes an attempt's changes in the lock order: stock, orders, reservations, payments, inserts, stored answers,
   processed events, the outbox last. */
#include "base/fault.h"
#include "base/memory.h"
#include "facade/trip.h"
#include "store/reservations.h"

#include <stdlib.h>
#include <string.h>

static bool checks_versions(void) { return !fault_on(FAULT_NO_VERSION_CHECK); }

static RESULT write_stock(struct attempt *attempt) {
    const struct world *world = &attempt->world;
    AUTO_FREE struct stock_row *rows = mem_array(world->stock_count + 1, sizeof rows[0]);
    AUTO_FREE int64_t *expected = mem_array(world->stock_count + 1, sizeof expected[0]);
    size_t count = 0;
    for (size_t i = 0; i < world->stock_count; i++) {
        if (!world->stocks[i].changed) continue;
        rows[count] = world->stocks[i].row;
        expected[count++] = world->stocks[i].version_read;
    }
    if (count == 0) return OK;
    return inventories_update(attempt->db, rows, expected, count, checks_versions());
}

static RESULT write_orders(struct attempt *attempt) {
    const struct world *world = &attempt->world;
    for (size_t i = 0; i < world->order_count; i++) {
        const struct order_cell *cell = &world->orders[i];
        if (cell->changed) TRY(orders_update(attempt->db, &cell->order, cell->version_read, checks_versions()));
    }
    return OK;
}

static RESULT update_reservations(struct attempt *attempt) {
    const struct world *world = &attempt->world;
    for (size_t i = 0; i < world->reservation_count; i++) {
        const struct reservation_cell *cell = &world->reservations[i];
        if (cell->changed && cell->version_read > 0)
            TRY(reservations_update(attempt->db, &cell->row, cell->version_read, checks_versions()));
    }
    return OK;
}

static bool is_new(const struct reservation_cell *cell) {
    bool tombstone = cell->row.status == RESERVATION_CANCEL_REQUESTED;
    return cell->changed && cell->version_read == 0 && !(tombstone && fault_on(FAULT_NO_TOMBSTONE));
}

static RESULT insert_reservations(struct attempt *attempt) {
    const struct world *world = &attempt->world;
    if (world->reservation_count == 0) return OK;
    AUTO_FREE const struct reservation **rows = mem_array(world->reservation_count + 1, sizeof rows[0]);
    size_t count = 0;
    for (size_t i = 0; i < world->reservation_count; i++)
        if (is_new(&world->reservations[i])) rows[count++] = &world->reservations[i].row;
    return reservations_insert(attempt->db, rows, count);
}

static RESULT write_payments(struct attempt *attempt) {
    const struct world *world = &attempt->world;
    size_t payments = world->payment_count - world->payment_known;
    size_t compensations = world->compensation_count - world->compensation_known;
    if (payments > 0)
        TRY(payments_insert(attempt->db, world->payments + world->payment_known, payments, world->now_ms));
    if (compensations > 0)
        TRY(compensations_insert(attempt->db, world->compensations + world->compensation_known, compensations,
                                 world->now_ms));
    return OK;
}

static RESULT insert_new(struct attempt *attempt) {
    const struct world *world = &attempt->world;
    if (world->created_count > 0) {
        TRY(orders_insert(attempt->db, world->created, world->created_count));
        TRY(order_items_insert(attempt->db, world->created, world->created_count));
    }
    if (world->movement_count > 0)
        TRY(movements_insert(attempt->db, world->movements, world->movement_count, world->now_ms));
    return OK;
}

static int by_key_hash(const void *a, const void *b) {
    return memcmp(((const struct idempotent *)a)->key_hash, ((const struct idempotent *)b)->key_hash, DIGEST_SIZE);
}

static struct idempotent stored_answer(const struct rider *rider) {
    const struct answer *answer = &rider->answer;
    struct idempotent row = {.status = answer->status, .body = text_str(&answer->body), .body_len = answer->body.len};
    memcpy(row.key_hash, rider->key_hash, sizeof row.key_hash);
    memcpy(row.fingerprint, rider->fingerprint, sizeof row.fingerprint);
    (void)text_copy(row.location, sizeof row.location, answer->location);
    (void)text_copy(row.etag, sizeof row.etag, answer->etag);
    return row;
}

static RESULT write_answers(struct attempt *attempt, size_t *ret_count) {
    AUTO_FREE struct idempotent *rows = mem_array(attempt->count + 1, sizeof rows[0]);
    size_t count = 0;
    for (size_t i = 0; i < attempt->count; i++) {
        const struct rider *rider = attempt->riders[i];
        if (!rider->stores) continue;
        if (rider->stale_key) TRY(idempotency_delete_old(attempt->db, rider->key_hash, KEY_LIFE_MS));
        rows[count++] = stored_answer(rider);
    }
    *ret_count = count;
    if (count == 0) return OK;
    qsort(rows, count, sizeof rows[0], by_key_hash);
    return idempotency_insert(attempt->db, rows, count, attempt->world.now_ms);
}

static RESULT write_events(struct attempt *attempt) {
    if (attempt->event_count == 0) return OK;
    size_t start = 0;
    for (size_t i = 0; i < attempt->event_count; i++) {
        attempt->events[i].payload = text_str(&attempt->payloads) + start;
        attempt->events[i].payload_len = attempt->payload_ends[i] - start;
        start = attempt->payload_ends[i];
    }
    return outbox_insert(attempt->db, attempt->events, attempt->event_count, attempt->world.now_ms);
}

/* In the order in which everybody locks. */
static RESULT update_known(struct attempt *attempt) {
    TRY(write_stock(attempt));
    TRY(write_orders(attempt));
    return update_reservations(attempt);
}

RESULT attempt_write(struct attempt *attempt, bool *ret_wrote) {
    size_t stored = 0, processed = 0;
    TRY(update_known(attempt));
    TRY(write_payments(attempt));
    TRY(insert_new(attempt));
    TRY(insert_reservations(attempt));
    TRY(write_answers(attempt, &stored));
    TRY(attempt_write_processed(attempt, &processed));
    TRY(write_events(attempt));
    const struct world *world = &attempt->world;
    *ret_wrote = attempt->event_count > 0 || stored > 0 || processed > 0 || world->movement_count > 0 ||
                 world->payment_count > world->payment_known;
    return OK;
}

void attempt_done(struct attempt *attempt) {
    world_done(&attempt->world);
    free(attempt->product_ids);
    free(attempt->order_ids);
    free(attempt->refs);
    free(attempt->skipped);
    free(attempt->events);
    free(attempt->payload_ends);
    text_done(&attempt->payloads);
    *attempt = (struct attempt){0};
}
