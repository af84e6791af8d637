/* Payments. A payment that comes too late never moves stock: it leaves a compensation row and asks for a refund, once
   per reason and paymentKey. */
#include "domain/decide.h"

#include <string.h>

static void request_payment(struct world *world, struct order_cell *cell, struct decision *ret) {
    decide_set_status(cell, ORDER_PAYMENT_REQUESTED);
    cell->order.payment_requested_at_ms = world->now_ms;
    decide_add_event(ret, EVENT_PAYMENT_REQUESTED);
}

void decide_payment_request(struct world *world, const struct command *command, struct decision *ret) {
    struct order_cell *cell = decide_find_order(world, command, ret);
    if (cell == NULL) return;
    if (cell->order.status != ORDER_PENDING)
        decide_refuse(ret, ERROR_ORDER_STATE, NULL);
    else if ((ret->time_over = world->now_ms > cell->order.expires_at_ms))
        decide_refuse(ret, ERROR_ORDER_STATE, "the order's time to pay is over");
    else
        request_payment(world, cell, ret);
}

static void keep_payment(struct world *world, const struct payment *payment, enum payment_status status) {
    if (world_payment(world, payment->payment_key) != NULL) return; /* a key stands once, as it first came */
    struct payment row = *payment;
    row.status = status;
    world_add_payment(world, &row);
}

static void ask_refund(struct world *world, const char *reason, struct decision *ret) {
    keep_payment(world, &ret->payment, PAYMENT_REFUND_REQUIRED);
    struct compensation *row = &ret->compensation;
    row->order_id = ret->payment.order_id;
    row->amount = ret->payment.amount;
    row->detected_at_ms = world->now_ms;
    (void)text_copy(row->reason, sizeof row->reason, reason);
    (void)text_format(row->status, sizeof row->status, "OPEN");
    (void)text_copy(row->payment_key, sizeof row->payment_key, ret->payment.payment_key);
    if (world_has_compensation(world, row)) return;
    world_add_compensation(world, row);
    decide_add_event(ret, EVENT_REFUND_REQUIRED);
}

static void complete(struct world *world, struct order_cell *cell, struct decision *ret) {
    const struct payment *known = world_payment(world, ret->payment.payment_key);
    if (known != NULL && known->status != PAYMENT_FAILED) return; /* said before */
    switch (cell->order.status) {
    case ORDER_PENDING:
        request_payment(world, cell, ret);
        __attribute__((fallthrough));
    case ORDER_PAYMENT_REQUESTED:
        decide_set_status(cell, ORDER_PAYMENT_COMPLETED);
        keep_payment(world, &ret->payment, PAYMENT_APPROVED);
        decide_add_event(ret, EVENT_PAYMENT_COMPLETED);
        return;
    case ORDER_PAYMENT_FAILED:
    case ORDER_CANCELLED:
        ask_refund(world, "PAID_BUT_CANCELLED", ret);
        return;
    default:
        ask_refund(world, "PAID_TWICE", ret);
        return;
    }
}

static void fail(struct world *world, struct order_cell *cell, struct decision *ret) {
    enum order_status status = cell->order.status;
    if (status != ORDER_PENDING && status != ORDER_PAYMENT_REQUESTED) return; /* decided before: nothing to take back */
    /* Stock first: when it cannot go back, nothing of this command stays. The events keep their order of happening. */
    decide_add_event(ret, EVENT_PAYMENT_FAILED);
    if (!decide_give_back(world, cell, "PAYMENT_FAILED", ret)) {
        ret->event_count = 0;
        return;
    }
    cell->order.version++; /* through PAYMENT_FAILED to CANCELLED: two steps */
    keep_payment(world, &ret->payment, PAYMENT_FAILED);
}

void decide_payment(struct world *world, const struct command *command, struct decision *ret) {
    struct order_cell *cell = decide_find_order(world, command, ret);
    if (cell == NULL) return;
    const struct payment *known = world_payment(world, command->payment.payment_key);
    if (known != NULL && known->order_id != command->order_id) {
        decide_refuse(ret, ERROR_PAYMENT_MISMATCH, "this paymentKey belongs to another order");
        return;
    }
    if (command->payment.amount != cell->order.total_amount) {
        decide_refuse(ret, ERROR_PAYMENT_MISMATCH, "the amount differs from the order's total");
        return;
    }
    ret->payment.order_id = command->order_id;
    ret->payment.amount = command->payment.amount;
    (void)text_copy(ret->payment.payment_key, sizeof ret->payment.payment_key, command->payment.payment_key);
    if (command->payment.completed)
        complete(world, cell, ret);
    else
        fail(world, cell, ret);
}
