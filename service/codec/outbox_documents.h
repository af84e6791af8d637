/* What replies say of the outbox (api/openapi.yaml), and the body of a replay of all. As codec/documents.h and
 * codec/bodies.h.
 */
#pragma once

#include "codec/json.h"
#include "domain/outbox.h"

/* Without payload, as in lists. */
void document_outbox_event(struct text *out, const struct outbox_event *event);
/* The same with payload; the members go on with document_failures. */
void document_outbox_event_begin(struct text *out, const struct outbox_event *event);
void document_outbox_failure(struct text *out, const struct sink_failure *failure);
void document_outbox_event_end(struct text *out);

/* {"status":"FAILED"}: the only one there is. */
RESULT body_outbox_replay(const char *body, size_t len, struct field_errors *errors);
