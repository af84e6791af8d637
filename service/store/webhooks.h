/* Webhooks and their deliveries. Webhooks: on a worker, each call in its own statement(s). Deliveries: on a background
   thread, each call a transaction of its own unless said otherwise.

   Invariants of webhook_deliveries
   1. Of one webhook and aggregate at most one row is PENDING by itself, the first that is not done; those behind it are
      HELD. A replay makes a row PENDING again whatever stands before it.
   2. open_key is the aggregate id exactly while the row is HELD or PENDING.
   3. due_at is NULL unless the row is PENDING. Who makes a row DELIVERED or FAILED makes the next one PENDING in the
   same transaction. New rows are HELD, and then the first of each aggregate is looked up with locks: it waits for a
      settle that is under way, which in turn reads what is committed after its own row lock was had. So none stays HELD
      without a row before it. */
#pragma once

#include "domain/webhook.h"
#include "store/claims.h"
#include "store/db.h"

/* -- webhooks.c */

/* *ret_full: there are WEBHOOKS_MAX already, nothing was written. created_at_ms is filled in. */
RESULT webhooks_insert(struct db *db, struct webhook *webhook, bool *ret_full);
/* NOT_FOUND, also of deleted ones. The secret comes along. */
RESULT webhooks_read(struct db *db, const char *id, struct webhook *ret);
/* In the order of their making, after `after_id` ("" = from the first). Without secrets. */
RESULT webhooks_list(struct db *db, const char *after_id, size_t limit,
                     void (*fn)(void *arg, const struct webhook *row), void *arg);
/* Nothing is sent to it any more from now on; its rows go by webhooks_purge. NOT_FOUND. */
RESULT webhooks_delete(struct db *db, const char *id);
/* ACTIVE → DISABLED. */
RESULT webhooks_disable(struct db *db, const char *id, const char *reason);
/* Active ones, with their secrets; of those with `due_only` what has a delivery that is due. At most WEBHOOKS_READ_MAX.
 */
RESULT webhooks_active(struct db *db, bool due_only, void (*fn)(void *arg, const struct webhook *row), void *arg);

/* -- deliveries.c */

/* What is to be sent of an event. */
struct delivery_event {
    const char *event_id, *event_type, *aggregate_id;
    const char *traceparent; /* "" = none */
    const char *body;
    size_t body_len;
};
/* One row for each event and active webhook that wants its type; what stands already is left alone, so a repeat does no
   harm. Events of one aggregate come in their order, by one caller at a time. *ret_rows counts what was asked for. */
RESULT deliveries_fan_out(struct db *db, const struct delivery_event *events, size_t count, size_t *ret_rows);

/* The longest due delivery of this webhook. *ret_found false: none. The caller frees claim->body. */
struct delivery_claim {
    struct claim claim; /* its scope points to webhook_id */
    char webhook_id[WEBHOOK_ID_SIZE];
    struct delivery delivery;
    char traceparent[65];
    char *body;
    size_t body_len;
};
RESULT deliveries_claim(struct db *db, const char *webhook_id, const char *owner, int64_t lease_ms,
                        struct delivery_claim *ret, bool *ret_found);

enum delivery_fate {
    DELIVERY_DONE,
    DELIVERY_AGAIN, /* in retry_in_ms; the attempt counts */
    DELIVERY_FAILED,
    DELIVERY_BACK, /* due at once, as if it had not been claimed */
};
struct delivery_end {
    enum delivery_fate fate;
    int status;        /* HTTP; 0 = none */
    const char *error; /* "" = none */
    int64_t retry_in_ms;
};
/* *ret_ours false: the claim is lost and nothing was changed. */
RESULT deliveries_settle(struct db *db, const struct delivery_claim *claim, const struct delivery_end *end,
                         bool *ret_ours);

/* Newest first: id < before_id. status "" = any. NOT_FOUND when there is no such webhook. */
struct deliveries_page {
    const char *webhook_id, *status;
    int64_t before_id;
    size_t limit;
};
RESULT deliveries_list(struct db *db, const struct deliveries_page *page,
                       void (*fn)(void *arg, const struct delivery *row), void *arg);
/* DELIVERED and FAILED become PENDING, with all attempts before them; PENDING ones are due now; HELD ones and those
   being sent stay as they are. NOT_FOUND. */
RESULT deliveries_replay(struct db *db, const char *webhook_id, int64_t id, struct delivery *ret);

/* Removes at most `limit` rows: deliveries of deleted webhooks (then the webhook), and what has been done for `keep_s`
   seconds. *ret_removed 0: nothing is left to remove. */
RESULT deliveries_purge(struct db *db, int64_t keep_s, int64_t limit, int64_t *ret_removed);

struct delivery_counts {
    int64_t waiting, failed, disabled; /* HELD or PENDING rows; FAILED rows; webhooks that are DISABLED */
};
RESULT deliveries_count(struct db *db, struct delivery_counts *ret);

extern const struct claim_table deliveries_table;
