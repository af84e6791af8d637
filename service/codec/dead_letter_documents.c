#include "codec/dead_letter_documents.h"

#include "codec/members.h"

void document_dead_letter(struct text *out, const struct dead_letter *letter) {
    text_add_char(out, '{');
    member_integer(out, "id", letter->id);
    member_string(out, "topic", letter->topic);
    member_string(out, "group", letter->consumer_group);
    member_string(out, "position", letter->position);
    member_string_or_null(out, "eventId", letter->event_id);
    member_string(out, "error", letter->error);
    member_string(out, "status", letter->status);
    member_time(out, "createdAt", letter->created_at_ms);
    member_time(out, "settledAt", letter->settled_at_ms);
    member_integer(out, "payloadBytes", (int64_t)letter->payload_bytes);
    member_name(out, "payload");
    json_write_string_n(out, letter->payload, letter->payload_len);
    text_add_char(out, '}');
}
