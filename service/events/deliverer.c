/* Threads of the deliverer: what each does in its turns. The first also looks after old rows and the gauges. */
#include "events/deliverer.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "events/deliverer_internal.h"
#include "events/receivers.h"
#include "metrics/metrics.h"
#include "store/reads.h"
#include "store/webhooks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define IDLE_MS 500           /* nothing is due: how late a new event may be noticed */
#define RETRY_MS 1000         /* while the database is away */
#define ROUND_MAX 16          /* deliveries to one webhook before others have their turn */
#define LEASE_MARGIN_MS 15000 /* around the request: statements of a slow database */
#define CARE_MS 30000
#define KEEP_S (7 * 24 * 3600) /* what is done stays visible so long */
#define PURGE_ROWS 1000
#define PURGE_ROUNDS_MAX 20 /* of one care */

struct deliverer {
    const struct config *config;
    struct db_options db;
    struct receivers *receivers;
    int stop_fd;
    size_t count;
    struct sender *senders;
};

struct sender {
    struct deliverer *deliverer;
    struct thread *thread, *self;
    size_t index, turn;
    struct db *db;
    struct client *client;
    bool schema_fits, is_told;
    int64_t care_at_ms;
    size_t due_count;
    char due[WEBHOOKS_READ_MAX][WEBHOOK_ID_SIZE];
};

enum reach deliverer_reach(const struct config *config) {
    if (fault_on(FAULT_NO_ADDRESS_GUARD)) return REACH_ANY;
    return config->webhook_allow_private ? REACH_PRIVATE : REACH_PUBLIC;
}

/* -- one delivery */

/* The webhook as it is now; *ret_open false: it wants nothing any more. */
static RESULT look_at(struct sender *sender, const char *webhook_id, struct webhook *ret, bool *ret_open) {
    struct result result = webhooks_read(sender->db, webhook_id, ret);
    *ret_open = !failed(result) && strcmp(ret->status, "ACTIVE") == 0;
    return result.code == ERROR_NOT_FOUND ? OK : result;
}

static RESULT send_claimed(struct sender *sender, const struct delivery_claim *claim, struct attempt_report *ret) {
    struct deliverer *deliverer = sender->deliverer;
    struct webhook webhook;
    bool open;
    TRY(look_at(sender, claim->webhook_id, &webhook, &open));
    *ret = (struct attempt_report){.end.fate = DELIVERY_BACK};
    if (open) {
        const struct attempt_terms terms = {&webhook, claim, deliverer->config->webhook_timeout_ms, deliverer->stop_fd};
        attempt_make(sender->client, &terms, ret);
    }
    bool ours;
    TRY(deliveries_settle(sender->db, claim, &ret->end, &ours));
    if (ret->is_gone) TRY(webhooks_disable(sender->db, webhook.id, "the receiver answered 410"));
    if (!ours) LOG(LOG_WARN, "webhook.claim_lost", LOGS("webhook", webhook.id), LOGI("delivery", claim->claim.key));
    return OK;
}

/* *ret_go_on: there may be more for this webhook now. */
static RESULT deliver_one(struct sender *sender, const char *webhook_id, struct attempt_report *report,
                          bool *ret_go_on) {
    const struct config *config = sender->deliverer->config;
    struct delivery_claim claim;
    bool found;
    int64_t lease_ms = config->webhook_timeout_ms + LEASE_MARGIN_MS;
    *ret_go_on = false;
    TRY(deliveries_claim(sender->db, webhook_id, config->instance_id, lease_ms, &claim, &found));
    if (!found) return OK;
    struct result result = send_claimed(sender, &claim, report);
    free(claim.body);
    *ret_go_on = report->known && report->well;
    return result;
}

/* -- one webhook */

static RESULT serve_webhook(struct sender *sender, const char *webhook_id, bool *ret_worked) {
    struct receivers *receivers = sender->deliverer->receivers;
    struct attempt_report report = {0};
    struct result result = OK;
    bool go_on = true;
    if (!receivers_enter(receivers, webhook_id, clock_mono_ms())) return OK;
    for (int i = 0; i < ROUND_MAX && go_on && !failed(result) && !thread_is_stopping(sender->self); i++)
        result = deliver_one(sender, webhook_id, &report, &go_on);
    *ret_worked = *ret_worked || report.known;
    receivers_leave(receivers, webhook_id, report.known, report.well, clock_mono_ms());
    return result;
}

static void note_due(void *arg, const struct webhook *row) {
    struct sender *sender = arg;
    if (sender->due_count < WEBHOOKS_READ_MAX) memcpy(sender->due[sender->due_count++], row->id, sizeof row->id);
}

/* Each thread begins at another webhook, and at the next one in its next turn. */
static RESULT serve_due(struct sender *sender, bool *ret_worked) {
    size_t start = sender->index + sender->turn++;
    sender->due_count = 0;
    TRY(webhooks_active(sender->db, true, note_due, sender));
    for (size_t i = 0; i < sender->due_count && !thread_is_stopping(sender->self); i++)
        TRY(serve_webhook(sender, sender->due[(start + i) % sender->due_count], ret_worked));
    return OK;
}

/* -- old rows and gauges */

static RESULT take_care(struct sender *sender) {
    struct delivery_counts counts;
    int64_t removed = 1;
    if (sender->index > 0 || clock_mono_ms() < sender->care_at_ms) return OK;
    sender->care_at_ms = clock_mono_ms() + CARE_MS;
    TRY(deliveries_count(sender->db, &counts));
    metric_set(METRIC_WEBHOOK_WAITING, 0, counts.waiting);
    metric_set(METRIC_WEBHOOK_FAILED, 0, counts.failed);
    metric_set(METRIC_WEBHOOK_DISABLED, 0, counts.disabled);
    for (int i = 0; i < PURGE_ROUNDS_MAX && removed > 0 && !thread_is_stopping(sender->self); i++)
        TRY(deliveries_purge(sender->db, KEEP_S, PURGE_ROWS, &removed));
    return OK;
}

/* -- the thread */

static RESULT prepare(struct sender *sender) {
    TRY(db_renew(&sender->deliverer->db, &sender->db));
    if (!sender->schema_fits) TRY(schema_fits(sender->db, &sender->schema_fits));
    if (!sender->schema_fits) FAIL(STORE_SCHEMA, 0);
    return OK;
}

static RESULT turn(struct sender *sender, bool *ret_worked) {
    *ret_worked = false;
    TRY(prepare(sender));
    TRY(take_care(sender));
    return serve_due(sender, ret_worked);
}

/* Once for as long as it goes on; that the database is away is told by the workers of the loops. */
static void tell(struct sender *sender, struct result result) {
    bool is_told =
        result.code == ERROR_STORE_DOWN || result.code == ERROR_STORE_LOST || result.code == ERROR_STORE_SCHEMA;
    if (!sender->is_told && !is_told) LOG(LOG_ERROR, "webhook.sender_failed", LOGR(result));
    sender->is_told = true;
}

static void serve(struct thread *self, void *arg) {
    struct sender *sender = arg;
    int64_t wait_ms = 0;
    sender->self = self;
    db_thread_start();
    while (thread_sleep(self, wait_ms)) {
        bool worked;
        struct result result = turn(sender, &worked);
        if (failed(result))
            tell(sender, result);
        else
            sender->is_told = false;
        wait_ms = failed(result) ? RETRY_MS : worked ? 0 : IDLE_MS;
    }
    sender->db = db_close(sender->db);
    db_thread_end();
}

struct deliverer *deliverer_new(const struct deliverer_options *options) {
    struct deliverer *deliverer = mem_new(sizeof *deliverer);
    const struct client_options client = {.reach = deliverer_reach(options->config), .agent = "lockstock-webhooks"};
    deliverer->config = options->config;
    deliverer->db = options->db;
    deliverer->count = (size_t)options->config->webhook_threads;
    deliverer->receivers = receivers_new((int)deliverer->count / 2);
    deliverer->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    deliverer->senders = mem_array(deliverer->count, sizeof deliverer->senders[0]);
    for (size_t i = 0; i < deliverer->count; i++) {
        struct sender *sender = &deliverer->senders[i];
        sender->deliverer = deliverer;
        sender->index = i;
        if (deliverer->stop_fd < 0 || failed(client_new(&client, &sender->client)))
            abort(); /* at the start: see thread.h */
        const struct thread_options thread = {.name = "webhooks", .run = serve, .arg = sender};
        sender->thread = thread_new(&thread);
    }
    return deliverer;
}

void deliverer_stop(struct deliverer *deliverer) {
    if (deliverer == NULL) return;
    (void)!write(deliverer->stop_fd, &(uint64_t){1}, sizeof(uint64_t));
    for (size_t i = 0; i < deliverer->count; i++) thread_stop(deliverer->senders[i].thread);
}

bool deliverer_is_over(const struct deliverer *deliverer) {
    for (size_t i = 0; deliverer != NULL && i < deliverer->count; i++)
        if (!thread_is_over(deliverer->senders[i].thread)) return false;
    return true;
}

struct deliverer *deliverer_free(struct deliverer *deliverer) {
    if (deliverer == NULL) return NULL;
    deliverer_stop(deliverer);
    for (size_t i = 0; i < deliverer->count; i++) {
        deliverer->senders[i].thread = thread_free(deliverer->senders[i].thread);
        client_free(deliverer->senders[i].client);
    }
    deliverer->receivers = receivers_free(deliverer->receivers);
    (void)close(deliverer->stop_fd);
    free(deliverer->senders);
    free(deliverer);
    return NULL;
}
