/* /v1/locks/{name}: taken, renewed, released, looked at. */
#include "base/memory.h"
#include "codec/bodies_lock.h"
#include "endpoints/lock_reply.h"
#include "endpoints/routes.h"

#include <stdlib.h>
#include <string.h>

#define STATUS_OK 200
#define STATUS_CREATED 201
#define STATUS_ACCEPTED 202
#define STATUS_NO_CONTENT 204
#define TOKEN_BYTES 16 /* of a token the service makes: 128 bits */

/* One request on its way through locks/. */
struct lock_errand {
    struct locks *locks;
    struct request *request; /* NULL: the client hung up, and only the end of the call is waited for */
    struct ask *ask;         /* PUT */
    enum lock_kind kind;
    char token[LOCK_TOKEN_MAX + 1];
    char owner[LOCK_OWNER_MAX + 1];
};

/* A grant's reply on its way. */
struct lock_delivery {
    struct locks *locks;
    struct delivery *delivery;
};

static struct lock_errand *errand_new(struct request *request, const char *token) {
    struct lock_errand *errand = mem_new(sizeof *errand);
    errand->locks = service_of(request)->locks;
    errand->request = request;
    (void)text_format(errand->token, sizeof errand->token, "%s", token);
    return errand;
}

/* -- replies */

static void on_sent(void *arg, bool whole) {
    struct lock_delivery *delivery = arg;
    locks_delivered(delivery->locks, delivery->delivery, whole);
    free(delivery);
}

static void watch_delivery(struct lock_errand *errand, struct delivery *delivery) {
    if (delivery == NULL) return;
    struct lock_delivery *watched = mem_new(sizeof *watched);
    *watched = (struct lock_delivery){errand->locks, delivery};
    request_on_sent(errand->request, on_sent, watched);
}

static void reply_document(struct request *request, struct reply *reply, const struct lock_grant_view *view) {
    reply->body = text_new(0);
    document_lock_grant(&reply->body, view);
    (void)text_format(reply->lock_token, sizeof reply->lock_token, "%s", view->token);
    request_reply(request, *reply);
}

static struct lock_grant_view view_of(const struct lock_errand *errand, const struct lock_answer *answer) {
    return (struct lock_grant_view){.name = request_param(errand->request, 0),
                                    .token = errand->token,
                                    .owner = errand->owner,
                                    .kind = lock_kind_name(errand->kind),
                                    .safety = answer->safety,
                                    .fence = answer->fences,
                                    .ttl_ms = answer->ttl_ms,
                                    .safe_for_ms = answer->safe_for_ms,
                                    .waited_ms = answer->waited_ms};
}

static void set_location(struct reply *reply, const char *name) {
    AUTO_TEXT location = text_new(0);
    text_add_str(&location, "/v1/locks/");
    lock_write_segment(&location, name);
    (void)text_format(reply->location, sizeof reply->location, "%s", text_str(&location));
}

static void reply_granted(struct lock_errand *errand, const struct lock_answer *answer) {
    struct reply reply = reply_new(answer->outcome == LOCK_GRANTED ? STATUS_CREATED : STATUS_OK);
    struct lock_grant_view view = view_of(errand, answer);
    reply.degraded = answer->safety == LOCK_SAFETY_NONE;
    set_location(&reply, view.name);
    watch_delivery(errand, answer->delivery);
    reply_document(errand->request, &reply, &view);
}

static void reply_queued(struct lock_errand *errand, const struct lock_answer *answer) {
    struct reply reply = reply_new(STATUS_ACCEPTED);
    reply.body = text_new(0);
    document_lock_queued(&reply.body, errand->token, answer->position, answer->retry_ms);
    (void)text_format(reply.lock_token, sizeof reply.lock_token, "%s", errand->token);
    request_reply(errand->request, reply);
}

/* -- PUT */

static void on_acquired(void *arg, const struct lock_answer *answer) {
    struct lock_errand *errand = arg;
    if (answer->error != ERROR_NONE)
        lock_reply_problem(errand->request, answer);
    else if (answer->outcome == LOCK_QUEUED)
        reply_queued(errand, answer);
    else
        reply_granted(errand, answer);
    free(errand);
}

static void on_acquirer_gone(void *arg) {
    struct lock_errand *errand = arg;
    locks_abandon(errand->locks, errand->ask);
    free(errand);
}

static bool is_here(void *arg) {
    const struct lock_errand *errand = arg;
    return request_is_here(errand->request);
}

static void name_owner(struct lock_errand *errand, const char *given) {
    char peer[REQUEST_PEER_SIZE];
    if (given[0] != '\0') {
        (void)text_format(errand->owner, sizeof errand->owner, "%s", given);
        return;
    }
    request_peer(errand->request, peer);
    (void)text_format(errand->owner, sizeof errand->owner, "%s@%s", request_credential(errand->request)->name, peer);
}

static struct ask_terms terms_of(struct lock_errand *errand, const struct lock_body *body) {
    struct ask_terms terms = {.token_made = body->token[0] == '\0',
                              .ttl_ms = body->ttl_ms,
                              .wait_ms = body->wait_ms,
                              .received_ms = request_received_ms(errand->request),
                              .kind = body->kind,
                              .when_down = body->when_down,
                              .metadata = text_str(&body->metadata),
                              .is_here = is_here,
                              .done = on_acquired,
                              .arg = errand};
    lock_holder_of(request_credential(errand->request)->name, errand->token, terms.holder);
    (void)text_format(terms.owner, sizeof terms.owner, "%s", errand->owner);
    return terms;
}

static void acquire(struct request *request, const char *name, const struct lock_body *body) {
    struct lock_errand *errand = errand_new(request, body->token);
    if (body->token[0] == '\0') text_random_hex(TOKEN_BYTES, errand->token);
    name_owner(errand, body->owner);
    errand->kind = body->kind;
    errand->ask = ask_new(&name, 1);
    struct ask_terms terms = terms_of(errand, body);
    request_park(request, on_acquirer_gone, errand);
    locks_acquire(errand->locks, errand->ask, &terms);
}

void locks_put_one(struct request *request) {
    struct field_errors errors = {0};
    struct lock_body parsed;
    size_t len;
    const char *body = request_body(request, &len);
    const char *name = lock_read_name(request, NULL);
    if (name == NULL) return;
    if (failed(body_lock(body, len, &errors, &parsed))) {
        reply_invalid(request, &errors);
        return;
    }
    acquire(request, name, &parsed);
    lock_body_done(&parsed);
}

/* -- PATCH and DELETE */

static void on_gone(void *arg) {
    struct lock_errand *errand = arg;
    errand->request = NULL;
}

/* False: the request has its answer, or nobody waits for one. */
static bool goes_well(struct lock_errand *errand, const struct lock_answer *answer) {
    if (errand->request == NULL) return false;
    if (answer->error == ERROR_NONE) return true;
    lock_reply_problem(errand->request, answer);
    return false;
}

static void on_renewed(void *arg, const struct lock_answer *answer) {
    struct lock_errand *errand = arg;
    if (goes_well(errand, answer)) {
        struct reply reply = reply_new(STATUS_OK);
        struct lock_grant_view view = view_of(errand, answer);
        view.owner = answer->owner;
        view.kind = answer->kind;
        reply_document(errand->request, &reply, &view);
    }
    free(errand);
}

static void on_released(void *arg, const struct lock_answer *answer) {
    struct lock_errand *errand = arg;
    if (goes_well(errand, answer)) request_reply(errand->request, reply_new(STATUS_NO_CONTENT));
    free(errand);
}

/* Name, token and ?fence= of the request; NULL: answered. holder has the room the ref points to. */
static struct lock_errand *read_ref(struct request *request, struct lock_ref *ret, char holder[LOCK_HOLDER_SIZE]) {
    static const char *const allowed[] = {"fence", NULL};
    ret->name = lock_read_name(request, allowed);
    if (ret->name == NULL) return NULL;
    const char *token = lock_read_token(request);
    if (token == NULL || !lock_read_fence(request, &ret->fence)) return NULL;
    lock_holder_of(request_credential(request)->name, token, holder);
    ret->holder = holder;
    return errand_new(request, token);
}

void locks_patch_one(struct request *request) {
    struct field_errors errors = {0};
    struct lock_ref ref;
    char holder[LOCK_HOLDER_SIZE];
    size_t len;
    int64_t ttl_ms;
    const char *body = request_body(request, &len);
    if (failed(body_lock_renewal(body, len, &errors, &ttl_ms))) {
        reply_invalid(request, &errors);
        return;
    }
    struct lock_errand *errand = read_ref(request, &ref, holder);
    if (errand == NULL) return;
    request_park(request, on_gone, errand);
    locks_renew(errand->locks, &ref, ttl_ms, on_renewed, errand);
}

void locks_delete_one(struct request *request) {
    struct lock_ref ref;
    char holder[LOCK_HOLDER_SIZE];
    struct lock_errand *errand = read_ref(request, &ref, holder);
    if (errand == NULL) return;
    request_park(request, on_gone, errand);
    locks_release(errand->locks, &ref, on_released, errand);
}

/* -- GET */

static void on_status(void *arg, const struct lock_status *status) {
    struct lock_errand *errand = arg;
    if (errand->request != NULL && status == NULL) {
        request_problem(errand->request, ERROR_LOCK_STORE_DOWN, "nobody can say who holds what", NULL);
    } else if (errand->request != NULL) {
        struct lock_holder_view holder = {0};
        if (status->holder != NULL) holder = lock_holder_view_of(status->holder);
        struct lock_status_view view = {.name = request_param(errand->request, 0),
                                        .kind = status->kind,
                                        .held = status->held,
                                        .holder = status->holder != NULL ? &holder : NULL,
                                        .fence = status->fence,
                                        .waiters = status->waiters};
        struct reply reply = reply_new(STATUS_OK);
        reply.body = text_new(0);
        document_lock_status(&reply.body, &view);
        request_reply(errand->request, reply);
    }
    free(errand);
}

void locks_get_one(struct request *request) {
    const char *name = lock_read_name(request, NULL);
    if (name == NULL) return;
    struct lock_errand *errand = errand_new(request, "");
    request_park(request, on_gone, errand);
    locks_status(errand->locks, name, on_status, errand);
}
