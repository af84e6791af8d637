#include "codec/outbox_documents.h"

#include "codec/fields.h"
#include "codec/members.h"

static void write_members(struct text *out, const struct outbox_event *event) {
    member_string(out, "eventId", event->event_id);
    member_string(out, "eventType", event->event_type);
    member_string(out, "aggregateType", event->aggregate_type);
    member_string(out, "aggregateId", event->aggregate_id);
    member_integer(out, "aggregateVersion", event->aggregate_version);
    member_string(out, "status", event->status);
    member_integer(out, "retryCount", event->retry_count);
    member_time(out, "createdAt", event->created_at_ms);
    member_time(out, "publishedAt", event->published_at_ms);
}

void document_outbox_event(struct text *out, const struct outbox_event *event) {
    text_add_char(out, '{');
    write_members(out, event);
    text_add_char(out, '}');
}

void document_outbox_event_begin(struct text *out, const struct outbox_event *event) {
    text_add_char(out, '{');
    write_members(out, event);
    member_name(out, "payload");
    text_add(out, event->payload, event->payload_len);
    member_name(out, "failures");
    text_add_char(out, '[');
}

void document_outbox_failure(struct text *out, const struct sink_failure *failure) {
    if (out->data[out->len - 1] != '[') text_add_char(out, ',');
    text_add_char(out, '{');
    member_string(out, "sink", failure->sink);
    member_string(out, "status", failure->status);
    member_integer(out, "attempts", failure->attempts);
    member_time(out, "availableAt", failure->available_at_ms);
    member_string_or_null(out, "error", failure->error);
    text_add_char(out, '}');
}

void document_outbox_event_end(struct text *out) { text_add_str(out, "]}"); }

static const char *status_word(int64_t index) { return "FAILED"; }

struct replay_values {
    int64_t status;
};

static const struct field replay_list[] = {{.name = "status",
                                            .kind = FIELD_WORD,
                                            .offset = offsetof(struct replay_values, status),
                                            .word = status_word,
                                            .max = 1}};
static const struct fields replay_fields = {replay_list, 1};

RESULT body_outbox_replay(const char *body, size_t len, struct field_errors *errors) {
    struct replay_values values = {0};
    return fields_decode(&replay_fields, body, len, errors, &values);
}
