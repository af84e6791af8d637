/* An event of others that could not have its effect, as a value. */
#pragma once

#include "domain/limits.h"

#include <stddef.h>

#define DEAD_LETTER_TOPIC_MAX 200
#define DEAD_LETTER_POSITION_MAX 250
#define DEAD_LETTER_ERROR_MAX 300

struct dead_letter {
    int64_t id;
    char topic[DEAD_LETTER_TOPIC_MAX + 1];
    char consumer_group[CONSUMER_GROUP_MAX + 1];
    char position[DEAD_LETTER_POSITION_MAX + 1]; /* where it stood: no two letters of a group share one */
    char event_id[EVENT_ID_MAX + 1];             /* "" = not known */
    char error[DEAD_LETTER_ERROR_MAX + 1];
    char traceparent[65];
    char status[21];                      /* OPEN | REPLAYED | DISCARDED */
    const char *payload;                  /* what came, byte for byte; borrowed */
    size_t payload_len;                   /* of what stands here */
    size_t payload_bytes;                 /* of the whole */
    int64_t created_at_ms, settled_at_ms; /* 0 = not settled */
};
