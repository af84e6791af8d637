/* Orders: states, what may follow what, totals. Pure. */
#pragma once

#include "base/result.h"
#include "domain/limits.h"

#include <stddef.h>

enum order_status {
    ORDER_PENDING,
    ORDER_PAYMENT_REQUESTED,
    ORDER_PAYMENT_COMPLETED,
    ORDER_PAYMENT_FAILED,
    ORDER_PREPARING,
    ORDER_SHIPPED,
    ORDER_DELIVERED,
    ORDER_CANCELLED,
    ORDER_STATUS_COUNT
};

/* One product of an order or request. */
struct line {
    int64_t product_id;
    int64_t quantity;
};

struct order_item {
    int64_t product_id;
    int64_t quantity;
    int64_t unit_price; /* minor units */
};

#define ORDER_NUMBER_SIZE 32
struct order {
    int64_t id;
    char number[ORDER_NUMBER_SIZE];
    char user_id[USER_ID_MAX + 1];
    int64_t total_amount;
    enum order_status status;
    int64_t ordered_at_ms, expires_at_ms; /* Unix milliseconds, database clock */
    int64_t payment_requested_at_ms;      /* 0 = never */
    int64_t version;
    struct order_item *items; /* owned by whoever made the order */
    size_t item_count;
};

/* "PENDING"; never NULL for a valid status. */
const char *order_status_name(enum order_status status);
bool order_status_parse(const char *name, enum order_status *ret);
/* True when `to` may follow `from` directly (ARCHITECTURE.md §5). */
bool order_may_follow(enum order_status from, enum order_status to);
/* In this status (PENDING or PAYMENT_REQUESTED), and the time it may stay there was over more than `overdue_ms` ago:
   PENDING has until expires_at, PAYMENT_REQUESTED none beyond payment_requested_at. */
bool order_is_overdue(const struct order *order, enum order_status status, int64_t overdue_ms, int64_t now_ms);
/* States that may follow, as a JSON array text: ["PAYMENT_REQUESTED","CANCELLED"]. Static storage. */
const char *order_allowed_json(enum order_status from);
/* ORD-yyyyMMdd-<id in base 32>, the day in UTC. out has ORDER_NUMBER_SIZE bytes. */
void order_number(int64_t id, int64_t ordered_at_ms, char *out);
/* Sum of quantity*unit_price; false when it passes MONEY_MAX. */
bool order_total(const struct order_item *items, size_t count, int64_t *ret);
/* Sorts lines by product and sums duplicates in place; false (lines unspecified) when a sum passes QUANTITY_MAX. */
bool lines_merge(struct line *lines, size_t *count);
