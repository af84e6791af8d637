/* PUT /v1/locks/{name}, PUT /v1/locks, PUT /v1/semaphores/{name}: one lock, a set all or nothing, permits. */
#include "base/fault.h"
#include "base/memory.h"
#include "codec/bodies_lock.h"
#include "endpoints/lock_reply.h"
#include "endpoints/routes.h"

#include <stdlib.h>
#include <string.h>

#define STATUS_OK 200
#define STATUS_CREATED 201
#define STATUS_ACCEPTED 202
#define TOKEN_BYTES 16 /* of a token the service makes: 128 bits */

/* One PUT on its way. */
struct acquiring {
    struct locks *locks;
    struct request *request;
    struct ask *ask;
    enum lock_kind kind;
    char token[LOCK_TOKEN_MAX + 1];
    char owner[LOCK_OWNER_MAX + 1];
    bool is_set;
    int64_t permits; /* asked for */
    size_t count;
    char *names[]; /* as asked, owned */
};

/* A grant's reply on its way. */
struct watched {
    struct locks *locks;
    struct delivery *delivery;
};

static void free_acquiring(struct acquiring *acquiring) {
    for (size_t i = 0; i < acquiring->count; i++) free(acquiring->names[i]);
    free(acquiring);
}

/* -- replies */

static void on_sent(void *arg, bool whole) {
    struct watched *watched = arg;
    locks_delivered(watched->locks, watched->delivery, whole);
    free(watched);
}

static void watch_delivery(const struct acquiring *acquiring, struct delivery *delivery) {
    if (delivery == NULL) return;
    struct watched *watched = mem_new(sizeof *watched);
    *watched = (struct watched){acquiring->locks, delivery};
    request_on_sent(acquiring->request, on_sent, watched);
}

static void set_location(struct reply *reply, enum lock_kind kind, const char *name) {
    AUTO_TEXT location = text_new(0);
    text_add_str(&location, kind == LOCK_KIND_SEMAPHORE ? "/v1/semaphores/" : "/v1/locks/");
    text_add_segment(&location, name);
    (void)text_format(reply->location, sizeof reply->location, "%s", text_str(&location));
}

/* Where a lock is kept is not its kind. */
static const char *kind_word(enum lock_kind kind) {
    return lock_kind_name(kind == LOCK_KIND_DATABASE ? LOCK_KIND_LOCK : kind);
}

static void reply_granted(struct acquiring *acquiring, const struct lock_answer *answer) {
    struct reply reply = reply_new(answer->outcome == LOCK_GRANTED ? STATUS_CREATED : STATUS_OK);
    const struct lock_grant_view view = {.names = (const char *const *)acquiring->names,
                                         .count = acquiring->count,
                                         .is_set = acquiring->is_set,
                                         .token = acquiring->token,
                                         .owner = acquiring->owner,
                                         .kind = kind_word(acquiring->kind),
                                         .mode = answer->mode,
                                         .safety = answer->safety,
                                         .fences = answer->fences,
                                         .ttl_ms = answer->ttl_ms,
                                         .safe_for_ms = answer->safe_for_ms,
                                         .waited_ms = answer->waited_ms,
                                         .permits = answer->permits > 0 ? answer->permits : acquiring->permits};
    reply.degraded = answer->safety == LOCK_SAFETY_NONE;
    if (!acquiring->is_set) set_location(&reply, acquiring->kind, acquiring->names[0]);
    (void)text_format(reply.lock_token, sizeof reply.lock_token, "%s", acquiring->token);
    reply.body = text_new(0);
    document_lock_grant(&reply.body, &view);
    watch_delivery(acquiring, answer->delivery);
    request_reply(acquiring->request, reply);
}

static void reply_queued(struct acquiring *acquiring, const struct lock_answer *answer) {
    struct reply reply = reply_new(STATUS_ACCEPTED);
    reply.body = text_new(0);
    document_lock_queued(&reply.body, acquiring->token, answer->position, answer->retry_ms);
    (void)text_format(reply.lock_token, sizeof reply.lock_token, "%s", acquiring->token);
    request_reply(acquiring->request, reply);
}

static void on_acquired(void *arg, const struct lock_answer *answer) {
    struct acquiring *acquiring = arg;
    if (answer->error != ERROR_NONE)
        lock_reply_problem(acquiring->request, answer, acquiring->is_set);
    else if (answer->outcome == LOCK_QUEUED)
        reply_queued(acquiring, answer);
    else
        reply_granted(acquiring, answer);
    free_acquiring(acquiring);
}

/* -- on its way */

static void on_gone(void *arg) {
    struct acquiring *acquiring = arg;
    locks_abandon(acquiring->locks, acquiring->ask);
    free_acquiring(acquiring);
}

static bool is_here(void *arg) {
    const struct acquiring *acquiring = arg;
    return request_is_here(acquiring->request);
}

static void name_owner(struct acquiring *acquiring, const char *given) {
    char peer[REQUEST_PEER_SIZE];
    if (given[0] != '\0') {
        (void)text_format(acquiring->owner, sizeof acquiring->owner, "%s", given);
        return;
    }
    request_peer(acquiring->request, peer);
    (void)text_format(acquiring->owner, sizeof acquiring->owner, "%s@%s", request_credential(acquiring->request)->name,
                      peer);
}

static struct ask_terms terms_of(struct acquiring *acquiring, const struct lock_body *body) {
    struct ask_terms terms = {.token_made = body->token[0] == '\0',
                              .ttl_ms = body->ttl_ms,
                              .wait_ms = body->wait_ms,
                              .received_ms = request_received_ms(acquiring->request),
                              .kind = body->kind,
                              .mode = body->mode,
                              .when_down = body->when_down,
                              .metadata = text_str(&body->metadata),
                              .permits = body->permits,
                              .limit = body->limit,
                              .is_here = is_here,
                              .done = on_acquired,
                              .arg = acquiring};
    lock_holder_of(request_credential(acquiring->request)->name, acquiring->token, terms.holder);
    if (fault_on(FAULT_NO_REPEAT)) text_random_hex((LOCK_HOLDER_SIZE - 1) / 2, terms.holder);
    (void)text_format(terms.owner, sizeof terms.owner, "%s", acquiring->owner);
    return terms;
}

static struct acquiring *acquiring_new(struct request *request, const char *const *names, size_t count,
                                       const struct lock_body *body) {
    struct acquiring *acquiring = mem_new(sizeof *acquiring + count * sizeof acquiring->names[0]);
    acquiring->locks = service_of(request)->locks;
    acquiring->request = request;
    acquiring->kind = body->kind;
    acquiring->permits = body->permits;
    acquiring->count = count;
    for (size_t i = 0; i < count; i++) acquiring->names[i] = mem_copy(names[i], strlen(names[i]));
    (void)text_format(acquiring->token, sizeof acquiring->token, "%s", body->token);
    if (body->token[0] == '\0') text_random_hex(TOKEN_BYTES, acquiring->token);
    name_owner(acquiring, body->owner);
    return acquiring;
}

static void start(struct acquiring *acquiring, const struct lock_body *body) {
    struct ask_terms terms = terms_of(acquiring, body);
    acquiring->ask = ask_new((const char *const *)acquiring->names, acquiring->count);
    request_park(acquiring->request, on_gone, acquiring);
    locks_acquire(acquiring->locks, acquiring->ask, &terms);
}

typedef struct result (*read_body)(const char *body, size_t len, struct field_errors *errors, struct lock_body *ret);

static void put_one(struct request *request, read_body read) {
    struct field_errors errors = {0};
    struct lock_body parsed;
    size_t len;
    const char *body = request_body(request, &len);
    const char *name = lock_read_name(request, NULL);
    if (name == NULL) return;
    if (failed(read(body, len, &errors, &parsed))) {
        reply_invalid(request, &errors);
        return;
    }
    start(acquiring_new(request, &name, 1, &parsed), &parsed);
    lock_body_done(&parsed);
}

void locks_put_one(struct request *request) { put_one(request, body_lock); }

void semaphores_put_one(struct request *request) { put_one(request, body_semaphore); }

/* -- sets */

static bool admit_all(struct request *request, const struct lock_set_body *set) {
    char pointer[24];
    for (size_t i = 0; i < set->count; i++) {
        (void)text_format(pointer, sizeof pointer, "/names/%zu", i);
        if (!lock_name_admit(request, pointer, set->names[i])) return false;
    }
    return true;
}

void locks_put_set(struct request *request) {
    struct field_errors errors = {0};
    struct lock_set_body set;
    size_t len;
    const char *body = request_body(request, &len);
    if (!read_query(request, NULL, false)) return;
    if (failed(body_lock_set(body, len, &errors, &set))) {
        reply_invalid(request, &errors);
        return;
    }
    if (admit_all(request, &set)) {
        struct acquiring *acquiring = acquiring_new(request, (const char *const *)set.names, set.count, &set.terms);
        acquiring->is_set = true;
        start(acquiring, &set.terms);
    }
    lock_set_body_done(&set);
}
