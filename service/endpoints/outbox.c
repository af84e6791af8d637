/* /v1/outbox: what was told to the sinks, what they refused, and what is to become of it. */
#include "base/memory.h"
#include "codec/bodies.h"
#include "codec/outbox_documents.h"
#include "endpoints/common.h"
#include "endpoints/routes.h"
#include "events/sinks.h"
#include "store/outbox_admin.h"

#include <string.h>

#define CURSOR_OUTBOX 'o'

static const char *const words[] = {"", "PENDING", "PUBLISHED", "FAILED", "DISCARDED", NULL};
static const struct states states = {words, "must be PENDING, PUBLISHED, FAILED or DISCARDED"};

/* -- GET */

static void write_item(void *arg, const struct outbox_event *event) {
    struct read *read = arg;
    if (list_item_begins(read, event->id)) document_outbox_event(&read->body, event);
}

static struct result list(struct read *read, struct db *db) {
    const struct outbox_page page = {read->status > 0 ? words[read->status] : NULL, read->after, read->limit + 1};
    list_begin(read);
    TRY(outbox_list(db, &page, write_item, read));
    list_end(read, CURSOR_OUTBOX);
    return OK;
}

void outbox_list_all(struct request *request) {
    struct read *read = read_by_state(request, CURSOR_OUTBOX, &states, list);
    if (read != NULL) read_start(read);
}

static void write_event(void *arg, const struct outbox_event *event) { document_outbox_event_begin(arg, event); }
static void write_failure(void *arg, const struct sink_failure *failure) { document_outbox_failure(arg, failure); }

static struct result write_whole(struct read *read, struct db *db) {
    const struct outbox_reader reader = {write_event, write_failure, &read->body};
    TRY(outbox_get(db, read->text, &reader));
    document_outbox_event_end(&read->body);
    return OK;
}

/* -- what is done */

struct deed {
    char credential[CREDENTIAL_NAME_MAX + 1], request_id[65];
    const char *sinks[SINKS_MAX];
    size_t sink_count;
};

static struct outbox_actor actor_of(const struct deed *deed) {
    return (struct outbox_actor){deed->credential, deed->request_id};
}

static struct read *deed_new(struct request *request, struct result (*work)(struct read *, struct db *)) {
    struct read *read = read_new(request, work);
    struct deed *deed = read->own = mem_new(sizeof *deed);
    char ignored[1];
    (void)text_copy(deed->credential, sizeof deed->credential, request_credential(request)->name);
    (void)text_copy(deed->request_id, sizeof deed->request_id, request_id(request));
    if (failed(sinks_read(service_of(request)->config, deed->sinks, &deed->sink_count, ignored, sizeof ignored)))
        deed->sink_count = 0; /* looked at when the service started */
    return read;
}

static struct result replay(struct read *read, struct db *db) {
    const struct deed *deed = read->own;
    const struct outbox_actor actor = actor_of(deed);
    TRY(outbox_replay(db, read->text, deed->sinks, deed->sink_count, &actor));
    return write_whole(read, db);
}

static struct result discard(struct read *read, struct db *db) {
    const struct outbox_actor actor = actor_of(read->own);
    TRY(outbox_discard(db, read->text, &actor));
    return write_whole(read, db);
}

static bool read_event_id(struct request *request) {
    const char *id = request_param(request, 0);
    bool is_uuid = strlen(id) == EVENT_ID_SIZE - 1 && strspn(id, "0123456789abcdef-") == EVENT_ID_SIZE - 1;
    if (!is_uuid) reply_invalid_field(request, "/eventId", "must be the id of an event: a UUID in lower case");
    return is_uuid;
}

static void start(struct request *request, struct read *read) {
    (void)text_copy(read->text, sizeof read->text, request_param(request, 0));
    read_start(read);
}

void outbox_get_one(struct request *request) {
    if (read_event_id(request)) start(request, read_new(request, write_whole));
}

static void start_deed(struct request *request, struct result (*work)(struct read *, struct db *)) {
    struct field_errors errors = {0};
    size_t len;
    const char *body = request_body(request, &len);
    if (!read_event_id(request)) return;
    if (failed(body_empty(body, len, &errors))) {
        reply_invalid(request, &errors);
        return;
    }
    start(request, deed_new(request, work));
}

void outbox_replay_one(struct request *request) { start_deed(request, replay); }
void outbox_discard_one(struct request *request) { start_deed(request, discard); }

static struct result replay_all(struct read *read, struct db *db) {
    const struct outbox_actor actor = actor_of(read->own);
    int64_t count;
    TRY(outbox_replay_failed(db, &actor, &count));
    text_addf(&read->body, "{\"replayed\":%lld}", (long long)count);
    return OK;
}

void outbox_replay_all(struct request *request) {
    struct field_errors errors = {0};
    size_t len;
    const char *body = request_body(request, &len);
    if (failed(body_outbox_replay(body, len, &errors))) {
        reply_invalid(request, &errors);
        return;
    }
    read_start(deed_new(request, replay_all));
}
