#include "domain/reservation.h"

#include "base/text.h"
#include "domain/stock.h"

#include <assert.h>
#include <string.h>

static_assert(ORDER_REF_SIZE > CREDENTIAL_NAME_MAX + USER_ID_MAX + 5, "a reference is never cut");

static const char *const NAMES[RESERVATION_STATUS_COUNT] = {
    [RESERVATION_RESERVED] = "RESERVED",
    [RESERVATION_CONFIRMED] = "CONFIRMED",
    [RESERVATION_RELEASED] = "RELEASED",
    [RESERVATION_FAILED] = "FAILED",
    [RESERVATION_CANCEL_REQUESTED] = "CANCEL_REQUESTED",
};

const char *reservation_status_name(enum reservation_status status) { return NAMES[status]; }

bool reservation_status_parse(const char *name, enum reservation_status *ret) {
    for (int i = 0; i < RESERVATION_STATUS_COUNT; i++) {
        if (strcmp(name, NAMES[i]) != 0) continue;
        *ret = (enum reservation_status)i;
        return true;
    }
    return false;
}

bool reservation_holds_stock(enum reservation_status status) {
    return status == RESERVATION_RESERVED || status == RESERVATION_CONFIRMED;
}

int reservation_compare(const struct reservation_ref *a, const struct reservation_ref *b) {
    int order = strcmp(a->credential, b->credential);
    return order != 0 ? order : strcmp(a->order_id, b->order_id);
}

bool reservation_has_items(const struct reservation *reservation, const struct line *lines, size_t count) {
    if (reservation->item_count != count) return false;
    for (size_t i = 0; i < count; i++)
        if (reservation->items[i].product_id != lines[i].product_id ||
            reservation->items[i].quantity != lines[i].quantity)
            return false;
    return true;
}

bool reservation_is_overdue(const struct reservation *reservation, int64_t overdue_ms, int64_t now_ms) {
    return reservation->status == RESERVATION_RESERVED && now_ms - reservation->expires_at_ms > overdue_ms;
}

static uint64_t mix(uint64_t hash, const char *text) { /* FNV-1a, the NUL included */
    for (;; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
        if (*text == '\0') return hash;
    }
}

int64_t reservation_key(const struct reservation_ref *ref) {
    uint64_t hash = mix(mix(UINT64_C(0xcbf29ce484222325), ref->credential), ref->order_id);
    return INT64_MIN + (int64_t)(hash >> 2); /* below -2^62: order ids end at 2^53 */
}

void reservation_stock_ref(const struct reservation_ref *ref, char *out) {
    if (strchr(ref->credential, ':') == NULL)
        (void)text_format(out, ORDER_REF_SIZE, "r:%s:%s", ref->credential, ref->order_id);
    else
        (void)text_format(out, ORDER_REF_SIZE, "r%zu:%s:%s", strlen(ref->credential), ref->credential, ref->order_id);
}
