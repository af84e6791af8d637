#include "run/lease.h"

#include <string.h>
#include <sys/wait.h>

/* SIGKILL is sent this much before the lease ends: the sender may be scheduled late, and the dying take their time. */
#define KILL_LEAD_DIVISOR 50
#define KILL_LEAD_MS_MIN 10
#define KILL_LEAD_MS_MAX 200
#define RENEW_DIVISOR 3

#define PUT_EXTRA_MS 5000 /* a call that need not wait is answered long before */
#define RENEWAL_DIVISOR 6 /* two tries at least between a third of the lease and its three quarters */
#define RENEWAL_TIMEOUT_MS_MIN 250
#define RENEWAL_TIMEOUT_MS_MAX 10000
#define PAUSE_MS_MIN 100
#define PAUSE_MS_MAX 2000
#define PAUSE_DIVISOR 20
#define PAUSE_DOUBLINGS_MAX 5

static int64_t within(int64_t value, int64_t min, int64_t max) { return value < min ? min : value > max ? max : value; }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

struct lease lease_of(const struct lease_terms *terms, int64_t sent_ms, int64_t safe_for_ms) {
    int64_t lead_ms = within(safe_for_ms / KILL_LEAD_DIVISOR, KILL_LEAD_MS_MIN, KILL_LEAD_MS_MAX);
    struct lease lease = {.kill_at = sent_ms + safe_for_ms - lead_ms};
    lease.term_at = lease.kill_at - terms->grace_ms;
    lease.renew_at = least(sent_ms + terms->ttl_ms / RENEW_DIVISOR, lease.term_at);
    return lease;
}

/* A lease longer than was asked for would be somebody else's, or a lie. */
static bool is_grant(const struct lock_reply *reply, const struct lease_terms *terms) {
    return reply != NULL && reply->safe_for_ms >= 0 && reply->safe_for_ms <= terms->ttl_ms &&
           strcmp(reply->safety, "none") != 0;
}

static enum verdict verdict_on_refusal(int status) {
    if (status == 401 || status == 403) return VERDICT_FORBIDDEN;
    if (status == 408 || status == 410 || status == 423 || status == 429 || status == 0 || status >= 500)
        return VERDICT_AGAIN;
    return VERDICT_REFUSED;
}

enum verdict verdict_on_put(int status, const struct lock_reply *reply, const struct lease_terms *terms) {
    if (status == 200 || status == 201) return is_grant(reply, terms) ? VERDICT_HELD : VERDICT_AGAIN;
    if (status == 202) return VERDICT_QUEUED;
    return verdict_on_refusal(status);
}

enum verdict verdict_on_renewal(int status, const struct lock_reply *reply, const struct lease_terms *terms) {
    if (status == 410) return VERDICT_LOST;
    return status == 200 && is_grant(reply, terms) ? VERDICT_HELD : VERDICT_AGAIN;
}

enum verdict verdict_on_release(int status) {
    if (status == 204 || status == 200) return VERDICT_HELD;
    if (status == 410) return VERDICT_LOST;
    return status == 0 || status == 429 || status >= 500 ? VERDICT_AGAIN : VERDICT_REFUSED;
}

int64_t put_timeout_ms(int64_t wait_ms) { return least(wait_ms, PUT_SLICE_MS) + PUT_EXTRA_MS; }

int64_t renewal_timeout_ms(const struct lease_terms *terms) {
    return within(terms->ttl_ms / RENEWAL_DIVISOR, RENEWAL_TIMEOUT_MS_MIN, RENEWAL_TIMEOUT_MS_MAX);
}

int64_t pause_ms(unsigned failures, int64_t hint_ms, const struct lease_terms *terms) {
    unsigned doublings = failures == 0 ? 0 : failures - 1;
    int64_t most_ms = within(terms->ttl_ms / PAUSE_DIVISOR, PAUSE_MS_MIN, PAUSE_MS_MAX);
    int64_t own_ms = least((int64_t)PAUSE_MS_MIN << least(doublings, PAUSE_DOUBLINGS_MAX), most_ms);
    return hint_ms > own_ms ? least(hint_ms, PAUSE_MS_MAX) : own_ms;
}

int exit_status_of(int wait_status) {
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
