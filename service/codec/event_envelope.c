#include "codec/event_envelope.h"

#include "codec/members.h"

void document_envelope(struct text *out, const struct envelope *envelope) {
    text_add_char(out, '{');
    member_string(out, "eventId", envelope->event_id);
    member_string(out, "eventType", envelope->event_type);
    member_time(out, "timestamp", envelope->timestamp_ms);
    member_integer(out, "schemaVersion", EVENT_SCHEMA_VERSION);
    member_string(out, "source", EVENT_SOURCE);
    member_string(out, "aggregateId", envelope->aggregate_id);
    member_integer(out, "aggregateVersion", envelope->aggregate_version);
    member_name(out, "payload");
    text_add(out, envelope->payload, envelope->payload_len);
    text_add_char(out, '}');
}
