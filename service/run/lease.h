/* What `lockstock run` decides, as values: when a lease must be renewed and when its command must be dead, and what an
   answer of the service means. Pure; any thread. Times are milliseconds of clock_boot_ms(). */
#pragma once

#include "codec/lock_client.h"

#include <stdbool.h>
#include <stdint.h>

#define LEASE_NEVER INT64_MAX

struct lease_terms {
    int64_t ttl_ms, grace_ms;
};

/* renew_at < term_at <= kill_at: when to renew, when to ask the command to end, when to end it. After kill_at somebody
   else may hold the lock. */
struct lease {
    int64_t renew_at, term_at, kill_at;
};
/* sent_ms is when the request left whose answer said safe_for_ms: the answer may have taken any part of the lease. */
struct lease lease_of(const struct lease_terms *terms, int64_t sent_ms, int64_t safe_for_ms);

enum verdict {
    VERDICT_HELD,      /* ours, for reply->safe_for_ms */
    VERDICT_QUEUED,    /* our place is kept: ask again at once */
    VERDICT_AGAIN,     /* not now, or nobody knows: ask again later */
    VERDICT_LOST,      /* not ours, whatever it was before */
    VERDICT_REFUSED,   /* the request as it stands will never do */
    VERDICT_FORBIDDEN, /* another bearer token might */
};
/* status 0 = no answer. reply NULL = its body is no JSON object. */
enum verdict verdict_on_put(int status, const struct lock_reply *reply, const struct lease_terms *terms);
enum verdict verdict_on_renewal(int status, const struct lock_reply *reply, const struct lease_terms *terms);
/* HELD stands for: let go. */
enum verdict verdict_on_release(int status);

/* How long a call of each kind may take. */
#define PUT_SLICE_MS 20000 /* a parked request is answered after this, api/openapi.yaml */
int64_t put_timeout_ms(int64_t wait_ms);
int64_t renewal_timeout_ms(const struct lease_terms *terms);
#define RELEASE_TIMEOUT_MS 2000

/* The pause before the next call after `failures` failed ones in a row (from 1); hint_ms is what the service asked for,
   -1 = nothing. */
int64_t pause_ms(unsigned failures, int64_t hint_ms, const struct lease_terms *terms);

/* Exit status for a status of waitpid(2): 128+n for signal n. */
int exit_status_of(int wait_status);
