/* Failures: the first of each aggregate is tried again when it is due; when it is through, the next one is. */
#include "base/log.h"
#include "base/memory.h"
#include "events/relay_internal.h"
#include "metrics/metrics.h"

#include <stdlib.h>

#define DUE_MAX 100 /* failures of one round */

static int64_t delay_of(unsigned attempts) { return (int64_t)RELAY_RETRY_MS << (attempts - 1); }

/* Who is only held is due at once: the one before it decides. */
struct outbox_failure relay_failure_of(const struct item *item) {
    struct outbox_failure failure = {.id = item->event.id,
                                     .part = item->part,
                                     .aggregate_id = item->aggregate_id,
                                     .attempts = item->attempts,
                                     .error = ""};
    if (item->state != ITEM_REFUSED) return failure;
    failure.attempts++;
    failure.failed = failure.attempts >= RELAY_ATTEMPTS_MAX;
    failure.delay_ms = delay_of(failure.attempts);
    failure.error = item->event.reason;
    return failure;
}

static void tell(const struct relay *relay, const struct item *item, const struct outbox_failure *failure) {
    if (!failure->failed) return;
    LOG(LOG_ERROR, "relay.event_failed", LOGS("sink", relay->sink.name), LOGS("eventId", item->event_id),
        LOGS("eventType", item->type), LOGI("attempts", failure->attempts), LOGS("detail", failure->error));
}

static RESULT settle_item(struct relay *relay, const struct item *item) {
    if (item->state == ITEM_SENT) return outbox_failures_remove(relay->db, relay->sink.name, item->event.id);
    if (item->state != ITEM_REFUSED) return OK;
    struct outbox_failure failure = relay_failure_of(item);
    tell(relay, item, &failure);
    return outbox_failures_put(relay->db, relay->sink.name, &failure, 1);
}

static RESULT settle_items(struct relay *relay) {
    for (size_t i = 0; i < relay->batch.count; i++) TRY(settle_item(relay, &relay->batch.items[i]));
    return relay_renew(relay); /* still the owner: nobody else has settled them */
}

static RESULT settle(struct relay *relay) {
    TRY(db_begin(relay->db));
    struct result result = settle_items(relay);
    if (failed(result)) {
        db_rollback(relay->db);
        return result;
    }
    return db_commit(relay->db);
}

static void on_key(void *arg, const char *aggregate_id) { (void)keys_add(arg, aggregate_id); }

RESULT relay_read_parked(struct relay *relay) {
    int64_t failures = 0;
    keys_clear(&relay->parked);
    TRY(outbox_failures_keys(relay->db, relay->sink.name, relay_owned(relay), RELAY_PARKED_MAX, on_key,
                             &relay->parked));
    TRY(outbox_failures_count(relay->db, relay->sink.name, &failures));
    metric_set(METRIC_RELAY_FAILED, relay->sink.label, failures);
    return OK;
}

RESULT relay_retry(struct relay *relay, bool *ret_more) {
    static const struct keys nobody;
    batch_begin(&relay->batch, relay_owned(relay));
    TRY(outbox_due(relay->db, relay->sink.name, relay_owned(relay), DUE_MAX, batch_add, &relay->batch));
    if (relay->batch.count == 0) return OK;
    batch_plan(&relay->batch, &nobody, false);
    *ret_more = relay_send(relay) == INT64_MAX;
    TRY(settle(relay));
    return relay_read_parked(relay);
}
