/* Events of others (docs/inbox.md): what they ask of us. Unknown fields are ignored, in the envelope and below it:
   events grow. Otherwise as codec/bodies.h. */
#pragma once

#include "codec/json.h"
#include "domain/limits.h"
#include "domain/order.h"

/* A payment names one of our orders by its number, or a reservation by its text. */
enum inbox_effect {
    INBOX_NOTHING, /* it is our own: nothing to do */
    INBOX_PAYMENT, /* of order `order_number` */
    INBOX_RESERVE, /* `lines` for `order_id` */
    INBOX_CONFIRM, /* the reservation of `order_id` */
    INBOX_RELEASE, /* the same */
};

#define EVENT_TYPE_MAX 50 /* bytes */
struct event_body {
    char event_id[EVENT_ID_MAX + 1];
    char event_type[EVENT_TYPE_MAX + 1];
    enum inbox_effect effect;
    int64_t order_number;
    char order_id[USER_ID_MAX + 1];
    bool completed; /* INBOX_PAYMENT: else it failed */
    char payment_key[PAYMENT_KEY_MAX + 1];
    int64_t amount;
    struct line lines[ORDER_LINES_MAX]; /* merged, sorted by product */
    size_t line_count;
};
/* On failure ret->event_id is what was read of it, "" when nothing was; everything else is not set. */
RESULT body_event(const char *body, size_t len, struct field_errors *errors, struct event_body *ret);

/* {"eventId","duplicate"} and, with a reason, "applied":false,"reason". reason NULL = it had its effect, now or before.
 */
void document_event_answer(struct text *out, const char *event_id, bool duplicate, const char *reason);
