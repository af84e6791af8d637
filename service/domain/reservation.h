/* Stock held for an order that another service keeps: states, what may follow what, sameness. Pure. */
#pragma once

#include "domain/order.h"

enum reservation_status {
    RESERVATION_RESERVED,
    RESERVATION_CONFIRMED,
    RESERVATION_RELEASED,
    RESERVATION_FAILED,           /* refused for want of stock; for good: its result has been told */
    RESERVATION_CANCEL_REQUESTED, /* released before it was reserved: a tombstone, nothing can follow */
    RESERVATION_STATUS_COUNT
};

/* Whose order: order ids are unique for each credential. */
struct reservation_ref {
    char credential[CREDENTIAL_NAME_MAX + 1];
    char order_id[USER_ID_MAX + 1];
};

#define RESERVATION_REASON_SIZE 41
struct reservation {
    int64_t id; /* 0 before the insert */
    struct reservation_ref ref;
    enum reservation_status status;
    struct line *items; /* sorted by product; owned by whoever made the reservation; NULL in a tombstone */
    size_t item_count;
    char reason[RESERVATION_REASON_SIZE]; /* OUT_OF_STOCK, CANCELLED, EXPIRED; "" = none */
    int64_t version;
    int64_t created_at_ms, reserved_at_ms, expires_at_ms, confirmed_at_ms,
        released_at_ms; /* database clock; 0 = never */
};

/* "RESERVED"; never NULL for a valid status. */
const char *reservation_status_name(enum reservation_status status);
bool reservation_status_parse(const char *name, enum reservation_status *ret);
/* True while its items are out of the stock. */
bool reservation_holds_stock(enum reservation_status status);
/* By credential, then order id, byte by byte. */
int reservation_compare(const struct reservation_ref *a, const struct reservation_ref *b);
bool reservation_has_items(const struct reservation *reservation, const struct line *lines, size_t count);
/* RESERVED, and its time was over `overdue_ms` ago. */
bool reservation_is_overdue(const struct reservation *reservation, int64_t overdue_ms, int64_t now_ms);
/* A number for it that no product and no order (-id) has. Two reservations may share one. */
int64_t reservation_key(const struct reservation_ref *ref);
/* "r:<credential>:<orderId>", unambiguous: of a credential with a colon "r<its length>:…". out has ORDER_REF_SIZE
 * bytes. */
void reservation_stock_ref(const struct reservation_ref *ref, char *out);
