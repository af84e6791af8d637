/* Decides the riders of an attempt one after the other and writes down answers and events. No I/O. */
#include "base/memory.h"
#include "codec/documents.h"
#include "facade/answer.h"
#include "facade/trip.h"

static struct event *add_event(struct attempt *attempt) {
    if (attempt->event_count == attempt->event_max) {
        attempt->event_max = attempt->event_max == 0 ? 64 : attempt->event_max * 2;
        attempt->events = mem_grow(attempt->events, attempt->event_max, sizeof attempt->events[0]);
        attempt->payload_ends = mem_grow(attempt->payload_ends, attempt->event_max, sizeof attempt->payload_ends[0]);
    }
    struct event *event = &attempt->events[attempt->event_count++];
    *event = (struct event){0};
    return event;
}

/* The payload of the event just added has been appended. */
static void end_payload(struct attempt *attempt) {
    attempt->payload_ends[attempt->event_count - 1] = attempt->payloads.len;
}

static const char *write_payload(struct text *out, const struct decision *decision, enum event_kind kind) {
    const struct order *order = decision->order;
    switch (kind) {
    case EVENT_ORDER_CREATED:
        document_order_created(out, order);
        return "order.created";
    case EVENT_ORDER_CANCELLED:
        document_order_cancelled(out, order, decision->cancel_reason);
        return "order.cancelled";
    case EVENT_PAYMENT_REQUESTED:
        document_payment_requested(out, order);
        return "order.payment_requested";
    case EVENT_PAYMENT_COMPLETED:
        document_payment(out, order, &decision->payment);
        return "payment.completed";
    case EVENT_PAYMENT_FAILED:
        document_payment(out, order, &decision->payment);
        return "payment.failed";
    case EVENT_REFUND_REQUIRED:
        document_refund_required(out, order, &decision->compensation);
        return "payment.refund_required";
    case EVENT_STATUS_CHANGED:
        document_status_changed(out, order);
        return "order.status_changed";
    case EVENT_RESERVATION_RESULT:
        document_reservation_result(out, &decision->reservation->row, decision->now_ms);
        return "stock.reservation.result";
    }
    return NULL;
}

/* Whose event it is; the version is that after the last event of the decision. */
static void set_aggregate(struct event *event, const struct decision *decision) {
    if (decision->reservation != NULL) {
        event->aggregate_type = "RESERVATION";
        (void)text_copy(event->aggregate_id, sizeof event->aggregate_id, decision->reservation->row.ref.order_id);
        event->aggregate_version = decision->reservation->row.version;
        return;
    }
    event->aggregate_type = "ORDER";
    (void)text_format(event->aggregate_id, sizeof event->aggregate_id, "%lld", (long long)decision->order->id);
    event->aggregate_version = decision->order->version;
}

static void add_events(struct attempt *attempt, const struct rider *rider, const struct decision *decision) {
    for (size_t i = 0; i < decision->event_count; i++) {
        struct event *event = add_event(attempt);
        if (i == 0)
            (void)text_copy(event->event_id, sizeof event->event_id, rider->command.event_id);
        else
            text_uuid(event->event_id);
        set_aggregate(event, decision);
        /* Each event is a step, the last one leads to the version it has. */
        event->aggregate_version -= (int64_t)(decision->event_count - 1 - i);
        (void)text_copy(event->traceparent, sizeof event->traceparent, rider->command.traceparent);
        event->event_type = write_payload(&attempt->payloads, decision, decision->events[i]);
        end_payload(attempt);
    }
}

/* The same event stands earlier in this attempt and was processed there. */
static bool is_repeated(const struct rider *rider) {
    const struct rider *before = rider->same_event;
    return before != NULL && (before->answer.processed || before->answer.duplicate);
}

static void settle_one(struct attempt *attempt, struct rider *rider) {
    struct decision decision;
    if (is_repeated(rider)) {
        answer_duplicate(rider);
        return;
    }
    decide(&attempt->world, &rider->command, attempt->next_id, &decision);
    answer_decision(rider, &decision);
    rider->settled = true;
    rider->stores = rider->has_key && decision_is_stored(decision.error);
    rider->answer.processed = rider->event != NULL && decision_is_stored(decision.error);
    if (decision.created && decision.order != NULL) attempt->next_id++;
    if (decision.stock != NULL) rider->stock_product = decision.stock->row.product_id;
    add_events(attempt, rider, &decision);
}

/* The stock commands answer with the row as the train leaves it: its version is the one that will stand, so that their
 * ETag is true. */
static void answer_stock_commands(struct attempt *attempt) {
    for (size_t i = 0; i < attempt->count; i++) {
        struct rider *rider = attempt->riders[i];
        if (rider->stock_product != 0) answer_stock(rider, &world_stock(&attempt->world, rider->stock_product)->row);
    }
}

/* stock.changed: once per product and train. */
static void add_stock_events(struct attempt *attempt) {
    for (size_t i = 0; i < attempt->world.stock_count; i++) {
        const struct stock_cell *cell = &attempt->world.stocks[i];
        if (!cell->changed) continue;
        struct event *event = add_event(attempt);
        text_uuid(event->event_id);
        event->aggregate_type = "PRODUCT";
        (void)text_format(event->aggregate_id, sizeof event->aggregate_id, "%lld", (long long)cell->row.product_id);
        event->aggregate_version = cell->row.version;
        event->event_type = "stock.changed";
        document_stock_changed(&attempt->payloads, &cell->row);
        end_payload(attempt);
    }
}

void attempt_settle(struct attempt *attempt) {
    attempt->payloads = text_new(0);
    for (size_t i = 0; i < attempt->count; i++)
        if (!attempt->riders[i]->settled) settle_one(attempt, attempt->riders[i]);
    answer_stock_commands(attempt);
    add_stock_events(attempt);
    if (attempt->event_count > 0)
        (void)text_copy(attempt->first_event_id, sizeof attempt->first_event_id, attempt->events[0].event_id);
}
