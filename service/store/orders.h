/* What the files about orders share: the columns of an order and how they are read. */
#pragma once

#include "domain/order.h"
#include "store/db.h"

/* Columns of orders_take_row, in its order. */
#define ORDER_COLUMNS                                                                                                  \
    "id, order_number, user_id, total_amount, status, ordered_at, expires_at, payment_requested_at, version"
#define ORDER_COLUMN_COUNT 9

/* Order without items from the current row. BAD_DATA when the status is none of ours. */
RESULT orders_take_row(struct db_stmt *row, struct order *ret);
/* Fills items of these orders, ascending by id without duplicates, items NULL before. On failure frees what it made. */
RESULT orders_read_items(struct db *db, struct order *orders, size_t count);
/* Frees the items of each. */
void orders_free_items(struct order *orders, size_t count);
