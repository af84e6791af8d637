/* /v1/locks/{name} for those who hold it, and for those who only look. PUT: lock_acquire.c. */
#include "codec/bodies_lock.h"
#include "endpoints/lock_errand.h"
#include "endpoints/routes.h"

#include <stdlib.h>

#define STATUS_OK 200

void locks_patch_one(struct request *request) {
    struct field_errors errors = {0};
    size_t len;
    int64_t ttl_ms;
    const char *body = request_body(request, &len);
    if (failed(body_lock_renewal(body, len, &errors, &ttl_ms)))
        reply_invalid(request, &errors);
    else
        lock_errand_renew(request, LOCK_KIND_LOCK, ttl_ms);
}

void locks_delete_one(struct request *request) {
    if (request_query(request, "force") != NULL)
        lock_force(request, LOCK_KIND_LOCK);
    else
        lock_errand_release(request, LOCK_KIND_LOCK);
}

static void on_status(void *arg, const struct lock_status *status) {
    struct lock_errand *errand = arg;
    if (errand->request != NULL && status == NULL) {
        request_problem(errand->request, ERROR_LOCK_STORE_DOWN, "nobody can say who holds what", NULL);
    } else if (errand->request != NULL) {
        struct reply reply = reply_new(STATUS_OK);
        reply.body = text_new(0);
        lock_write_status(&reply.body, status, false);
        request_reply(errand->request, reply);
    }
    free(errand);
}

void locks_get_one(struct request *request) {
    const char *name = lock_read_name(request, NULL);
    if (name != NULL) locks_status(service_of(request)->locks, name, on_status, lock_errand_start(request, ""));
}
