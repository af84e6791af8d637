/* Stock rows and the ledger's movements. Pure. */
#pragma once

#include "base/result.h"
#include "domain/limits.h"

#include <stddef.h>

enum movement_kind {
    MOVEMENT_INITIAL, /* first stock of a product made here */
    MOVEMENT_OPENING, /* first sight of a row that a foreign writer made */
    MOVEMENT_ORDER,
    MOVEMENT_RESTORE,
    MOVEMENT_ADJUST,
    MOVEMENT_SET,
    MOVEMENT_FOREIGN, /* what foreign writers that honour the version changed since our last movement */
    MOVEMENT_KIND_COUNT
};

/* A row of inventories joined with what a sale needs of products. */
struct stock_row {
    int64_t product_id;
    int64_t stock, version;
    int64_t ledger_stock, ledger_version; /* as of our last movement; version -1 = no movement yet */
    int64_t price;                        /* minor units, from products */
    bool has_product;                     /* a products row exists */
    int64_t updated_at_ms;
};

#define ORDER_REF_SIZE 144
struct movement {
    int64_t product_id;
    enum movement_kind kind;
    int64_t delta, stock_after, version;
    char order_ref[ORDER_REF_SIZE]; /* "o:42", "r:<credential>:<orderId>" or "" = NULL */
    int32_t line_no;
    char reason[REASON_MAX + 1]; /* "" = NULL */
};

/* A movement as the ledger lists it. */
struct movement_row {
    int64_t id;
    struct movement movement;
    int64_t at_ms;
};

/* "ORDER" … */
const char *movement_kind_name(enum movement_kind kind);
bool movement_kind_parse(const char *name, enum movement_kind *ret);
