/* /v1/locks/{name} for those who hold it, and for those who only look. */
#include "base/memory.h"
#include "codec/bodies_lock.h"
#include "endpoints/lock_reply.h"
#include "endpoints/routes.h"

#include <stdlib.h>

#define STATUS_OK 200
#define STATUS_NO_CONTENT 204

/* One call on its way. */
struct lock_errand {
    struct request *request; /* NULL: the client hung up; the call's end frees the record */
    char token[LOCK_TOKEN_MAX + 1];
};

static struct lock_errand *errand_new(struct request *request, const char *token) {
    struct lock_errand *errand = mem_new(sizeof *errand);
    errand->request = request;
    (void)text_format(errand->token, sizeof errand->token, "%s", token);
    return errand;
}

static void on_gone(void *arg) {
    struct lock_errand *errand = arg;
    errand->request = NULL;
}

/* -- PATCH and DELETE */

/* False: the request has its answer, or nobody waits for one. */
static bool goes_well(struct lock_errand *errand, const struct lock_answer *answer) {
    if (errand->request == NULL) return false;
    if (answer->error == ERROR_NONE) return true;
    lock_reply_problem(errand->request, answer, false);
    return false;
}

static void reply_renewed(const struct lock_errand *errand, const struct lock_answer *answer) {
    const char *name = request_param(errand->request, 0);
    struct reply reply = reply_new(STATUS_OK);
    const struct lock_grant_view view = {.names = &name,
                                         .count = 1,
                                         .token = errand->token,
                                         .owner = answer->owner,
                                         .kind = answer->kind,
                                         .mode = answer->mode,
                                         .safety = answer->safety,
                                         .fences = answer->fences,
                                         .ttl_ms = answer->ttl_ms,
                                         .safe_for_ms = answer->safe_for_ms};
    reply.body = text_new(0);
    document_lock_grant(&reply.body, &view);
    request_reply(errand->request, reply);
}

static void on_renewed(void *arg, const struct lock_answer *answer) {
    struct lock_errand *errand = arg;
    if (goes_well(errand, answer)) reply_renewed(errand, answer);
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
    *ret = (struct lock_ref){.kind = LOCK_KIND_LOCK};
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
    locks_renew(service_of(request)->locks, &ref, ttl_ms, on_renewed, errand);
}

void locks_delete_one(struct request *request) {
    struct lock_ref ref;
    char holder[LOCK_HOLDER_SIZE];
    if (request_query(request, "force") != NULL) {
        lock_force(request);
        return;
    }
    struct lock_errand *errand = read_ref(request, &ref, holder);
    if (errand == NULL) return;
    request_park(request, on_gone, errand);
    locks_release(service_of(request)->locks, &ref, on_released, errand);
}

/* -- GET */

static void on_status(void *arg, const struct lock_status *status) {
    struct lock_errand *errand = arg;
    if (errand->request != NULL && status == NULL) {
        request_problem(errand->request, ERROR_LOCK_STORE_DOWN, "nobody can say who holds what", NULL);
    } else if (errand->request != NULL) {
        struct reply reply = reply_new(STATUS_OK);
        reply.body = text_new(0);
        lock_write_status(&reply.body, status);
        request_reply(errand->request, reply);
    }
    free(errand);
}

void locks_get_one(struct request *request) {
    const char *name = lock_read_name(request, NULL);
    if (name == NULL) return;
    struct lock_errand *errand = errand_new(request, "");
    request_park(request, on_gone, errand);
    locks_status(service_of(request)->locks, name, on_status, errand);
}
