/* The statements of the train, one prototype a step. All run on a worker, inside the caller's transaction unless said
   otherwise; arrays are sorted by id without duplicates; many rows travel in chunks. Errors: base/errors.def as mapped
   by db.h. Implementations: inventories.c, orders.c, payments.c, outbox.c, idempotency.c,
   processed_events.c, id_blocks.c. */
#pragma once

#include "domain/records.h"
#include "store/db.h"

enum row_lock { ROW_LOCK_WAIT, ROW_LOCK_SKIP, ROW_LOCK_NONE };

/* Unix milliseconds of the database clock. */
RESULT db_now(struct db *db, int64_t *ret_ms);

/* -- inventories.c: stock rows FOR UPDATE in product order (FORCE INDEX uk_inventories_product_id), SKIP LOCKED or
   plain by `lock`. rows has room for count; *ret_count rows come back in product order; price/has_product are not set.
   ret_now_ms: database clock, untouched when no row came back. */
RESULT inventories_lock(struct db *db, const int64_t *product_ids, size_t count, enum row_lock lock,
                        struct stock_row *rows, size_t *ret_count, int64_t *ret_now_ms);
/* Which of these products have a stock row at all (plain read; tells a skipped row from a missing one). found[i] per
 * id. */
RESULT inventories_exist(struct db *db, const int64_t *product_ids, size_t count, bool *found);
/* Plain read of products: sets price and has_product of each row. */
RESULT products_price(struct db *db, struct stock_row *rows, size_t count);
/* Versioned UPDATE: stock, version, ledger_stock=stock, ledger_version=version, updated_at WHERE product_id AND
   version=expected. rows[i].stock/.version are the NEW values, expected[i] the version read. One statement per chunk (a
   join with a derived table, driven by it), plain for a single row. VERSION_CONFLICT when fewer rows matched.
   check_version false (removal tests only) leaves the comparison out. */
RESULT inventories_update(struct db *db, const struct stock_row *rows, const int64_t *expected, size_t count,
                          bool check_version);
RESULT movements_insert(struct db *db, const struct movement *movements, size_t count, int64_t now_ms);

/* -- orders.c: orders in id order, locked like stock rows, with their items. rows[i].items are allocated (mem_array),
 * the caller frees each. */
RESULT orders_lock(struct db *db, const int64_t *ids, size_t count, enum row_lock lock, struct order *rows,
                   size_t *ret_count, int64_t *ret_now_ms);
/* As inventories_exist. */
RESULT orders_exist(struct db *db, const int64_t *ids, size_t count, bool *found);
/* Plain reads, own autocommit. ORDER_NOT_FOUND. Items allocated. */
RESULT orders_read(struct db *db, int64_t id, struct order *ret);
RESULT orders_insert(struct db *db, const struct order *orders, size_t count);
RESULT order_items_insert(struct db *db, const struct order *orders, size_t count);
/* status, payment_requested_at, version WHERE id AND version=expected_version; VERSION_CONFLICT when 0 rows.
   check_version false (removal tests only) leaves the comparison out. */
RESULT orders_update(struct db *db, const struct order *order, int64_t expected_version, bool check_version);
/* Immutable lines of many orders, plain read: calls fn for each line, in order id and line order. */
RESULT order_lines_read(struct db *db, const int64_t *ids, size_t count,
                        void (*fn)(void *arg, int64_t order_id, struct line line), void *arg);

/* -- payments.c */
/* All payments of these orders and all payments with these keys, FOR UPDATE not needed (orders are locked); calls fn
 * per row. */
RESULT payments_find(struct db *db, const int64_t *order_ids, size_t order_count, const char *const *keys,
                     size_t key_count, void (*fn)(void *arg, const struct payment *payment), void *arg);
RESULT payments_insert(struct db *db, const struct payment *payments, size_t count, int64_t now_ms);
RESULT compensations_find(struct db *db, const int64_t *order_ids, size_t count,
                          void (*fn)(void *arg, const struct compensation *row), void *arg);
RESULT compensations_insert(struct db *db, const struct compensation *rows, size_t count, int64_t now_ms);

/* -- outbox.c: part = CRC32(aggregate_id) % OUTBOX_PARTS is computed here. */
RESULT outbox_insert(struct db *db, const struct event *events, size_t count, int64_t now_ms);
/* Is this event there? Plain read. */
RESULT outbox_has(struct db *db, const char *event_id, bool *ret);

/* -- idempotency.c: stored answers with these key hashes (each 32 bytes); calls fn per row; the body is valid during
 * the call. */
RESULT idempotency_find(struct db *db, const unsigned char (*key_hashes)[32], size_t count,
                        void (*fn)(void *arg, const struct idempotent *row), void *arg);
/* Deletes the answer if it is older than age_ms: what another instance has stored meanwhile stays. */
RESULT idempotency_delete_old(struct db *db, const unsigned char *key_hash, int64_t age_ms);
/* rows sorted by key_hash. DUPLICATE when another instance was first. */
RESULT idempotency_insert(struct db *db, const struct idempotent *rows, size_t count, int64_t now_ms);

/* -- processed_events.c: which events with these ids stand already, of any group; calls fn per row. */
RESULT processed_events_find(struct db *db, const char *const *event_ids, size_t count,
                             void (*fn)(void *arg, const struct processed_event *row), void *arg);
/* rows sorted by event id and group. DUPLICATE when another instance was first. */
RESULT processed_events_insert(struct db *db, const struct processed_event *const *rows, size_t count, int64_t now_ms);

/* -- id_blocks.c: reserves `count` ids of orders in its own autocommit statement(s); *ret_first is the first. Never
 * hands out an id ≤ MAX(orders.id) when `above_existing`. */
RESULT id_blocks_reserve(struct db *db, size_t count, bool above_existing, int64_t *ret_first);
