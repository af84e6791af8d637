#include "domain/order.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const char *const NAMES[ORDER_STATUS_COUNT] = {
    [ORDER_PENDING] = "PENDING",
    [ORDER_PAYMENT_REQUESTED] = "PAYMENT_REQUESTED",
    [ORDER_PAYMENT_COMPLETED] = "PAYMENT_COMPLETED",
    [ORDER_PAYMENT_FAILED] = "PAYMENT_FAILED",
    [ORDER_PREPARING] = "PREPARING",
    [ORDER_SHIPPED] = "SHIPPED",
    [ORDER_DELIVERED] = "DELIVERED",
    [ORDER_CANCELLED] = "CANCELLED",
};

#define BIT(status) (1u << ORDER_##status)
static const unsigned FOLLOWERS[ORDER_STATUS_COUNT] = {
    [ORDER_PENDING] = BIT(PAYMENT_REQUESTED) | BIT(CANCELLED),
    [ORDER_PAYMENT_REQUESTED] = BIT(PAYMENT_COMPLETED) | BIT(PAYMENT_FAILED) | BIT(CANCELLED),
    [ORDER_PAYMENT_COMPLETED] = BIT(PREPARING),
    [ORDER_PAYMENT_FAILED] = BIT(CANCELLED),
    [ORDER_PREPARING] = BIT(SHIPPED),
    [ORDER_SHIPPED] = BIT(DELIVERED),
    [ORDER_DELIVERED] = 0,
    [ORDER_CANCELLED] = 0,
};

static const char *const ALLOWED[ORDER_STATUS_COUNT] = {
    [ORDER_PENDING] = "[\"PAYMENT_REQUESTED\",\"CANCELLED\"]",
    [ORDER_PAYMENT_REQUESTED] = "[\"PAYMENT_COMPLETED\",\"PAYMENT_FAILED\",\"CANCELLED\"]",
    [ORDER_PAYMENT_COMPLETED] = "[\"PREPARING\"]",
    [ORDER_PAYMENT_FAILED] = "[\"CANCELLED\"]",
    [ORDER_PREPARING] = "[\"SHIPPED\"]",
    [ORDER_SHIPPED] = "[\"DELIVERED\"]",
    [ORDER_DELIVERED] = "[]",
    [ORDER_CANCELLED] = "[]",
};

const char *order_status_name(enum order_status status) { return NAMES[status]; }

bool order_status_parse(const char *name, enum order_status *ret) {
    for (int i = 0; i < ORDER_STATUS_COUNT; i++) {
        if (strcmp(name, NAMES[i]) != 0) continue;
        *ret = (enum order_status)i;
        return true;
    }
    return false;
}

bool order_may_follow(enum order_status from, enum order_status to) { return (FOLLOWERS[from] >> to) & 1u; }

bool order_is_overdue(const struct order *order, enum order_status status, int64_t overdue_ms, int64_t now_ms) {
    int64_t since_ms = order->expires_at_ms;
    if (order->status != status) return false;
    if (status == ORDER_PAYMENT_REQUESTED)
        since_ms = order->payment_requested_at_ms != 0 ? order->payment_requested_at_ms : order->ordered_at_ms;
    return now_ms - since_ms > overdue_ms;
}

const char *order_allowed_json(enum order_status from) { return ALLOWED[from]; }

void order_number(int64_t id, int64_t ordered_at_ms, char *out) {
    char time[TEXT_TIME_SIZE], tail[14];
    text_time(ordered_at_ms, time);
    text_base32(id, tail);
    (void)text_format(out, ORDER_NUMBER_SIZE, "ORD-%.4s%.2s%.2s-%s", time, time + 5, time + 8, tail);
}

bool order_total(const struct order_item *items, size_t count, int64_t *ret) {
    int64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t amount;
        if (__builtin_mul_overflow(items[i].quantity, items[i].unit_price, &amount)) return false;
        if (__builtin_add_overflow(total, amount, &total) || total > MONEY_MAX) return false;
    }
    *ret = total;
    return true;
}

static int by_product(const void *a, const void *b) {
    const struct line *x = a, *y = b;
    return (x->product_id > y->product_id) - (x->product_id < y->product_id);
}

bool lines_merge(struct line *lines, size_t *count) {
    qsort(lines, *count, sizeof lines[0], by_product);
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        if (kept == 0 || lines[kept - 1].product_id != lines[i].product_id) {
            lines[kept++] = lines[i];
            continue;
        }
        lines[kept - 1].quantity += lines[i].quantity; /* both ≤ QUANTITY_MAX: cannot overflow */
        if (lines[kept - 1].quantity > QUANTITY_MAX) return false;
    }
    *count = kept;
    return true;
}
