/* /v1/semaphores/{name} for those who hold permits, who look, and who say how many there are. PUT: lock_acquire.c. */
#include "codec/bodies_lock.h"
#include "endpoints/lock_errand.h"
#include "endpoints/routes.h"

#include <stdlib.h>

#define STATUS_OK 200

/* -- looked at */

static void reply_status(struct request *request, const struct semaphore_status *status) {
    struct reply reply = reply_new(STATUS_OK);
    reply.body = text_new(0);
    semaphore_write_status(&reply.body, status, false);
    request_reply(request, reply);
}

static void on_status(void *arg, const struct semaphore_status *status) {
    struct lock_errand *errand = arg;
    if (errand->request != NULL && status == NULL)
        request_problem(errand->request, ERROR_LOCK_STORE_DOWN, "nobody can say who holds what", NULL);
    else if (errand->request != NULL)
        reply_status(errand->request, status);
    free(errand);
}

static void look(struct lock_errand *errand) {
    struct request *request = errand->request;
    semaphores_status(service_of(request)->locks, request_param(request, 0), on_status, errand);
}

void semaphores_get_one(struct request *request) {
    if (lock_read_name(request, NULL) == NULL) return;
    look(lock_errand_start(request, ""));
}

/* -- sized */

static void on_limited(void *arg, const struct lock_answer *answer) {
    struct lock_errand *errand = arg;
    if (lock_errand_goes_well(errand, answer))
        look(errand);
    else
        free(errand);
}

static void set_limit(struct request *request, const char *name, int64_t limit) {
    if (!credential_may(request_credential(request), SCOPE_ADMIN)) {
        request_problem(request, ERROR_FORBIDDEN, "the limit of a semaphore is changed with the scope admin", NULL);
        return;
    }
    semaphores_limit(service_of(request)->locks, name, limit, on_limited, lock_errand_start(request, ""));
}

void semaphores_patch_one(struct request *request) {
    static const char *const allowed[] = {"fence", NULL};
    struct field_errors errors = {0};
    size_t len;
    int64_t ttl_ms, limit;
    const char *body = request_body(request, &len);
    const char *name = lock_read_name(request, allowed);
    if (name == NULL) return;
    if (failed(body_semaphore_change(body, len, &errors, &ttl_ms, &limit)))
        reply_invalid(request, &errors);
    else if (limit > 0)
        set_limit(request, name, limit);
    else
        lock_errand_renew(request, LOCK_KIND_SEMAPHORE, ttl_ms);
}

/* -- given back */

void semaphores_delete_one(struct request *request) {
    if (request_query(request, "force") != NULL)
        lock_force(request, LOCK_KIND_SEMAPHORE);
    else
        lock_errand_release(request, LOCK_KIND_SEMAPHORE);
}
