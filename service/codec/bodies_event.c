/* The one table of what the inbox handles, whatever the event came by. */
#include "codec/bodies_event.h"

#include "codec/event_envelope.h"
#include "codec/lines_reader.h"
#include "codec/members.h"

#include <string.h>

#define SOURCE_MAX 255

struct handler {
    const char *type;
    enum inbox_effect of_number; /* payload.orderId is a number; INBOX_NOTHING = not taken */
    enum inbox_effect of_text;
    bool completed;
};

static const struct handler handlers[] = {
    {"payment.completed", INBOX_PAYMENT, INBOX_CONFIRM, true},
    {"payment.failed", INBOX_PAYMENT, INBOX_RELEASE, false},
    {"order.created", INBOX_NOTHING, INBOX_RESERVE, false},
    {"order.cancelled", INBOX_NOTHING, INBOX_RELEASE, false},
};

static const struct handler *handler_of(const char *type) {
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
        if (strcmp(handlers[i].type, type) == 0) return &handlers[i];
    return NULL;
}

/* -- the envelope */

struct envelope_values {
    char event_id[EVENT_ID_MAX + 1];
    char event_type[EVENT_TYPE_MAX + 1];
    char source[SOURCE_MAX + 1];
    int64_t schema_version;
    const json_t *payload;
};

static const struct field envelope_list[] = {
    {.name = "eventId",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct envelope_values, event_id),
     .min = 1,
     .max = EVENT_ID_MAX},
    {.name = "eventType",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct envelope_values, event_type),
     .min = 1,
     .max = EVENT_TYPE_MAX},
    {.name = "source",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct envelope_values, source),
     .max = SOURCE_MAX,
     .optional = true},
    {.name = "schemaVersion",
     .kind = FIELD_INTEGER,
     .offset = offsetof(struct envelope_values, schema_version),
     .min = 1,
     .max = EVENT_SCHEMA_VERSION,
     .optional = true},
    {.name = "payload", .kind = FIELD_OBJECT, .offset = offsetof(struct envelope_values, payload), .max = BODY_MAX},
};
static const struct fields envelope_fields = {envelope_list, 5};

/* The column takes ASCII, and an id with blanks is a mistake. */
static void check_id(struct reader *reader, const char *id) {
    for (; *id != '\0'; id++) {
        if (*id > ' ' && *id <= '~') continue;
        reader_find(reader, &(struct place){.name = "eventId"}, "must be printable ASCII without blanks");
        return;
    }
}

/* -- payloads */

static const struct place at_payload = {.name = "payload"};
static const struct place at_order_id = {.up = &at_payload, .name = "orderId"};

struct payment_values {
    char payment_key[PAYMENT_KEY_MAX + 1];
    int64_t amount;
};
static const struct field payment_list[] = {
    {.name = "paymentKey",
     .kind = FIELD_TEXT,
     .trimmed = true,
     .offset = offsetof(struct payment_values, payment_key),
     .min = 1,
     .max = PAYMENT_KEY_MAX},
    {.name = "amount", .kind = FIELD_INTEGER, .offset = offsetof(struct payment_values, amount), .max = MONEY_MAX},
};
static const struct fields payment_fields = {payment_list, 2};

static void read_payment(struct reader *reader, const json_t *payload, struct event_body *event) {
    struct payment_values values = {0};
    reader_object(reader, &payment_fields, payload, &at_payload, &values);
    memcpy(event->payment_key, values.payment_key, sizeof event->payment_key);
    event->amount = values.amount;
}

struct items_values {
    const json_t *items;
};
static const struct field items_list[] = {
    {.name = "items",
     .kind = FIELD_ARRAY,
     .offset = offsetof(struct items_values, items),
     .min = 1,
     .max = ORDER_LINES_MAX},
};
static const struct fields items_fields = {items_list, 1};

static void read_items(struct reader *reader, const json_t *payload, struct event_body *event) {
    struct items_values values = {0};
    reader_object(reader, &items_fields, payload, &at_payload, &values);
    reader_lines(reader, values.items, event->lines, &event->line_count);
}

/* A number is an order of ours, a text a reservation. */
static enum inbox_effect read_order_id(struct reader *reader, const struct handler *handler, const json_t *payload,
                                       struct event_body *event) {
    static const struct field number = {.kind = FIELD_INTEGER, .min = 1, .max = SAFE_INTEGER_MAX};
    static const struct field text = {.kind = FIELD_TEXT, .min = 1, .max = USER_ID_MAX, .trimmed = true};
    const json_t *value = json_object_get(payload, "orderId");
    if (value == NULL) {
        reader_find(reader, &at_order_id, "is required");
        return INBOX_NOTHING;
    }
    if (json_is_number(value) && handler->of_number != INBOX_NOTHING) {
        reader_value(reader, &number, value, &at_order_id, &event->order_number);
        return handler->of_number;
    }
    reader_value(reader, &text, value, &at_order_id, event->order_id);
    return handler->of_text;
}

static void read_payload(struct reader *reader, const json_t *payload, struct event_body *event) {
    const struct handler *handler = handler_of(event->event_type);
    if (handler == NULL) {
        reader_find(reader, &(struct place){.name = "eventType"},
                    "is not handled here: payment.completed, payment.failed, order.created and order.cancelled are");
        return;
    }
    event->completed = handler->completed;
    event->effect = read_order_id(reader, handler, payload, event);
    if (event->effect == INBOX_PAYMENT) read_payment(reader, payload, event);
    if (event->effect == INBOX_RESERVE) read_items(reader, payload, event);
}

RESULT body_event(const char *body, size_t len, struct field_errors *errors, struct event_body *ret) {
    AUTO_READER reader = {.lenient = true};
    struct envelope_values values = {0};
    *ret = (struct event_body){0};
    TRY(reader_open(&reader, body, len, errors));
    reader_object(&reader, &envelope_fields, reader.root, NULL, &values);
    check_id(&reader, values.event_id);
    memcpy(ret->event_id, values.event_id, sizeof ret->event_id);
    memcpy(ret->event_type, values.event_type, sizeof ret->event_type);
    bool is_ours = strcmp(values.source, EVENT_SOURCE) == 0;
    if (values.payload != NULL && values.event_type[0] != '\0' && !is_ours) read_payload(&reader, values.payload, ret);
    return reader_verdict(&reader);
}

static void member_bool(struct text *out, const char *name, bool value) {
    member_name(out, name);
    text_add_str(out, value ? "true" : "false");
}

void document_event_answer(struct text *out, const char *event_id, bool duplicate, const char *reason) {
    text_add_char(out, '{');
    member_string(out, "eventId", event_id);
    member_bool(out, "duplicate", duplicate);
    if (reason != NULL) {
        member_bool(out, "applied", false);
        member_string(out, "reason", reason);
    }
    text_add_char(out, '}');
}
