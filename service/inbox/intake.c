#include "inbox/intake.h"

#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

static const int64_t retry_after_ms[INTAKE_RETRIES] = {1000, 5000, 30000};
#define BUSY_FIRST_MS 100
#define BUSY_DOUBLINGS_MAX 5 /* 3.2 s */
#define BURY_AGAIN_MS 1000   /* while the database does not take the letter */

/* Labels of lockstock_inbox_dead_letters_total. */
enum reason { REASON_UNREADABLE, REASON_RETRIES };

static void open_item(struct intake_item *item) {
    struct field_errors errors = {0};
    item->state = INTAKE_WAITING;
    if (failed(body_event(item->message.body, item->message.body_len, &errors, &item->event))) {
        const struct field_error *first = &errors.list[0];
        (void)text_format(item->error, sizeof item->error, "%s%s%s", first->pointer, first->pointer[0] ? " " : "",
                          first->detail);
        item->state = INTAKE_DEAD;
        metric_add(METRIC_INBOX_DEAD, REASON_UNREADABLE, 1);
    } else if (item->event.effect == INBOX_NOTHING) {
        item->state = INTAKE_DONE;
        metric_add(METRIC_INBOX_OWN, 0, 1);
    }
}

void intake_open(struct intake *intake) {
    for (size_t i = 0; i < intake->count; i++) {
        struct source_message message = intake->items[i].message;
        intake->items[i] = (struct intake_item){.message = message};
        open_item(&intake->items[i]);
    }
}

void intake_close(struct intake *intake) {
    for (size_t i = 0; i < intake->count; i++) free(intake->items[i].message.body);
    intake->count = 0;
}

static bool same_order(const struct event_body *a, const struct event_body *b) {
    return a->order_number == b->order_number && strcmp(a->order_id, b->order_id) == 0;
}

static bool is_held_back(const struct intake *intake, size_t at) {
    for (size_t i = 0; i < at; i++)
        if (intake->items[i].state == INTAKE_WAITING && same_order(&intake->items[i].event, &intake->items[at].event))
            return true;
    return false;
}

size_t intake_pick(const struct intake *intake, int64_t now_ms, size_t *picked) {
    size_t count = 0;
    for (size_t i = 0; i < intake->count; i++) {
        const struct intake_item *item = &intake->items[i];
        if (item->state == INTAKE_WAITING && item->due_ms <= now_ms && !is_held_back(intake, i)) picked[count++] = i;
    }
    return count;
}

static void count_attempt(struct intake_item *item, const char *code, int64_t now_ms) {
    item->busy = 0;
    (void)text_copy(item->error, sizeof item->error, code);
    if (item->attempts < INTAKE_RETRIES) {
        item->due_ms = now_ms + retry_after_ms[item->attempts++];
        return;
    }
    item->state = INTAKE_DEAD;
    metric_add(METRIC_INBOX_DEAD, REASON_RETRIES, 1);
}

void intake_settle(struct intake_item *item, enum event_fate fate, const char *code, int64_t now_ms) {
    metric_add(METRIC_INBOX_EVENTS, (unsigned)fate, 1);
    switch (fate) {
    case EVENT_FATE_APPLIED:
    case EVENT_FATE_DUPLICATE:
    case EVENT_FATE_REFUSED:
        item->state = INTAKE_DONE;
        return;
    case EVENT_FATE_BUSY:
        item->due_ms = now_ms + ((int64_t)BUSY_FIRST_MS << item->busy);
        if (item->busy < BUSY_DOUBLINGS_MAX) item->busy++;
        return;
    case EVENT_FATE_NOT_NOW:
        count_attempt(item, code, now_ms);
        return;
    }
}

bool intake_is_done(const struct intake *intake) {
    for (size_t i = 0; i < intake->count; i++)
        if (intake->items[i].state != INTAKE_DONE) return false;
    return true;
}

int64_t intake_wait_ms(const struct intake *intake, int64_t now_ms) {
    int64_t wait_ms = BURY_AGAIN_MS;
    for (size_t i = 0; i < intake->count; i++) {
        const struct intake_item *item = &intake->items[i];
        if (item->state != INTAKE_WAITING || is_held_back(intake, i)) continue;
        int64_t left_ms = item->due_ms - now_ms;
        if (left_ms < wait_ms) wait_ms = left_ms > 0 ? left_ms : 0;
    }
    return wait_ms;
}
