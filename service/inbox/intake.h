/* A batch of messages on its way from a source to its effects. Belongs to one thread. */
#pragma once

#include "codec/bodies_event.h"
#include "events/source.h"
#include "facade/inbound.h"
#include "store/db.h"

#define INTAKE_RETRIES 3 /* after 1, 5 and 30 s; then it is a dead letter */

enum intake_state {
    INTAKE_WAITING, /* for its (next) attempt */
    INTAKE_DEAD,    /* given up; its dead letter is still to be written */
    INTAKE_DONE,    /* durable, or needs nothing */
};

struct intake_item {
    struct source_message message;
    struct event_body event;
    enum intake_state state;
    int attempts;   /* that counted */
    int busy;       /* in a row, that did not count */
    int64_t due_ms; /* monotonic */
    char error[DEAD_LETTER_ERROR_MAX + 1];
};

struct intake {
    struct intake_item items[SOURCE_BATCH];
    size_t count;
};

/* Reads what the messages say. What is no event of ours to handle is DEAD at once, our own are DONE. */
void intake_open(struct intake *intake);
/* Frees the messages. */
void intake_close(struct intake *intake);
/* Items that may be tried now, in their order: due, and none before them in the batch waits with the same order. picked
 * has room for SOURCE_BATCH. */
size_t intake_pick(const struct intake *intake, int64_t now_ms, size_t *picked);
/* What came of an attempt. code: the problem's, for the ledger. */
void intake_settle(struct intake_item *item, enum event_fate fate, const char *code, int64_t now_ms);
bool intake_is_done(const struct intake *intake);
/* Milliseconds until something is due; 0 = now. */
int64_t intake_wait_ms(const struct intake *intake, int64_t now_ms);
