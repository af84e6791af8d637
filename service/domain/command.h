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
    COMMAND_ORDER_TIMEOUT, /* of jobs: cancels an order whose time is over, if it still is */
    COMMAND_RESERVE,
    COMMAND_RESERVATION_CONFIRM,
    COMMAND_RESERVATION_RELEASE,
    COMMAND_RESERVATION_SWEEP, /* of a job: releases a reservation whose time is over, if it still is */
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
        struct {
            enum order_status status; /* PENDING or PAYMENT_REQUESTED: cancelled only while it is still in it, */
            int64_t overdue_ms;       /* and its time was over so long ago */
            bool blind;               /* removal tests: neither is looked at */
        } timeout;
        struct {
            struct reservation_ref ref;
            int64_t ttl_ms;     /* reserve */
            int64_t overdue_ms; /* sweep: only when its time was over so long ago */
            bool blind;         /* removal tests: a sweep looks at neither state nor time */
        } reservation;
    };
    char event_id[TEXT_UUID_SIZE]; /* made with the command: id of its first event */
    char traceparent[56];
};

/* The reservation it acts on; NULL for all other commands. */
static inline const struct reservation_ref *command_reservation(const struct command *command) {
    switch (command->kind) {
    case COMMAND_RESERVE:
    case COMMAND_RESERVATION_CONFIRM:
    case COMMAND_RESERVATION_RELEASE:
    case COMMAND_RESERVATION_SWEEP:
        return &command->reservation.ref;
    default:
        return NULL;
    }
}

/* What else than products two commands must not touch at the same time: an order (-id) or a reservation; 0 = nothing.
 */
static inline int64_t command_subject(const struct command *command) {
    const struct reservation_ref *ref = command_reservation(command);
    return ref != NULL ? reservation_key(ref) : -command->order_id;
}

/* True when deciding it may change stock, so that the stock of its lines is locked. */
static inline bool command_moves_stock(const struct command *command) {
    switch (command->kind) {
    case COMMAND_ORDER_CREATE:
    case COMMAND_ORDER_CANCEL:
    case COMMAND_STOCK_ADJUST:
    case COMMAND_STOCK_SET:
    case COMMAND_ORDER_TIMEOUT:
    case COMMAND_RESERVE:
    case COMMAND_RESERVATION_RELEASE:
    case COMMAND_RESERVATION_SWEEP:
        return true;
    case COMMAND_PAYMENT:
        return !command->payment.completed;
    default:
        return false;
    }
}
