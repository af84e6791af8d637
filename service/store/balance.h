/* What the audit adds up for each product, and what it finds wrong. Pure.
   Invariant: balances are ascending by product_id without duplicates. */
#pragma once

#include "domain/records.h"

struct balance {
    int64_t product_id;
    bool has_row; /* a stock row exists; without one stock and ledger are 0 */
    int64_t stock, version;
    int64_t ledger_stock, ledger_version; /* -1 = never moved by us */
    int64_t moved;                        /* Σ movements */
    int64_t moved_by_orders;              /* Σ ORDER and RESTORE movements of our orders: −(what they hold) */
    int64_t held;                         /* Σ items of orders that are not CANCELLED */
    int64_t moved_by_reservations;        /* likewise of reservations */
    int64_t reserved;                     /* Σ items of reservations that are RESERVED or CONFIRMED */
};

struct balances {
    struct balance *rows;
    size_t count, room;
};

/* Frees. */
void balances_done(struct balances *balances);
/* The balance of a product, made (without a row) when it is new. Valid until the next call. */
struct balance *balances_of(struct balances *balances, int64_t product_id);

#define BALANCE_FINDINGS_MAX 5
/* Writes what is wrong with this product to `findings`; returns how many. */
size_t balance_judge(const struct balance *balance, struct audit_finding *findings);
