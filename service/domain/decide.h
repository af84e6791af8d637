/* Decides one command against the world: all or nothing, no I/O. The same commands in the same order give the same
   world and answers, whether they came in one train or one by one (version and stock.changed apart, which move once per
   train). */
#pragma once

#include "domain/world.h"

enum event_kind {
    EVENT_ORDER_CREATED,
    EVENT_ORDER_CANCELLED,
    EVENT_PAYMENT_REQUESTED,
    EVENT_PAYMENT_COMPLETED,
    EVENT_PAYMENT_FAILED,
    EVENT_REFUND_REQUIRED,
    EVENT_STATUS_CHANGED,
    EVENT_RESERVATION_RESULT,
};
#define DECISION_EVENTS_MAX 3

struct decision {
    enum error error;                     /* ERROR_NONE: done */
    const char *pointer;                  /* of INVALID_REQUEST: the field, or NULL; static */
    bool time_over;                       /* of ORDER_STATE: only cancelling is left */
    const char *detail;                   /* of an error, or NULL; static */
    bool created;                         /* a new order or reservation */
    struct order *order;                  /* the order as it now is; NULL for stock commands and errors without one */
    struct stock_cell *stock;             /* stock commands: the row as it now is */
    struct reservation_cell *reservation; /* the reservation as it now is, also of its refusals; NULL = none */
    enum event_kind events[DECISION_EVENTS_MAX];
    size_t event_count;               /* of a refusal too: a reservation that FAILED is told */
    struct payment payment;           /* of the payment events */
    struct compensation compensation; /* of EVENT_REFUND_REQUIRED */
    int64_t now_ms;                   /* the world's */
    const char *cancel_reason;        /* of EVENT_ORDER_CANCELLED; borrowed from the command or static */
    int64_t product_id, requested, available, version; /* extras of PRD-*; product_id 0 = none */
};

/* new_order_id is used (and given back in decision->order->id) only when an order is created. */
void decide(struct world *world, const struct command *command, int64_t new_order_id, struct decision *ret);
/* Is this answer kept under its Idempotency-Key (docs/guarantees.md, G2)? */
bool decision_is_stored(enum error error);

/* -- between the files of decide: */
void decide_create(struct world *world, const struct command *command, int64_t new_order_id, struct decision *ret);
void decide_cancel(struct world *world, const struct command *command, struct decision *ret);
void decide_status(struct world *world, const struct command *command, struct decision *ret);
void decide_payment_request(struct world *world, const struct command *command, struct decision *ret);
void decide_payment(struct world *world, const struct command *command, struct decision *ret);
void decide_timeout(struct world *world, const struct command *command, struct decision *ret);
void decide_reserve(struct world *world, const struct command *command, struct decision *ret);
void decide_confirm(struct world *world, const struct command *command, struct decision *ret);
void decide_release(struct world *world, const struct command *command, struct decision *ret);
void decide_sweep(struct world *world, const struct command *command, struct decision *ret);
/* True when the line can be sold from its row (NULL = there is none); else the refusal is set. */
bool decide_can_sell(const struct stock_cell *cell, const struct line *line, struct decision *ret);
/* True when the pieces fit into their stock row; else the refusal is set. */
bool decide_can_take_back(struct world *world, struct line line, struct decision *ret);
/* Finds the order or sets ORDER_NOT_FOUND. */
struct order_cell *decide_find_order(struct world *world, const struct command *command, struct decision *ret);
/* Every item back into stock, the order CANCELLED, its event. False (and the error set, nothing changed) when a stock
 * row is gone or would pass STOCK_MAX. */
bool decide_give_back(struct world *world, struct order_cell *cell, const char *reason, struct decision *ret);
void decide_set_status(struct order_cell *cell, enum order_status status);
void decide_add_event(struct decision *decision, enum event_kind kind);
void decide_refuse(struct decision *decision, enum error error, const char *detail);
