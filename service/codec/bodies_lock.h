/* Bodies of the lock API (api/openapi.yaml): JSON text → plain values, strictly, as bodies.h. Pure; any thread. */
#pragma once

#include "codec/json.h"
#include "domain/lock.h"

struct lock_body {
    int64_t ttl_ms, wait_ms;
    char token[LOCK_TOKEN_MAX + 1]; /* "" = to be made by the service */
    char owner[LOCK_OWNER_MAX + 1]; /* "" = the caller's name and address */
    enum lock_kind kind;            /* DATABASE: "store": "database" */
    enum lock_mode mode;            /* shared: of kind rw */
    enum lock_when_down when_down;
    struct text metadata;   /* compact JSON object, empty = none */
    int64_t permits, limit; /* of a semaphore (limit 0: as it is); else 0 */
};
void lock_body_done(struct lock_body *body);
/* PUT /v1/locks/{name}. */
RESULT body_lock(const char *body, size_t len, struct field_errors *errors, struct lock_body *ret);

/* PUT /v1/locks: the same with "names"; each valid while the body is. Equal names are refused. */
struct lock_set_body {
    struct lock_body terms;
    size_t count;
    char *names[LOCK_SET_MAX];
};
void lock_set_body_done(struct lock_set_body *body);
RESULT body_lock_set(const char *body, size_t len, struct field_errors *errors, struct lock_set_body *ret);

/* PATCH: {"ttlMs"}. */
RESULT body_lock_renewal(const char *body, size_t len, struct field_errors *errors, int64_t *ret_ttl_ms);

/* PUT /v1/semaphores/{name}. */
RESULT body_semaphore(const char *body, size_t len, struct field_errors *errors, struct lock_body *ret);
/* PATCH: {"ttlMs"} or {"limit"}; *ret_limit 0: a renewal. */
RESULT body_semaphore_change(const char *body, size_t len, struct field_errors *errors, int64_t *ret_ttl_ms,
                             int64_t *ret_limit);

/* POST /v1/fences/{name}: {"fence"}, 1..2^53-1. */
RESULT body_fence(const char *body, size_t len, struct field_errors *errors, int64_t *ret_fence);
