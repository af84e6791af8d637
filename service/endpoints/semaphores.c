/* /v1/semaphores/{name} for those who hold permits, who look, and who say how many there are. PUT: lock_acquire.c. */
#include "base/memory.h"
#include "codec/bodies_lock.h"
#include "endpoints/lock_reply.h"
#include "endpoints/routes.h"

#include <stdlib.h>

#define STATUS_OK 200
#define STATUS_NO_CONTENT 204

/* One call on its way. */
struct semaphore_errand {
    struct request *request; /* NULL: the client hung up; the call's end frees the record */
    char token[LOCK_TOKEN_MAX + 1];
};

static struct semaphore_errand *errand_new(struct request *request, const char *token) {
    struct semaphore_errand *errand = mem_new(sizeof *errand);
    errand->request = request;
    (void)text_format(errand->token, sizeof errand->token, "%s", token);
    return errand;
}

static void on_gone(void *arg) {
    struct semaphore_errand *errand = arg;
    errand->request = NULL;
}

/* False: the request has its answer, or nobody waits for one. */
static bool goes_well(struct semaphore_errand *errand, const struct lock_answer *answer) {
    if (errand->request == NULL) return false;
    if (answer->error == ERROR_NONE) return true;
    lock_reply_problem(errand->request, answer, false);
    return false;
}

/* -- renewed and released */

static void reply_renewed(const struct semaphore_errand *errand, const struct lock_answer *answer) {
    const char *name = request_param(errand->request, 0);
    struct reply reply = reply_new(STATUS_OK);
    const struct lock_grant_view view = {.names = &name,
                                         .count = 1,
                                         .token = errand->token,
                                         .owner = answer->owner,
                                         .kind = answer->kind,
                                         .safety = answer->safety,
                                         .fences = answer->fences,
                                         .ttl_ms = answer->ttl_ms,
                                         .safe_for_ms = answer->safe_for_ms,
                                         .permits = answer->permits};
    reply.body = text_new(0);
    document_lock_grant(&reply.body, &view);
    request_reply(errand->request, reply);
}

static void on_renewed(void *arg, const struct lock_answer *answer) {
    struct semaphore_errand *errand = arg;
    if (goes_well(errand, answer)) reply_renewed(errand, answer);
    free(errand);
}

static void on_released(void *arg, const struct lock_answer *answer) {
    struct semaphore_errand *errand = arg;
    if (goes_well(errand, answer)) request_reply(errand->request, reply_new(STATUS_NO_CONTENT));
    free(errand);
}

/* Token and ?fence= of the request; NULL: answered. holder has the room the ref points to. */
static struct semaphore_errand *read_ref(struct request *request, struct lock_ref *ret, char holder[LOCK_HOLDER_SIZE]) {
    const char *token = lock_read_token(request);
    if (token == NULL || !lock_read_fence(request, &ret->fence)) return NULL;
    lock_holder_of(request_credential(request)->name, token, holder);
    ret->kind = LOCK_KIND_SEMAPHORE;
    ret->holder = holder;
    return errand_new(request, token);
}

static void renew(struct request *request, const char *name, int64_t ttl_ms) {
    struct lock_ref ref = {.name = name};
    char holder[LOCK_HOLDER_SIZE];
    struct semaphore_errand *errand = read_ref(request, &ref, holder);
    if (errand == NULL) return;
    request_park(request, on_gone, errand);
    locks_renew(service_of(request)->locks, &ref, ttl_ms, on_renewed, errand);
}

static const char *read_name(struct request *request) {
    static const char *const allowed[] = {"fence", NULL};
    return lock_read_name(request, allowed);
}

void semaphores_delete_one(struct request *request) {
    struct lock_ref ref = {.name = read_name(request)};
    char holder[LOCK_HOLDER_SIZE];
    if (ref.name == NULL) return;
    struct semaphore_errand *errand = read_ref(request, &ref, holder);
    if (errand == NULL) return;
    request_park(request, on_gone, errand);
    locks_release(service_of(request)->locks, &ref, on_released, errand);
}

/* -- looked at */

static struct semaphore_holder_view *holder_views(const struct semaphore_status *status) {
    struct semaphore_holder_view *views = mem_array(status->holder_count + 1, sizeof views[0]);
    for (size_t i = 0; i < status->holder_count; i++) {
        views[i].lock = lock_holder_view_of(&status->holders[i].lock);
        views[i].permits = status->holders[i].permits;
    }
    return views;
}

static void reply_status(struct request *request, const struct semaphore_status *status) {
    struct semaphore_holder_view *holders = holder_views(status);
    const struct semaphore_status_view view = {.name = status->name,
                                               .kind = status->kind,
                                               .exists = status->exists,
                                               .limit = status->limit,
                                               .available = status->available,
                                               .holders = holders,
                                               .holder_count = status->holder_count,
                                               .fence = status->fence,
                                               .waiters = status->waiters};
    struct reply reply = reply_new(STATUS_OK);
    reply.body = text_new(0);
    document_semaphore_status(&reply.body, &view);
    free(holders);
    request_reply(request, reply);
}

static void on_status(void *arg, const struct semaphore_status *status) {
    struct semaphore_errand *errand = arg;
    if (errand->request != NULL && status == NULL)
        request_problem(errand->request, ERROR_LOCK_STORE_DOWN, "nobody can say who holds what", NULL);
    else if (errand->request != NULL)
        reply_status(errand->request, status);
    free(errand);
}

static void look(struct semaphore_errand *errand) {
    struct request *request = errand->request;
    semaphores_status(service_of(request)->locks, request_param(request, 0), on_status, errand);
}

void semaphores_get_one(struct request *request) {
    if (lock_read_name(request, NULL) == NULL) return;
    struct semaphore_errand *errand = errand_new(request, "");
    request_park(request, on_gone, errand);
    look(errand);
}

/* -- sized */

static void on_limited(void *arg, const struct lock_answer *answer) {
    struct semaphore_errand *errand = arg;
    if (goes_well(errand, answer))
        look(errand);
    else
        free(errand);
}

static void set_limit(struct request *request, const char *name, int64_t limit) {
    if (!credential_may(request_credential(request), SCOPE_ADMIN)) {
        request_problem(request, ERROR_FORBIDDEN, "the limit of a semaphore is changed with the scope admin", NULL);
        return;
    }
    struct semaphore_errand *errand = errand_new(request, "");
    request_park(request, on_gone, errand);
    semaphores_limit(service_of(request)->locks, name, limit, on_limited, errand);
}

void semaphores_patch_one(struct request *request) {
    struct field_errors errors = {0};
    size_t len;
    int64_t ttl_ms, limit;
    const char *body = request_body(request, &len);
    const char *name = read_name(request);
    if (name == NULL) return;
    if (failed(body_semaphore_change(body, len, &errors, &ttl_ms, &limit)))
        reply_invalid(request, &errors);
    else if (limit > 0)
        set_limit(request, name, limit);
    else
        renew(request, name, ttl_ms);
}
