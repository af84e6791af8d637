#include "facade/rider.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct rider *rider_new(enum command_kind kind, size_t lines) {
    struct rider *rider = mem_new(sizeof *rider);
    rider->command.kind = kind;
    if (lines > 0) rider->lines = mem_array(lines, sizeof rider->lines[0]);
    rider->command.lines = rider->lines;
    rider->command.line_count = lines;
    text_uuid(rider->command.event_id);
    list_init(&rider->node);
    list_init(&rider->followers);
    rider->arrived_us = clock_mono_us();
    return rider;
}

struct rider *rider_free(struct rider *rider) {
    if (rider == NULL) return NULL;
    text_done(&rider->answer.body);
    free(rider->event);
    free(rider->lines);
    free(rider->lanes);
    free(rider);
    return NULL;
}

struct rider *rider_for_timeout(int64_t order_id, enum order_status status, int64_t overdue_ms) {
    struct rider *rider = rider_new(COMMAND_ORDER_TIMEOUT, 0);
    rider->command.order_id = order_id;
    rider->command.timeout.status = status;
    rider->command.timeout.overdue_ms = overdue_ms;
    rider->command.timeout.blind = fault_on(FAULT_STALE_TIMEOUT);
    return rider;
}

struct rider *rider_for_reservation(enum command_kind kind, const char *credential, const char *order_id,
                                    size_t lines) {
    struct rider *rider = rider_new(kind, lines);
    struct reservation_ref *ref = &rider->command.reservation.ref;
    (void)text_copy(ref->credential, sizeof ref->credential, credential);
    (void)text_copy(ref->order_id, sizeof ref->order_id, order_id);
    return rider;
}

/* Only lines that the client gave: those looked up later are no part of what it asked for. */
static void write_own_lines(struct text *out, const struct command *command) {
    bool has_own = command->kind == COMMAND_ORDER_CREATE || command->kind == COMMAND_STOCK_ADJUST ||
                   command->kind == COMMAND_STOCK_SET || command->kind == COMMAND_RESERVE;
    for (size_t i = 0; has_own && i < command->line_count; i++)
        text_addf(out, "%lldx%lld|", (long long)command->lines[i].product_id, (long long)command->lines[i].quantity);
}

/* Canonical text of the command: parsed numbers, lines merged and sorted; every free text is length-framed by its
 * position as the last field. */
static void canonical(struct text *out, const struct command *command) {
    text_addf(out, "%d|%lld|", (int)command->kind, (long long)command->order_id);
    write_own_lines(out, command);
    switch (command->kind) {
    case COMMAND_ORDER_CREATE:
        text_add_str(out, command->create.user_id);
        return;
    case COMMAND_ORDER_CANCEL:
        text_add_str(out, command->cancel.reason);
        return;
    case COMMAND_PAYMENT:
        text_addf(out, "%d|%lld|%s", command->payment.completed, (long long)command->payment.amount,
                  command->payment.payment_key);
        return;
    case COMMAND_ORDER_STATUS:
        text_add_str(out, order_status_name(command->status.status));
        return;
    case COMMAND_STOCK_ADJUST:
        text_addf(out, "%lld|%s", (long long)command->adjust.delta, command->adjust.reason);
        return;
    case COMMAND_STOCK_SET:
        text_add_i64(out, command->set.stock);
        return;
    case COMMAND_RESERVE:
    case COMMAND_RESERVATION_CONFIRM:
    case COMMAND_RESERVATION_RELEASE:
        text_addf(out, "%lld|%s", (long long)command->reservation.ttl_ms, command->reservation.ref.order_id);
        return;
    case COMMAND_PAYMENT_REQUEST:
    case COMMAND_ORDER_TIMEOUT: /* of jobs: without a key */
    case COMMAND_RESERVATION_SWEEP:
        return;
    }
}

void rider_set_key(struct rider *rider, const char *credential, const char *route, const char *key) {
    rider->has_key = key != NULL;
    if (key == NULL) return;
    const struct digest_part scope[] = {{credential, strlen(credential)}, {route, strlen(route)}, {key, strlen(key)}};
    digest_parts(scope, sizeof scope / sizeof scope[0], rider->key_hash);
    AUTO_TEXT text = text_new(0);
    canonical(&text, &rider->command);
    digest_bytes(text_str(&text), text.len, rider->fingerprint);
}

static bool is_plain_word(const char *text, size_t max) {
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~') return false;
    return len >= 1 && len <= max;
}

bool rider_set_event(struct rider *rider, const char *event_id, const char *consumer_group) {
    if (!is_plain_word(event_id, EVENT_ID_MAX) || !is_plain_word(consumer_group, CONSUMER_GROUP_MAX)) return false;
    if (rider->event == NULL) rider->event = mem_new(sizeof *rider->event);
    (void)text_copy(rider->event->event_id, sizeof rider->event->event_id, event_id);
    (void)text_copy(rider->event->consumer_group, sizeof rider->event->consumer_group, consumer_group);
    return true;
}
