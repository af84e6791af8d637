#include "endpoints/lock_errand.h"

#include "base/memory.h"

#include <stdlib.h>

#define STATUS_OK 200
#define STATUS_NO_CONTENT 204

static void on_gone(void *arg) {
    struct lock_errand *errand = arg;
    errand->request = NULL;
}

struct lock_errand *lock_errand_start(struct request *request, const char *token) {
    struct lock_errand *errand = mem_new(sizeof *errand);
    errand->request = request;
    (void)text_format(errand->token, sizeof errand->token, "%s", token);
    request_park(request, on_gone, errand);
    return errand;
}

bool lock_errand_goes_well(const struct lock_errand *errand, const struct lock_answer *answer) {
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
                                         .safe_for_ms = answer->safe_for_ms,
                                         .permits = answer->permits};
    reply.body = text_new(0);
    document_lock_grant(&reply.body, &view);
    request_reply(errand->request, reply);
}

static void on_renewed(void *arg, const struct lock_answer *answer) {
    struct lock_errand *errand = arg;
    if (lock_errand_goes_well(errand, answer)) reply_renewed(errand, answer);
    free(errand);
}

static void on_released(void *arg, const struct lock_answer *answer) {
    struct lock_errand *errand = arg;
    if (lock_errand_goes_well(errand, answer)) request_reply(errand->request, reply_new(STATUS_NO_CONTENT));
    free(errand);
}

/* NULL: answered. holder has the room the ref points to. */
static struct lock_errand *start(struct request *request, struct lock_ref *ref, char holder[LOCK_HOLDER_SIZE]) {
    static const char *const allowed[] = {"fence", NULL};
    ref->name = lock_read_name(request, allowed);
    if (ref->name == NULL) return NULL;
    const char *token = lock_read_token(request);
    if (token == NULL || !lock_read_fence(request, &ref->fence)) return NULL;
    lock_holder_of(request_credential(request)->name, token, holder);
    ref->holder = holder;
    return lock_errand_start(request, token);
}

void lock_errand_renew(struct request *request, enum lock_kind kind, int64_t ttl_ms) {
    struct lock_ref ref = {.kind = kind};
    char holder[LOCK_HOLDER_SIZE];
    struct lock_errand *errand = start(request, &ref, holder);
    if (errand != NULL) locks_renew(service_of(request)->locks, &ref, ttl_ms, on_renewed, errand);
}

void lock_errand_release(struct request *request, enum lock_kind kind) {
    struct lock_ref ref = {.kind = kind};
    char holder[LOCK_HOLDER_SIZE];
    struct lock_errand *errand = start(request, &ref, holder);
    if (errand != NULL) locks_release(service_of(request)->locks, &ref, on_released, errand);
}
