/* PATCH and DELETE /v1/locks: everything a token holds, renewed or released in one request. */
#include "base/memory.h"
#include "codec/bodies_lock.h"
#include "endpoints/lock_reply.h"
#include "endpoints/routes.h"

#include <stdlib.h>

#define STATUS_OK 200

struct session_errand {
    struct request *request; /* NULL: the client hung up */
    bool renews;
    size_t done, lost;
    struct text done_items, lost_items; /* elements of JSON arrays */
};

static void on_gone(void *arg) {
    struct session_errand *errand = arg;
    errand->request = NULL;
}

static void on_each(void *arg, const struct lock_each *each) {
    struct session_errand *errand = arg;
    struct text *items = each->done ? &errand->done_items : &errand->lost_items;
    if ((each->done ? errand->done++ : errand->lost++) > 0) text_add_char(items, ',');
    if (!each->done)
        document_lock_lost(items, each->name, each->reason);
    else if (errand->renews)
        document_lock_renewed(items, each->name, each->fence);
    else
        json_write_string(items, each->name);
}

static void reply_session(const struct session_errand *errand, const struct lock_answer *answer) {
    struct reply reply = reply_new(STATUS_OK);
    reply.body = text_new(0);
    if (errand->renews)
        text_addf(&reply.body, "{\"ttlMs\":%lld,\"safeForMs\":%lld,\"locks\":[", (long long)answer->ttl_ms,
                  (long long)answer->safe_for_ms);
    else
        text_add_str(&reply.body, "{\"released\":[");
    text_add(&reply.body, text_str(&errand->done_items), errand->done_items.len);
    text_add_str(&reply.body, "],\"lost\":[");
    text_add(&reply.body, text_str(&errand->lost_items), errand->lost_items.len);
    text_add_char(&reply.body, ']');
    lock_write_away(&reply.body, answer->away);
    text_add_char(&reply.body, '}');
    reply.body.overflow |= errand->done_items.overflow || errand->lost_items.overflow;
    request_reply(errand->request, reply);
}

/* A heartbeat for nothing must not look like one that worked. */
static void reply_nothing_held(const struct session_errand *errand) {
    struct lock_answer answer = {.error = ERROR_LEASE_LOST, .reason = "unknown", .retry_after_s = -1};
    answer.detail = errand->lost > 0 ? "all that this token held is lost" : "this token holds nothing";
    lock_reply_problem(errand->request, &answer, false);
}

static void on_session_done(void *arg, const struct lock_answer *answer) {
    struct session_errand *errand = arg;
    if (errand->request != NULL && answer->error != ERROR_NONE)
        lock_reply_problem(errand->request, answer, false);
    else if (errand->request != NULL && errand->renews && errand->done == 0)
        reply_nothing_held(errand);
    else if (errand->request != NULL)
        reply_session(errand, answer);
    text_done(&errand->done_items);
    text_done(&errand->lost_items);
    free(errand);
}

static void start_session(struct request *request, const char *token, bool renews, int64_t ttl_ms) {
    struct session_errand *errand = mem_new(sizeof *errand);
    char holder[LOCK_HOLDER_SIZE];
    errand->request = request;
    errand->renews = renews;
    errand->done_items = errand->lost_items = text_new(0);
    lock_holder_of(request_credential(request)->name, token, holder);
    const struct lock_session session = {.holder = holder, .each = on_each, .done = on_session_done, .arg = errand};
    request_park(request, on_gone, errand);
    if (renews)
        locks_renew_all(service_of(request)->locks, &session, ttl_ms);
    else
        locks_release_all(service_of(request)->locks, &session);
}

void locks_patch_all(struct request *request) {
    struct field_errors errors = {0};
    size_t len;
    int64_t ttl_ms;
    const char *body = request_body(request, &len);
    if (!read_query(request, NULL, false)) return;
    if (failed(body_lock_renewal(body, len, &errors, &ttl_ms))) {
        reply_invalid(request, &errors);
        return;
    }
    const char *token = lock_read_token(request);
    if (token != NULL) start_session(request, token, true, ttl_ms);
}

void locks_delete_all(struct request *request) {
    if (!read_query(request, NULL, false)) return;
    const char *token = lock_read_token(request);
    if (token != NULL) start_session(request, token, false, 0);
}
