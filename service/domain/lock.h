/* Locks as values: names, kinds, terms, and the arithmetic of fences and leases. Pure; any thread. */
#pragma once

#include "base/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOCK_NAME_MAX 200        /* bytes */
#define LOCK_TTL_MS_MIN 100      /* shorter leases end before their answer can be used */
#define LOCK_TTL_MS_MAX 86400000 /* 24 h; the scripts hold the same bound */
#define LOCK_TTL_MS_DEFAULT 30000
#define LOCK_WAIT_MS_MAX 600000
#define LOCK_TOKEN_MIN 16 /* characters */
#define LOCK_TOKEN_MAX 64
#define LOCK_OWNER_MAX 128         /* bytes */
#define LOCK_METADATA_MAX 2048     /* bytes of its JSON text */
#define LOCK_SET_MAX 64            /* names of one PUT /v1/locks */
#define SEMAPHORE_PERMITS_MAX 1000 /* of one grant; the scripts hold the same bounds */
#define SEMAPHORE_LIMIT_MAX 10000

/* The words of a request and of the kind registry in Redis. */
enum lock_kind {
    LOCK_KIND_LOCK,
    LOCK_KIND_FAIR, /* first come first served over all instances; no sets */
    LOCK_KIND_RW,
    LOCK_KIND_COUNT, /* words of PUT /v1/locks; behind them what has a path of its own */
    LOCK_KIND_SEMAPHORE = LOCK_KIND_COUNT,
    LOCK_KIND_DATABASE, /* a lock with "store": "database" */
    LOCK_KIND_ALL
};
const char *lock_kind_name(enum lock_kind kind);

/* How a name of kind rw is held: by one, or by many who only read. All other kinds: exclusive. */
enum lock_mode { LOCK_MODE_EXCLUSIVE, LOCK_MODE_SHARED, LOCK_MODE_COUNT };
const char *lock_mode_name(enum lock_mode mode);

/* What protects a grant. */
enum lock_safety { LOCK_SAFETY_REDIS, LOCK_SAFETY_DATABASE, LOCK_SAFETY_NONE };
const char *lock_safety_name(enum lock_safety safety);

/* What to do when the lock store is away; by default the setting decides. */
enum lock_when_down { LOCK_DOWN_DEFAULT, LOCK_DOWN_CLOSED, LOCK_DOWN_OPEN };

/* Why a name is no lock name; NULL when it is one. Printable UTF-8, no braces (Redisson's keys would fall apart), no
   space at either end, not under "lockstock:". */
const char *lock_name_fault(const char *name);
/* Names under "inventory-lock:" belong to the trains too. */
bool lock_name_is_stock(const char *name);
/* 16..64 of [A-Za-z0-9_-] */
bool lock_token_is_good(const char *token);

/* Fences: epoch * 2^32 + n. Exact in a double and in JSON up to LOCK_EPOCH_MAX. */
#define LOCK_FENCE_SPAN (INT64_C(1) << 32)
#define LOCK_EPOCH_MAX (INT64_C(1) << 21)
int64_t lock_fence(int64_t epoch, int64_t n);
/* The marker beside the counter: "epoch:run_id". False when it is none. */
bool lock_marker_parse(const char *marker, int64_t *ret_epoch, const char **ret_run_id);

/* What is left of a lease for its holder: left_ms when the call was sent, less what has passed since on our monotonic
   clock, less a margin for clocks that run apart. Never negative. */
int64_t lock_safe_for_ms(int64_t left_ms, int64_t elapsed_ms);
