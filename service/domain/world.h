/* What one transaction has read and what it will write. Commands are decided against it in arrival order; each decision
   changes it. Pure values; built and written back by facade/. Not shared between threads.

   Invariants: stocks and orders are sorted by id, reservations by ref; a stock cell's version moves once, at its first
   change; movements of a product stand in decision order; `created` and `items` never move once the first order was
   created (their capacity is given at the start). */
#pragma once

#include "domain/command.h"

struct stock_cell {
    struct stock_row row; /* as it now is */
    int64_t version_read;
    bool changed;
};

struct order_cell {
    struct order order; /* as it now is; items owned */
    int64_t version_read;
    bool changed;
};

/* One for each reservation a command names, whether it stands or not. */
struct reservation_cell {
    struct reservation row; /* as it now is; items owned. Without `exists` only its ref is set */
    int64_t version_read;   /* 0 = it did not exist */
    bool exists, changed;
};

struct world {
    int64_t now_ms; /* database clock */
    int64_t reservation_ttl_ms;

    struct stock_cell *stocks;
    size_t stock_count;
    struct order_cell *orders;
    size_t order_count;

    struct reservation_cell *reservations; /* sorted by ref */
    size_t reservation_count;

    struct order *created; /* new orders; items point into `items` */
    size_t created_count, created_max;
    struct order_item *items;
    size_t item_count, item_max;

    struct movement *movements;
    size_t movement_count, movement_max;

    struct payment *payments; /* the first payment_known were read, the rest are new */
    size_t payment_count, payment_max, payment_known;
    struct compensation *compensations; /* likewise */
    size_t compensation_count, compensation_max, compensation_known;
};

/* Empty world with room for this many new orders and items. */
struct world world_new(size_t created_max, size_t item_max);
/* Frees everything; harmless on a zeroed world. */
void world_done(struct world *world);

/* NULL when there is none. */
struct stock_cell *world_stock(const struct world *world, int64_t product_id);
struct order_cell *world_order(const struct world *world, int64_t order_id);
/* Never NULL for a reservation that a command of this attempt names. */
struct reservation_cell *world_reservation(const struct world *world, const struct reservation_ref *ref);
struct payment *world_payment(const struct world *world, const char *payment_key);
bool world_has_compensation(const struct world *world, const struct compensation *row);

void world_add_payment(struct world *world, const struct payment *payment);
void world_add_compensation(struct world *world, const struct compensation *row);

/* Changes stock by delta (the caller has checked the bounds) and writes the ledger's movement, before it an OPENING or
   FOREIGN one when a foreign writer was here since our last movement. kind, order_ref, line_no and reason of `movement`
   are given; the rest is filled in. */
void world_move(struct world *world, struct stock_cell *cell, int64_t delta, struct movement movement);
