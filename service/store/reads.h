/* Short reads and small writes behind the GET endpoints and PUT /v1/products. On a worker, each in its own autocommit
   statement or small transaction. Implementations: products.c, reads.c, audit.c, schema.c. */
#pragma once

#include "domain/records.h"
#include "store/db.h"

/* PRODUCT_NOT_FOUND when there is none. */
RESULT products_read(struct db *db, int64_t id, struct product *ret);
/* Creates (product, inventory, INITIAL movement and, when outbox rows are wanted, stock.changed by the caller's event)
   or changes name and price. stock -1 = not given (0 at creation). *ret_created. Changing with a stock other than the
   INITIAL movement's → INVALID_REQUEST. `changed` may be NULL: the stock.changed event to write at creation, completed
   by the caller. Retries 1062/1213 itself. */
RESULT products_put(struct db *db, int64_t id, const char *name, int64_t price, int64_t stock,
                    const struct event *changed, bool *ret_created, struct product *ret);
/* Ascending by id after `after_id`; at most limit rows; calls fn per row. */
RESULT products_list(struct db *db, int64_t after_id, size_t limit, void (*fn)(void *arg, const struct product *row),
                     void *arg);

RESULT inventory_read(struct db *db, int64_t product_id, struct stock_row *ret);
/* Newest first: id < before_id (INT64_MAX = from the newest). PRODUCT_NOT_FOUND when the product has no stock row. */
RESULT movements_list(struct db *db, int64_t product_id, int64_t before_id, size_t limit,
                      void (*fn)(void *arg, const struct movement_row *row), void *arg);

/* Newest first; user_id NULL = any; status -1 = any. Items included; the order is valid during the call. */
RESULT orders_list(struct db *db, const char *user_id, int status, int64_t before_id, size_t limit,
                   void (*fn)(void *arg, const struct order *row), void *arg);
RESULT compensations_list(struct db *db, const char *status, int64_t before_id, size_t limit,
                          void (*fn)(void *arg, const struct compensation *row), void *arg);
/* OPEN → RESOLVED, idempotent; NOT_FOUND. */
RESULT compensations_resolve(struct db *db, int64_t id, struct compensation *ret);

/* One REPEATABLE READ snapshot (START TRANSACTION WITH CONSISTENT SNAPSHOT): for every product Σ movements =
   ledger_stock, stock ≥ 0, ORDER+RESTORE movements of "o:" refs = −Σ items of orders that are not CANCELLED, those of
   "r:" refs = −Σ items of reservations that are RESERVED or CONFIRMED; findings
   of kind "foreign" where stock/version differ from the ledger's by a writer that moved the version. At most max
   findings are reported. */
RESULT audit_run(struct db *db, size_t max, int64_t *ret_products, int64_t *ret_checked_at_ms,
                 void (*fn)(void *arg, const struct audit_finding *finding), void *arg);

/* True when every migration this binary knows has been applied. */
RESULT schema_fits(struct db *db, bool *ret);
/* Applies what is missing of the migrations embedded in the binary, in order, under GET_LOCK('lockstock-migrate').
 * Prints nothing; *ret_applied counts. */
RESULT schema_migrate(struct db *db, int *ret_applied);
