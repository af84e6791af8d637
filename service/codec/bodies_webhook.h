/* POST /v1/webhooks, and what replies say of webhooks and deliveries. As codec/bodies.h and codec/documents.h. */
#pragma once

#include "codec/json.h"
#include "domain/limits.h"
#include "domain/webhook.h"

struct webhook_body {
    char url[WEBHOOK_URL_MAX + 1]; /* its form is for the endpoint to judge */
    event_type_set event_types;
};
RESULT body_webhook(const char *body, size_t len, struct field_errors *errors, struct webhook_body *ret);

/* The secret is written when `with_secret` says so: once, in the answer that made it. */
void document_webhook(struct text *out, const struct webhook *webhook, bool with_secret);

void document_delivery(struct text *out, const struct delivery *delivery);
