/* Deliveries on their way: written, claimed, settled. */
#include "base/fault.h"
#include "base/memory.h"
#include "store/deliveries_internal.h"
#include "store/many.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NOW "UTC_TIMESTAMP(6)"
#define DEADLOCK_TRIES_MAX 3 /* of a fan-out against the settles of other threads */

/* -- fan-out */

#define INSERT                                                                                                         \
    "INSERT INTO webhook_deliveries (webhook_id, event_id, event_type, aggregate_id, open_key, body, traceparent, "    \
    "status, due_at, created_at) VALUES "
/* The first of an aggregate that is not done. */
#define FIRST                                                                                                          \
    "SELECT id FROM webhook_deliveries FORCE INDEX (idx_webhook_deliveries_open) "                                     \
    "WHERE webhook_id = ? AND open_key = ? ORDER BY id LIMIT 1"
#define LET_GO "UPDATE webhook_deliveries SET status = 'PENDING', due_at = " NOW " WHERE id = ? AND status = 'HELD'"

struct wanted {
    const char *webhook_id;
    const struct delivery_event *const *events;
};

static void set_row(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    const struct wanted *wanted = arg;
    const struct delivery_event *event = wanted->events[row];
    db_set_str(stmt, first, wanted->webhook_id);
    db_set_str(stmt, first + 1, event->event_id);
    db_set_str(stmt, first + 2, event->event_type);
    db_set_str(stmt, first + 3, event->aggregate_id);
    db_set_str(stmt, first + 4, event->aggregate_id);
    db_set_text(stmt, first + 5, event->body, event->body_len);
    db_set_str_or_null(stmt, first + 6, event->traceparent);
}

static RESULT insert_held(struct db *db, struct wanted *wanted, size_t count) {
    static const char *const groups[] = {"(?,?,?,?,?,?,?,'HELD',NULL," NOW ")",
                                         "(?,?,?,?,?,?,?,'PENDING'," NOW "," NOW ")"};
    struct many many = {.head = INSERT,
                        .group = groups[fault_on(FAULT_NO_DELIVERY_ORDER)],
                        .tail = " ON DUPLICATE KEY UPDATE event_id = VALUES(event_id)",
                        .columns = 7,
                        .set = set_row,
                        .arg = wanted};
    return many_write(db, &many, count, NULL);
}

/* HELD becomes PENDING when nothing of its webhook and aggregate stands before it. */
static RESULT let_first_go(struct db *db, const char *webhook_id, const char *aggregate_id, bool with_lock) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, with_lock ? FIRST " FOR UPDATE" : FIRST, &stmt));
    db_set_str(stmt, 0, webhook_id);
    db_set_str(stmt, 1, aggregate_id);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) return OK;
    int64_t id = db_i64(stmt, 0);
    db_finish(stmt);
    TRY(db_statement(db, LET_GO, &stmt));
    db_set_i64(stmt, 0, id);
    return db_execute(stmt, NULL);
}

static RESULT let_all_go(struct db *db, const struct wanted *wanted, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *key = wanted->events[i]->aggregate_id;
        if (i > 0 && strcmp(key, wanted->events[i - 1]->aggregate_id) == 0) continue;
        TRY(let_first_go(db, wanted->webhook_id, key, true));
    }
    return OK;
}

/* The webhooks of a fan-out, and what each wants. */
struct fan_out {
    struct {
        char id[WEBHOOK_ID_SIZE];
        event_type_set types;
    } webhooks[WEBHOOKS_READ_MAX];
    size_t webhook_count;
    const struct delivery_event *events;
    size_t count;
    const struct delivery_event **wanted; /* room for count */
};

static void take_webhook(void *arg, const struct webhook *row) {
    struct fan_out *fan_out = arg;
    assert(fan_out->webhook_count < WEBHOOKS_READ_MAX);
    size_t i = fan_out->webhook_count++;
    memcpy(fan_out->webhooks[i].id, row->id, sizeof row->id);
    fan_out->webhooks[i].types = row->event_types;
}

static RESULT write_for(struct db *db, struct fan_out *fan_out, size_t webhook, size_t *ret_rows) {
    struct wanted wanted = {fan_out->webhooks[webhook].id, fan_out->wanted};
    size_t count = 0;
    for (size_t i = 0; i < fan_out->count; i++)
        if (event_types_have(fan_out->webhooks[webhook].types, fan_out->events[i].event_type))
            fan_out->wanted[count++] = &fan_out->events[i];
    *ret_rows += count;
    if (count == 0) return OK;
    TRY(insert_held(db, &wanted, count));
    return let_all_go(db, &wanted, count);
}

static RESULT write_all(struct db *db, struct fan_out *fan_out, size_t *ret_rows) {
    *ret_rows = 0;
    TRY(db_begin(db));
    for (size_t i = 0; i < fan_out->webhook_count; i++) {
        struct result result = write_for(db, fan_out, i, ret_rows);
        if (!failed(result)) continue;
        db_rollback(db);
        return result;
    }
    return db_commit(db);
}

RESULT deliveries_fan_out(struct db *db, const struct delivery_event *events, size_t count, size_t *ret_rows) {
    AUTO_FREE struct fan_out *fan_out = mem_new(sizeof *fan_out);
    AUTO_FREE const struct delivery_event **wanted = mem_array(count + 1, sizeof wanted[0]);
    struct result result = OK;
    fan_out->events = events;
    fan_out->count = count;
    fan_out->wanted = wanted;
    *ret_rows = 0;
    TRY(webhooks_active(db, false, take_webhook, fan_out));
    if (fan_out->webhook_count == 0) return OK;
    for (int i = 0; i < DEADLOCK_TRIES_MAX; i++) {
        result = write_all(db, fan_out, ret_rows);
        if (result.code != ERROR_DEADLOCK) break;
    }
    return result;
}

/* -- claims */

const struct claim_table deliveries_table = {.of = CLAIM_OF_DELIVERIES,
                                             .name = "webhook_deliveries",
                                             .index = "idx_webhook_deliveries_due",
                                             .scope = "webhook_id",
                                             .key = "id",
                                             .columns = "body, COALESCE(traceparent, ''), " DELIVERY_COLUMNS};
enum { CLAIM_BODY, CLAIM_TRACEPARENT, CLAIM_DELIVERY };

static void take_claimed(void *arg, size_t index, struct db_stmt *row, unsigned first) {
    struct delivery_claim *ret = arg;
    const char *body = db_text(row, first + CLAIM_BODY, &ret->body_len);
    free(ret->body); /* of a round that was rolled back */
    ret->body = mem_copy(body, ret->body_len);
    db_copy_text(row, first + CLAIM_TRACEPARENT, ret->traceparent, sizeof ret->traceparent);
    delivery_take_row(row, first + CLAIM_DELIVERY, &ret->delivery);
}

RESULT deliveries_claim(struct db *db, const char *webhook_id, const char *owner, int64_t lease_ms,
                        struct delivery_claim *ret, bool *ret_found) {
    size_t count = 0;
    *ret = (struct delivery_claim){0};
    (void)text_copy(ret->webhook_id, sizeof ret->webhook_id, webhook_id);
    const struct claim_ask ask = {
        .scope = ret->webhook_id, .owner = owner, .lease_ms = lease_ms, .limit = 1, .row = take_claimed, .arg = ret};
    struct result result = claims_take(db, &deliveries_table, &ask, &ret->claim, &count);
    *ret_found = !failed(result) && count == 1;
    if (!*ret_found) free(TAKE(ret->body));
    return result;
}

/* -- settling */

#define TRIED "attempts = attempts + 1, attempted_at = " NOW ", last_status = ?, last_error = ?, "
#define OVER "open_key = NULL, done_at = " NOW ", due_at = NULL"

static void bind_end(struct db_stmt *stmt, void *arg) {
    const struct delivery_end *end = arg;
    if (end->status > 0)
        db_set_i64(stmt, 0, end->status);
    else
        db_set_null(stmt, 0);
    db_set_str_or_null(stmt, 1, end->error);
    if (end->fate == DELIVERY_AGAIN) db_set_i64(stmt, 2, end->retry_in_ms);
}

static struct claim_end claim_end_of(const struct delivery_end *end) {
    static const struct claim_end ends[] = {
        [DELIVERY_DONE] = {TRIED "status = 'DELIVERED', " OVER, 2, bind_end, NULL},
        [DELIVERY_AGAIN] = {TRIED "due_at = " NOW " + INTERVAL ? * 1000 MICROSECOND", 3, bind_end, NULL},
        [DELIVERY_FAILED] = {TRIED "status = 'FAILED', " OVER, 2, bind_end, NULL},
        [DELIVERY_BACK] = {"due_at = " NOW, 0, NULL, NULL},
    };
    struct claim_end ret = ends[end->fate];
    ret.arg = (void *)end;
    return ret;
}

static RESULT settle(struct db *db, const struct delivery_claim *claim, const struct delivery_end *end,
                     bool *ret_ours) {
    struct claim_end of_claim = claim_end_of(end);
    TRY(claims_settle(db, &deliveries_table, &claim->claim, &of_claim, ret_ours));
    bool over = end->fate == DELIVERY_DONE || end->fate == DELIVERY_FAILED;
    if (!*ret_ours || !over) return OK;
    return let_first_go(db, claim->delivery.webhook_id, claim->delivery.aggregate_id, false);
}

static RESULT settle_once(struct db *db, const struct delivery_claim *claim, const struct delivery_end *end,
                          bool *ret_ours) {
    TRY(db_begin(db));
    struct result result = settle(db, claim, end, ret_ours);
    if (!failed(result)) return db_commit(db);
    db_rollback(db);
    return result;
}

RESULT deliveries_settle(struct db *db, const struct delivery_claim *claim, const struct delivery_end *end,
                         bool *ret_ours) {
    struct result result = OK;
    *ret_ours = false;
    for (int i = 0; i < DEADLOCK_TRIES_MAX; i++) {
        result = settle_once(db, claim, end, ret_ours);
        if (result.code != ERROR_DEADLOCK) break;
    }
    return result;
}
