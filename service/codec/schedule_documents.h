/* Reply documents of the schedule API (api/openapi.yaml). Each appends one whole JSON value, or members without braces
   where it says so. Pure; any thread. */
#pragma once

#include "codec/json.h"

/* 201, 200. */
struct schedule_grant_view {
    const char *name, *token, *by;
    int64_t locked_at_ms, lock_until_ms, safe_for_ms;
};
void document_schedule_grant(struct text *out, const struct schedule_grant_view *view);

/* GET. What an own job adds is what this process knows of it. */
struct schedule_job_view {
    int64_t every_ms; /* 0 = switched off here */
    int64_t at_most_ms, at_least_ms;
    int64_t runs, skips, failures;
};
struct schedule_view {
    const char *name;
    bool held;
    const char *by; /* who holds, or held last; "" = null */
    int64_t locked_at_ms, lock_until_ms;
    int64_t left_ms;                     /* 0 when not held */
    const struct schedule_job_view *job; /* NULL: not one of ours */
};
void document_schedule(struct text *out, const struct schedule_view *view);

/* Members of the problem SCH-001. */
void members_schedule_locked(struct text *out, const struct schedule_view *view);
