/* /v1/webhooks and their deliveries. A secret is shown in the answer that made it and never again. */
#include "store/webhooks.h"
#include "base/log.h"
#include "base/memory.h"
#include "client/client.h"
#include "codec/bodies.h"
#include "codec/bodies_webhook.h"
#include "codec/cursor.h"
#include "codec/signature.h"
#include "endpoints/common.h"
#include "endpoints/routes.h"
#include "events/deliverer.h"
#include "events/sinks.h"

#include <string.h>

#define CURSOR_WEBHOOKS 'w'
#define CURSOR_DELIVERIES 'd'
#define STATUS_CREATED 201
#define STATUS_NO_CONTENT 204

static bool read_webhook_id(struct request *request) {
    const char *id = request_param(request, 0);
    bool is_uuid = strlen(id) == WEBHOOK_ID_SIZE - 1 && strspn(id, "0123456789abcdef-") == WEBHOOK_ID_SIZE - 1;
    if (!is_uuid) reply_invalid_field(request, "/webhookId", "must be the id of a webhook: a UUID in lower case");
    return is_uuid;
}

static struct read *read_of_webhook(struct request *request, struct result (*work)(struct read *, struct db *)) {
    struct read *read = read_new(request, work);
    (void)text_copy(read->text, sizeof read->text, request_param(request, 0));
    return read;
}

/* -- POST */

static struct result create(struct read *read, struct db *db) {
    struct webhook *webhook = read->own;
    bool full;
    TRY(webhooks_insert(db, webhook, &full));
    if (full) {
        read->detail = "there are 100 webhooks already; delete one first";
        FAIL(RATE_LIMITED, 0);
    }
    read->http_status = STATUS_CREATED;
    (void)text_format(read->location, sizeof read->location, "/v1/webhooks/%s", webhook->id);
    document_webhook(&read->body, webhook, true);
    return OK;
}

static struct webhook *webhook_new(const struct webhook_body *body, const struct credential *credential) {
    struct webhook *webhook = mem_new(sizeof *webhook);
    text_uuid(webhook->id);
    memcpy(webhook->url, body->url, sizeof webhook->url);
    webhook->event_types = body->event_types;
    signature_new_secret(webhook->secret);
    (void)text_copy(webhook->credential, sizeof webhook->credential, credential->name);
    return webhook;
}

void webhooks_create(struct request *request) {
    struct field_errors errors = {0};
    struct webhook_body parsed;
    size_t len;
    const char *body = request_body(request, &len);
    if (failed(body_webhook(body, len, &errors, &parsed))) {
        reply_invalid(request, &errors);
        return;
    }
    const char *problem = client_url_problem(parsed.url, deliverer_reach(service_of(request)->config));
    if (problem != NULL) {
        reply_invalid_field(request, "/url", problem);
        return;
    }
    if (!sinks_have(service_of(request)->config, "webhook"))
        LOG(LOG_WARN, "webhook.no_sink", LOGS("requestId", request_id(request)));
    struct read *read = read_new(request, create);
    read->own = webhook_new(&parsed, request_credential(request));
    read_start(read);
}

/* -- GET, DELETE */

static struct result get(struct read *read, struct db *db) {
    struct webhook webhook;
    TRY(webhooks_read(db, read->text, &webhook));
    document_webhook(&read->body, &webhook, false);
    return OK;
}

void webhooks_get_one(struct request *request) {
    if (read_webhook_id(request)) read_start(read_of_webhook(request, get));
}

static struct result remove_one(struct read *read, struct db *db) {
    TRY(webhooks_delete(db, read->text));
    read->http_status = STATUS_NO_CONTENT;
    return OK;
}

void webhooks_delete_one(struct request *request) {
    if (read_webhook_id(request)) read_start(read_of_webhook(request, remove_one));
}

static void write_webhook(void *arg, const struct webhook *row) {
    struct read *read = arg;
    if (!list_item_begins(read, 0)) return;
    document_webhook(&read->body, row, false);
    (void)text_copy(read->last_name, sizeof read->last_name, row->id);
}

static struct result list(struct read *read, struct db *db) {
    list_begin(read);
    TRY(webhooks_list(db, read->text, read->limit + 1, write_webhook, read));
    list_end_name(read, CURSOR_WEBHOOKS);
    return OK;
}

void webhooks_list_all(struct request *request) {
    char after[CURSOR_NAME_MAX + 1] = "";
    size_t limit;
    const char *cursor = request_query(request, "cursor");
    if (!read_query(request, NULL, true) || !read_limit(request, &limit)) return;
    if (cursor != NULL && !cursor_read_name(CURSOR_WEBHOOKS, cursor, after)) {
        reply_invalid_field(request, "?cursor", "is not a cursor of this list");
        return;
    }
    struct read *read = read_new(request, list);
    read->limit = limit;
    (void)text_copy(read->text, sizeof read->text, after);
    read_start(read);
}

/* -- deliveries */

static void write_delivery(void *arg, const struct delivery *row) {
    struct read *read = arg;
    if (list_item_begins(read, row->id)) document_delivery(&read->body, row);
}

static const char *const words[] = {"", "HELD", "PENDING", "DELIVERED", "FAILED", NULL};
static const struct states states = {words, "must be HELD, PENDING, DELIVERED or FAILED"};

static struct result list_deliveries(struct read *read, struct db *db) {
    const struct deliveries_page page = {read->text, words[read->status], read->after, read->limit + 1};
    list_begin(read);
    TRY(deliveries_list(db, &page, write_delivery, read));
    list_end(read, CURSOR_DELIVERIES);
    return OK;
}

void webhooks_deliveries(struct request *request) {
    if (!read_webhook_id(request)) return;
    struct read *read = read_by_state(request, CURSOR_DELIVERIES, &states, list_deliveries);
    if (read == NULL) return;
    (void)text_copy(read->text, sizeof read->text, request_param(request, 0));
    read_start(read);
}

static struct result replay(struct read *read, struct db *db) {
    struct delivery delivery;
    TRY(deliveries_replay(db, read->text, read->id, &delivery));
    document_delivery(&read->body, &delivery);
    return OK;
}

void webhooks_replay(struct request *request) {
    struct field_errors errors = {0};
    size_t len;
    int64_t id;
    const char *body = request_body(request, &len);
    if (!read_webhook_id(request) || !read_id(request, 1, "deliveryId", &id)) return;
    if (failed(body_empty(body, len, &errors))) {
        reply_invalid(request, &errors);
        return;
    }
    struct read *read = read_of_webhook(request, replay);
    read->id = id;
    read_start(read);
}
