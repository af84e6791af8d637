#include "facade/inbound.h"

#include <string.h>

static struct rider *payment_rider(const struct event_body *event) {
    struct rider *rider = rider_new(COMMAND_PAYMENT, 0);
    rider->command.order_id = event->order_number;
    rider->command.payment.completed = event->completed;
    rider->command.payment.amount = event->amount;
    (void)text_copy(rider->command.payment.payment_key, sizeof rider->command.payment.payment_key, event->payment_key);
    return rider;
}

static struct rider *reserve_rider(const struct event_body *event, const struct event_terms *terms) {
    struct rider *rider = rider_for_reservation(COMMAND_RESERVE, terms->credential, event->order_id, event->line_count);
    memcpy(rider->lines, event->lines, event->line_count * sizeof rider->lines[0]);
    rider->command.reservation.ttl_ms = terms->ttl_ms;
    return rider;
}

static struct rider *make(const struct event_body *event, const struct event_terms *terms) {
    switch (event->effect) {
    case INBOX_PAYMENT:
        return payment_rider(event);
    case INBOX_RESERVE:
        return reserve_rider(event, terms);
    case INBOX_CONFIRM:
        return rider_for_reservation(COMMAND_RESERVATION_CONFIRM, terms->credential, event->order_id, 0);
    case INBOX_RELEASE:
        return rider_for_reservation(COMMAND_RESERVATION_RELEASE, terms->credential, event->order_id, 0);
    case INBOX_NOTHING:
        break;
    }
    return NULL;
}

struct rider *rider_for_event(const struct event_body *event, const struct event_terms *terms) {
    struct rider *rider = make(event, terms);
    if (rider == NULL) return NULL;
    (void)text_copy(rider->command.traceparent, sizeof rider->command.traceparent, terms->traceparent);
    if (rider_set_event(rider, event->event_id, terms->group)) return rider;
    return rider_free(rider);
}

enum event_fate event_fate_of(const struct answer *answer) {
    if (answer->duplicate) return EVENT_FATE_DUPLICATE;
    if (answer->processed) return answer->error == ERROR_NONE ? EVENT_FATE_APPLIED : EVENT_FATE_REFUSED;
    switch (answer->error) {
    case ERROR_UNAVAILABLE:
    case ERROR_STOCK_BUSY:
    case ERROR_OUTCOME_UNKNOWN:
    case ERROR_IN_PROGRESS:
        return EVENT_FATE_BUSY;
    default:
        return EVENT_FATE_NOT_NOW;
    }
}
