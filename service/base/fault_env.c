/* LOCKSTOCK_FAULTS=name[=value][,name[=value]]… for the test binary. A name or value that cannot be read ends the
   process: a removal test that removes nothing would prove nothing. Written once before the first thread, then only
   read. */
#include "base/fault.h"

#include "base/log.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[FAULT_COUNT] = {
    [FAULT_NO_REDIS_LOCK] = "no-redis-lock",
    [FAULT_NO_ROW_LOCK] = "no-row-lock",
    [FAULT_NO_VERSION_CHECK] = "no-version-check",
    [FAULT_NO_RENEWAL] = "no-renewal",
    [FAULT_UNLOCK_BEFORE_COMMIT] = "unlock-before-commit",
    [FAULT_HOLD_BEFORE_COMMIT] = "hold-before-commit",
    [FAULT_NO_YIELD] = "no-yield",
    [FAULT_NO_NOT_AFTER] = "no-not-after",
    [FAULT_NO_IDEMPOTENCY] = "no-idempotency",
    [FAULT_NO_PROCESSED_EVENTS] = "no-processed-events",
    [FAULT_STALE_TIMEOUT] = "stale-timeout",
    [FAULT_NO_TOMBSTONE] = "no-tombstone",
    [FAULT_NO_RUN_DEADLINE] = "no-run-deadline",
    [FAULT_NO_HANDOVER] = "no-handover",
    [FAULT_NO_CYCLE_SEARCH] = "no-cycle-search",
    [FAULT_NO_CYCLE_CONFIRM] = "no-cycle-confirm",
    [FAULT_NO_REPLICA_WAIT] = "no-replica-wait",
    [FAULT_NO_NEW_EPOCH] = "no-new-epoch",
    [FAULT_NO_GIVE_BACK] = "no-give-back",
    [FAULT_BLIND_GIVE_BACK] = "blind-give-back",
    [FAULT_NO_REPEAT] = "no-repeat",
    [FAULT_NO_HOLDER_CHECK] = "no-holder-check",
    [FAULT_NO_FENCE_CHECK] = "no-fence-check",
    [FAULT_NO_LEASE_CHECK] = "no-lease-check",
    [FAULT_NO_RUN_ID] = "no-run-id",
    [FAULT_NO_HANGUP_WATCH] = "no-hangup-watch",
    [FAULT_NO_CLAIM_UPDATE] = "no-claim-update",
    [FAULT_NO_CLAIM_TOKEN] = "no-claim-token",
    [FAULT_NO_CLAIM_FENCE] = "no-claim-fence",
    [FAULT_BLIND_PAYMENTS] = "blind-payments",
    [FAULT_NO_CLAIM_LEASE] = "no-claim-lease",
    [FAULT_NO_SCHEDULE_LOCK] = "no-schedule-lock",
    [FAULT_NO_ROUND_CHECK] = "no-round-check",
    [FAULT_WALL_CLOCK_ROUNDS] = "wall-clock-rounds",
    [FAULT_NO_MIN_HOLD] = "no-min-hold",
    [FAULT_NO_JOB_RENEWAL] = "no-job-renewal",
    [FAULT_NO_ZONE_CHECK] = "no-zone-check",
    [FAULT_NO_SCHEDULE_GUARD] = "no-schedule-guard",
    [FAULT_JOB_PHASE] = "job-phase",
    [FAULT_JOB_WORK] = "job-work",
    [FAULT_JOB_BATCH] = "job-batch",
    [FAULT_JOB_AT_MOST] = "job-at-most",
    [FAULT_JOB_AT_LEAST] = "job-at-least",
    [FAULT_NO_WATCH_POLL] = "no-watch-poll",
    [FAULT_NO_DELIVERY_ORDER] = "no-delivery-order",
    [FAULT_STALE_SIGNATURE] = "stale-signature",
    [FAULT_NO_ADDRESS_GUARD] = "no-address-guard",
    [FAULT_NO_HOLES] = "no-holes",
    [FAULT_NO_RELAY_MARK] = "no-relay-mark",
    [FAULT_NO_PART_CLAIM] = "no-part-claim",
    [FAULT_NO_PARKING] = "no-parking",
    [FAULT_NO_LOOK_AHEAD] = "no-look-ahead",
    [FAULT_ACK_FIRST] = "ack-first",
    [FAULT_NO_RECEIVER_LIMIT] = "no-receiver-limit",
};

static bool on[FAULT_COUNT];
static int64_t values[FAULT_COUNT];

static int fault_by_name(const char *name, size_t len) {
    for (int i = 0; i < FAULT_COUNT; i++)
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0) return i;
    return -1;
}

static bool switch_on(const char *item, size_t len) {
    const char *equals = memchr(item, '=', len);
    size_t name_len = equals ? (size_t)(equals - item) : len;
    int fault = fault_by_name(item, name_len);
    if (fault < 0) return false;
    if (equals && !text_parse_i64(equals + 1, len - name_len - 1, &values[fault])) return false;
    on[fault] = true;
    return true;
}

static void refuse(const char *list) {
    LOG(LOG_ERROR, "fault-unreadable", LOGS("faults", list));
    exit(2);
}

void fault_start(void) {
    memset(on, 0, sizeof on);
    memset(values, 0, sizeof values);
    const char *list = getenv("LOCKSTOCK_FAULTS");
    if (!list || !*list) return;
    for (const char *item = list;; item++) {
        size_t len = strcspn(item, ",");
        if (!switch_on(item, len)) refuse(list);
        item += len;
        if (!*item) return;
    }
}

bool fault_on(enum fault fault) { return on[fault]; }

int64_t fault_value(enum fault fault) { return values[fault]; }
