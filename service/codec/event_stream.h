/* Server-sent events (text/event-stream, WHATWG HTML §9.2). Pure; any thread. */
#pragma once

#include "base/text.h"

#include <stdint.h>

#define EVENT_STREAM_TYPE "text/event-stream"
/* What no client sees, and what keeps its connection open. */
#define EVENT_STREAM_COMMENT ": still here\n\n"

/* Appends how long a client waits before it connects again. */
void event_stream_retry(struct text *out, int64_t retry_ms);
/* Appends one event; id 0: without one. data: one JSON value, which has no line ends. */
void event_stream_add(struct text *out, const char *event, int64_t id, const char *data);
