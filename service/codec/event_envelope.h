/* The envelope every sink sends and the inbox takes (api/openapi.yaml). Pure; any thread. */
#pragma once

#include "base/text.h"

/* What stands in `source` of our events. The inbox acknowledges those without effect. */
#define EVENT_SOURCE "lockstock"
#define EVENT_SCHEMA_VERSION 1

struct envelope {
    const char *event_id, *event_type, *aggregate_id;
    int64_t timestamp_ms, aggregate_version;
    const char *payload; /* JSON, taken as it is */
    size_t payload_len;
};

/* {"eventId","eventType","timestamp","schemaVersion":1,"source","aggregateId","aggregateVersion","payload"} */
void document_envelope(struct text *out, const struct envelope *envelope);
