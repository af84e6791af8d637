/* Events of the outbox as somebody looks at them. Values only. */
#pragma once

#include "base/text.h"

#include <stdint.h>

#define EVENT_ID_SIZE TEXT_UUID_SIZE
#define EVENT_TEXT_SIZE 257 /* an aggregate id in UTF-8 */
#define SINK_NAME_SIZE 33
#define SINK_ERROR_SIZE 1021 /* 255 characters */

/* What a sink refused, or what waits behind such a one. */
struct sink_failure {
    char sink[SINK_NAME_SIZE];
    char status[21]; /* PENDING, FAILED, DISCARDED */
    int64_t attempts, available_at_ms;
    char error[SINK_ERROR_SIZE];
};

struct outbox_event {
    int64_t id, aggregate_version, retry_count;
    char event_id[EVENT_ID_SIZE], event_type[51], aggregate_type[51], aggregate_id[EVENT_TEXT_SIZE];
    char status[21];                        /* PENDING, PUBLISHED, FAILED, DISCARDED */
    int64_t created_at_ms, published_at_ms; /* 0 = not yet */
    const char *payload;                    /* JSON; NULL in lists */
    size_t payload_len;
};
