#include "domain/lock.h"

#include "base/text.h"

#include <string.h>

#define OWN_PREFIX "lockstock:"
#define STOCK_PREFIX "inventory-lock:"
/* The margin of a lease: two clocks may run apart by one in a hundred, and a timer may be late by a few ms. */
#define MARGIN_MS 5
#define MARGIN_DIVISOR 100

const char *lock_kind_name(enum lock_kind kind) {
    static const char *const names[LOCK_KIND_ALL] = {[LOCK_KIND_LOCK] = "lock",
                                                     [LOCK_KIND_FAIR] = "fair",
                                                     [LOCK_KIND_RW] = "rw",
                                                     [LOCK_KIND_SEMAPHORE] = "semaphore",
                                                     [LOCK_KIND_DATABASE] = "database"};
    return names[kind];
}

const char *lock_mode_name(enum lock_mode mode) {
    static const char *const names[LOCK_MODE_COUNT] = {"exclusive", "shared"};
    return names[mode];
}

const char *lock_safety_name(enum lock_safety safety) {
    static const char *const names[] = {"redis", "database", "none"};
    return names[safety];
}

static bool begins_with(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

const char *lock_name_fault(const char *name) {
    size_t len = strlen(name);
    if (len == 0 || len > LOCK_NAME_MAX) return "a lock name has 1 to 200 bytes";
    if (!text_is_printable_utf8(name, len)) return "a lock name is printable UTF-8";
    if (strpbrk(name, "{}") != NULL) return "a lock name has no braces";
    if (name[0] == ' ' || name[len - 1] == ' ') return "a lock name has no space at its ends";
    return begins_with(name, OWN_PREFIX) ? "names that begin with lockstock: are the service's own" : NULL;
}

bool lock_name_is_stock(const char *name) { return begins_with(name, STOCK_PREFIX); }

bool lock_token_is_good(const char *token) {
    size_t len = strlen(token);
    return len >= LOCK_TOKEN_MIN && len <= LOCK_TOKEN_MAX &&
           strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

int64_t lock_fence(int64_t epoch, int64_t n) { return epoch * LOCK_FENCE_SPAN + n; }

bool lock_marker_parse(const char *marker, int64_t *ret_epoch, const char **ret_run_id) {
    const char *colon = strchr(marker, ':');
    int64_t epoch = 0;
    if (colon == NULL || colon[1] == '\0') return false;
    if (!text_parse_i64(marker, (size_t)(colon - marker), &epoch) || epoch < 1 || epoch > LOCK_EPOCH_MAX) return false;
    *ret_epoch = epoch;
    *ret_run_id = colon + 1;
    return true;
}

int64_t lock_safe_for_ms(int64_t left_ms, int64_t elapsed_ms) {
    int64_t safe_ms = left_ms - elapsed_ms - left_ms / MARGIN_DIVISOR - MARGIN_MS;
    return safe_ms > 0 ? safe_ms : 0;
}
