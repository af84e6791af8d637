/* A call on a name for its request: what PATCH and DELETE of locks and of semaphores share. Loop thread. */
#pragma once

#include "endpoints/lock_reply.h"

struct lock_errand {
    struct request *request; /* NULL: the client hung up; the call's end frees the record */
    char token[LOCK_TOKEN_MAX + 1];
};
/* Parks the request; token may be "". The answer's callback frees it with free(). */
struct lock_errand *lock_errand_start(struct request *request, const char *token);
/* False: the request has its answer, or nobody waits for one. */
bool lock_errand_goes_well(const struct lock_errand *errand, const struct lock_answer *answer);
/* Name and ?fence= of the request, admitted and read strictly, and its Lock-Token: what the token holds is renewed or
 * released, as a lock or as permits. Everything is answered. */
void lock_errand_renew(struct request *request, enum lock_kind kind, int64_t ttl_ms);
void lock_errand_release(struct request *request, enum lock_kind kind);
