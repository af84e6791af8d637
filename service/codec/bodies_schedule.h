/* Body of PUT and PATCH /v1/schedules/{name} (api/openapi.yaml), strictly, as bodies.h. Pure; any thread. */
#pragma once

#include "codec/json.h"
#include "domain/schedule.h"

struct schedule_body {
    int64_t at_most_ms;           /* 1 ms to 24 h */
    int64_t at_least_ms;          /* 0 to at_most_ms; 0 when absent */
    char by[SCHEDULE_BY_MAX + 1]; /* "" = the caller's name and address */
};
RESULT body_schedule(const char *body, size_t len, struct field_errors *errors, struct schedule_body *ret);
