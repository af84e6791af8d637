/* Small records that pass between facade, store and codec. Plain values; pointers are borrowed unless said otherwise.
 */
#pragma once

#include "base/text.h"
#include "domain/order.h"
#include "domain/reservation.h"
#include "domain/stock.h"

struct product {
    int64_t id;
    char name[PRODUCT_NAME_MAX * 4 + 1];
    int64_t price;
    char status[21]; /* ON_SALE | SOLD_OUT | DISCONTINUED */
    int64_t version;
    int64_t created_at_ms, updated_at_ms;
};

enum payment_status { PAYMENT_APPROVED, PAYMENT_FAILED, PAYMENT_REFUND_REQUIRED, PAYMENT_STATUS_COUNT };

struct payment {
    int64_t order_id;
    char payment_key[PAYMENT_KEY_MAX + 1];
    int64_t amount;
    enum payment_status status;
};

#define COMPENSATION_REASON_SIZE 41
struct compensation {
    int64_t id; /* 0 before the insert */
    int64_t order_id;
    char reason[COMPENSATION_REASON_SIZE]; /* PAID_BUT_CANCELLED | PAID_TWICE */
    char status[21];                       /* OPEN | RESOLVED */
    char payment_key[PAYMENT_KEY_MAX + 1];
    int64_t amount;
    int64_t detected_at_ms, resolved_at_ms; /* 0 = not resolved */
};

/* One outbox row. payload is the whole envelope's `payload` object as JSON text. */
struct event {
    char event_id[TEXT_UUID_SIZE];
    const char *aggregate_type; /* "ORDER" | "PRODUCT" | "PAYMENT" */
    char aggregate_id[65];
    int64_t aggregate_version;
    const char *event_type; /* "order.created" … */
    const char *payload;
    size_t payload_len;
    char traceparent[56]; /* "" = NULL */
};

/* An event somebody sent us, as one consumer group sees it. */
struct processed_event {
    char event_id[EVENT_ID_MAX + 1];
    char consumer_group[CONSUMER_GROUP_MAX + 1];
};

#define ANSWER_LOCATION_SIZE 224 /* a reservation's order id has 64 bytes, each three when percent-encoded */

/* A stored answer. key_hash = SHA-256(credential ‖ 0 ‖ route ‖ 0 ‖ key). */
struct idempotent {
    unsigned char key_hash[32];
    unsigned char fingerprint[32];
    int32_t status; /* HTTP status of the stored answer */
    const char *body;
    size_t body_len;
    char location[ANSWER_LOCATION_SIZE]; /* "" = none */
    char etag[32];                       /* "" = none */
    int64_t age_ms;                      /* on reads: by the database clock */
};

/* One finding of the audit. */
struct audit_finding {
    const char *kind; /* "ledger-differs" | "negative-stock" | "orders-differ" | "reservations-differ" | "foreign" */
    int64_t product_id, stock, ledger, expected;
};
