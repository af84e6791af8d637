/* What a client asks of stock and orders, as plain values. Commands ride trains and are decided one after the other. */
#pragma once

#include "domain/records.h"

enum command_kind {
    COMMAND_ORDER_CREATE,
    COMMAND_ORDER_CANCEL,
    COMMAND_PAYMENT_REQUEST,
    COMMAND_PAYMENT,
    COMMAND_ORDER_STATUS,
    COMMAND_STOCK_ADJUST,
    COMMAND_STOCK_SET,
};

#define IF_MATCH_MAX 8 /* versions one If-Match may name */

struct command {
    enum command_kind kind;
    int64_t order_id;   /* the order it acts on; 0 for new orders and stock commands */
    struct line *lines; /* products it may touch, sorted, no duplicates; borrowed. Orders that exist: their items */
    size_t line_count;
    union {
        struct {
            char user_id[USER_ID_MAX + 1];
        } create;
        struct {
            char reason[REASON_MAX + 1];
        } cancel;
        struct {
            bool completed;
            char payment_key[PAYMENT_KEY_MAX + 1];
            int64_t amount;
        } payment;
        struct {
            enum order_status status;
        } status;
        struct {
            int64_t delta;
            char reason[REASON_MAX + 1];
        } adjust;
        struct {
            int64_t stock;
            bool any_version;               /* If-Match: * */
            int64_t versions[IF_MATCH_MAX]; /* else one of these */
            size_t version_count;
        } set;
    };
    char event_id[TEXT_UUID_SIZE]; /* made with the command: id of its first event */
    char traceparent[56];
};

/* True when deciding it may change stock, so that the stock of its lines is locked. */
static inline bool command_moves_stock(const struct command *command) {
    switch (command->kind) {
    case COMMAND_ORDER_CREATE:
    case COMMAND_ORDER_CANCEL:
    case COMMAND_STOCK_ADJUST:
    case COMMAND_STOCK_SET:
        return true;
    case COMMAND_PAYMENT:
        return !command->payment.completed;
    default:
        return false;
    }
}
