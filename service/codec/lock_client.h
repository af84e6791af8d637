/* The other side of the lock API (api/openapi.yaml): what a client sends and what it reads out of a reply. Pure; any
   thread (json_start first). */
#pragma once

#include "codec/json.h"

#include <stdbool.h>

struct lock_request {
    const char *token, *owner, *kind, *mode;
    int64_t ttl_ms, wait_ms;
    int64_t permits; /* > 0: of a semaphore, which has no kind and no mode */
    int64_t limit;   /* how many the semaphore has; 0 = as it is */
};
/* Body of PUT /v1/locks/{name} or /v1/semaphores/{name}; never asks for an unprotected grant. */
void document_lock_request(struct text *out, const struct lock_request *request);
/* Body of PATCH. */
void document_lock_renewal(struct text *out, int64_t ttl_ms);

/* What any reply may say; absent, null or of another type: 0, -1 or "". Unknown members are no fault: the service may
   be newer than its client. */
struct lock_reply {
    int64_t fence;          /* 0 = none */
    int64_t safe_for_ms;    /* -1 = none */
    int64_t retry_after_ms; /* -1 = none */
    char safety[16];        /* "redis" | "database" | "none" */
    char code[16];          /* of a problem: "LCK-001" */
    char detail[256];
    char reason[32];  /* of LCK-002 */
    char holder[132]; /* of LCK-001: the owner of the one who has it */
};
/* False: the body is no JSON object, and *ret says nothing. */
bool lock_reply_read(const char *body, size_t len, struct lock_reply *ret);
