/* An event on its way through the facade for an endpoint. Loop thread. */
#pragma once

#include "endpoints/common.h"
#include "facade/inbound.h"

/* What the service's own settings say of events that come in; traceparent is the caller's. */
struct event_terms inbound_terms(const struct service *service, const char *credential, const char *traceparent);
/* "PRD-002" of an answer. */
const char *inbound_code(const struct answer *answer);
/* The problem document of an answer, with its Retry-After. Takes the answer's body. */
void inbound_reply_problem(struct request *request, struct answer *answer);
