#include "codec/bodies_webhook.h"

#include "codec/fields.h"
#include "codec/members.h"

#include <assert.h>
#include <string.h>

#define TYPES_MAX 32 /* more than there are: repeats are told as such */

struct webhook_values {
    char url[WEBHOOK_URL_MAX + 1];
    const json_t *event_types;
};

static const struct field webhook_list[] = {
    {.name = "url",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct webhook_values, url),
     .min = 1,
     .max = WEBHOOK_URL_MAX},
    {.name = "eventTypes",
     .kind = FIELD_ARRAY,
     .offset = offsetof(struct webhook_values, event_types),
     .min = 1,
     .max = TYPES_MAX,
     .optional = true},
};
static const struct fields webhook_fields = {webhook_list, 2};

static const char *type_word(int64_t index) { return event_type_name((size_t)index); }

static void read_types(struct reader *reader, const json_t *types, event_type_set *set) {
    const struct field word = {.kind = FIELD_WORD, .word = type_word, .max = (int64_t)event_type_count()};
    const struct place at = {.name = "eventTypes"};
    for (size_t i = 0; i < json_array_size(types); i++) {
        const struct place place = {.up = &at, .index = i};
        int64_t index = -1;
        reader_value(reader, &word, json_array_get(types, i), &place, &index);
        if (index < 0) continue;
        if ((*set & (event_type_set)1 << index) != 0) reader_find(reader, &place, "is given twice");
        *set |= (event_type_set)1 << index;
    }
}

RESULT body_webhook(const char *body, size_t len, struct field_errors *errors, struct webhook_body *ret) {
    AUTO_READER reader = {0};
    struct webhook_values values = {0};
    event_type_set types = 0;
    TRY(reader_open(&reader, body, len, errors));
    reader_object(&reader, &webhook_fields, reader.root, NULL, &values);
    if (values.event_types != NULL) read_types(&reader, values.event_types, &types);
    TRY(reader_verdict(&reader));
    static_assert(sizeof ret->url == sizeof values.url, "one buffer for one field");
    memcpy(ret->url, values.url, sizeof ret->url);
    ret->event_types = types;
    return OK;
}

static void write_types(struct text *out, event_type_set set) {
    bool first = true;
    member_name(out, "eventTypes");
    text_add_char(out, '[');
    for (size_t i = 0; i < event_type_count(); i++) {
        if (set != 0 && (set & (event_type_set)1 << i) == 0) continue;
        if (!first) text_add_char(out, ',');
        json_write_string(out, event_type_name(i));
        first = false;
    }
    text_add_char(out, ']');
}

void document_webhook(struct text *out, const struct webhook *webhook, bool with_secret) {
    text_add_char(out, '{');
    member_string(out, "id", webhook->id);
    member_string(out, "url", webhook->url);
    write_types(out, webhook->event_types);
    member_string(out, "status", webhook->status);
    member_string_or_null(out, "disabledReason", webhook->disabled_reason);
    member_time(out, "createdAt", webhook->created_at_ms);
    member_time(out, "disabledAt", webhook->disabled_at_ms);
    if (with_secret) member_string(out, "secret", webhook->secret);
    text_add_char(out, '}');
}

void document_delivery(struct text *out, const struct delivery *delivery) {
    text_add_char(out, '{');
    member_integer(out, "id", delivery->id);
    member_string(out, "webhookId", delivery->webhook_id);
    member_string(out, "eventId", delivery->event_id);
    member_string(out, "eventType", delivery->event_type);
    member_string(out, "aggregateId", delivery->aggregate_id);
    member_string(out, "status", delivery->status);
    member_integer(out, "attempts", delivery->attempts);
    member_name(out, "lastStatus");
    if (delivery->last_status > 0)
        text_add_i64(out, delivery->last_status);
    else
        text_add_str(out, "null");
    member_string_or_null(out, "lastError", delivery->last_error);
    member_time(out, "createdAt", delivery->created_at_ms);
    member_time(out, "attemptedAt", delivery->attempted_at_ms);
    member_time(out, "nextAttemptAt", delivery->next_attempt_at_ms);
    member_time(out, "doneAt", delivery->done_at_ms);
    text_add_char(out, '}');
}
