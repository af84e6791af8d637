#include "domain/webhook.h"

#include "base/text.h"

#include <string.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

static const int64_t waits_ms[WEBHOOK_ATTEMPTS_MAX - 1] = {
    5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR,
};
#define RETRY_AFTER_MAX (24 * HOUR)
#define PAUSE_FIRST_MS 500
#define PAUSE_DOUBLINGS_MAX 6 /* 32 s: a receiver that is back is not kept waiting for long */

static const char *const event_types[] = {
    "order.created",           "order.cancelled",   "order.payment_requested",
    "order.status_changed",    "payment.completed", "payment.failed",
    "payment.refund_required", "stock.changed",     "stock.reservation.result",
};

enum webhook_verdict webhook_judge(int status) {
    if (status >= 200 && status < 300) return WEBHOOK_TAKEN;
    if (status == 410) return WEBHOOK_GONE;
    return status == 0 || status == 429 || status >= 500 ? WEBHOOK_NOT_NOW : WEBHOOK_NOT_THIS;
}

int64_t webhook_retry_in_ms(int attempt, int64_t retry_after_ms, uint32_t dice) {
    if (attempt < 1 || attempt >= WEBHOOK_ATTEMPTS_MAX) return -1;
    int64_t wait_ms = waits_ms[attempt - 1];
    wait_ms += (int64_t)(dice % 1000) * wait_ms / 10000;
    if (retry_after_ms > RETRY_AFTER_MAX) retry_after_ms = RETRY_AFTER_MAX;
    return wait_ms > retry_after_ms ? wait_ms : retry_after_ms;
}

int64_t webhook_pause_ms(int failures) {
    if (failures <= 0) return 0;
    int doublings = failures - 1 < PAUSE_DOUBLINGS_MAX ? failures - 1 : PAUSE_DOUBLINGS_MAX;
    return (int64_t)PAUSE_FIRST_MS << doublings;
}

size_t event_type_count(void) { return sizeof event_types / sizeof event_types[0]; }

const char *event_type_name(size_t index) { return event_types[index]; }

bool event_types_add(event_type_set *set, const char *name) {
    for (size_t i = 0; i < event_type_count(); i++) {
        if (strcmp(event_types[i], name) != 0) continue;
        *set |= (event_type_set)1 << i;
        return true;
    }
    return false;
}

bool event_types_have(event_type_set set, const char *name) {
    event_type_set one = 0;
    return set == 0 || (event_types_add(&one, name) && (set & one) != 0);
}

void event_types_write(event_type_set set, char out[EVENT_TYPES_SIZE]) {
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < event_type_count(); i++) {
        if ((set & (event_type_set)1 << i) == 0) continue;
        (void)text_format(out + len, EVENT_TYPES_SIZE - len, "%s%s", len > 0 ? "," : "", event_types[i]);
        len = strlen(out);
    }
}

event_type_set event_types_read(const char *text) {
    event_type_set set = 0;
    char name[EVENT_TYPES_SIZE];
    while (*text != '\0') {
        size_t len = strcspn(text, ",");
        (void)text_format(name, sizeof name, "%.*s", (int)len, text);
        (void)event_types_add(&set, name);
        text += len + (text[len] == ',');
    }
    return set;
}
