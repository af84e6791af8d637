/* Request bodies: JSON text → plain values, strictly (api/openapi.yaml): unknown field, wrong type, duplicate key,
   float for integer, depth > 16, range. Every decoder gives INVALID_REQUEST with all findings in `errors` (emptied
   first), and sets *ret only on success. len 0 = no body: allowed where every field has a default. Pure; any thread. */
#pragma once

#include "codec/json.h"
#include "domain/records.h"

struct order_body {
    char user_id[USER_ID_MAX + 1];
    struct line lines[ORDER_LINES_MAX]; /* merged, sorted by product */
    size_t line_count;
};
RESULT body_order(const char *body, size_t len, struct field_errors *errors, struct order_body *ret);

struct reservation_body {
    char order_id[USER_ID_MAX + 1];
    struct line lines[ORDER_LINES_MAX]; /* merged, sorted by product */
    size_t line_count;
    int64_t ttl_ms; /* 0 = not given */
};
RESULT body_reservation(const char *body, size_t len, struct field_errors *errors, struct reservation_body *ret);

struct payment_body {
    bool completed;                        /* result: COMPLETED, else FAILED */
    char payment_key[PAYMENT_KEY_MAX + 1]; /* 1..255 printable */
    int64_t amount;
};
RESULT body_payment(const char *body, size_t len, struct field_errors *errors, struct payment_body *ret);

/* reason: optional, ≤ REASON_MAX bytes; default "USER_REQUESTED". */
struct cancel_body {
    char reason[REASON_MAX + 1];
};
RESULT body_cancel(const char *body, size_t len, struct field_errors *errors, struct cancel_body *ret);

struct status_body {
    enum order_status status;
};
RESULT body_status(const char *body, size_t len, struct field_errors *errors, struct status_body *ret);

/* No fields at all: absent or {}. */
RESULT body_empty(const char *body, size_t len, struct field_errors *errors);

struct product_body {
    char name[PRODUCT_NAME_MAX * 4 + 1]; /* 1..255 characters, printable */
    int64_t price;
    int64_t stock; /* -1 = not given */
};
RESULT body_product(const char *body, size_t len, struct field_errors *errors, struct product_body *ret);

struct stock_body {
    int64_t stock;
};
RESULT body_stock(const char *body, size_t len, struct field_errors *errors, struct stock_body *ret);

struct adjustment_body {
    int64_t delta;               /* ±1..STOCK_MAX, never 0 */
    char reason[REASON_MAX + 1]; /* required, 1..REASON_MAX */
};
RESULT body_adjustment(const char *body, size_t len, struct field_errors *errors, struct adjustment_body *ret);

/* Token file (docs/operations.md), used by http/access.c. fn is called per token; sha256 is 32 bytes. */
struct token_entry {
    char name[CREDENTIAL_NAME_MAX + 1];
    unsigned char sha256[32];
    const char *scopes[16];
    size_t scope_count;
    const char *prefixes[16];
    size_t prefix_count;
};
RESULT body_tokens(const char *body, size_t len, struct field_errors *errors,
                   void (*fn)(void *arg, const struct token_entry *entry), void *arg);
