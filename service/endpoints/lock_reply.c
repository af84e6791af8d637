#include "endpoints/lock_reply.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_WHEN_FULL_S 1

/* -- reading */

bool lock_name_admit(struct request *request, const char *pointer, const char *name) {
    const struct credential *credential = request_credential(request);
    const char *fault = lock_name_fault(name);
    if (fault != NULL) {
        reply_invalid_field(request, pointer, fault);
        return false;
    }
    if (!credential_may_name(credential, name)) {
        request_problem(request, ERROR_FORBIDDEN, "the credential's prefixes do not cover this name", NULL);
        return false;
    }
    if (lock_name_is_stock(name) && !credential_may(credential, SCOPE_INVENTORY)) {
        request_problem(request, ERROR_FORBIDDEN, "names under inventory-lock: need the scope inventory", NULL);
        return false;
    }
    return true;
}

const char *lock_read_name(struct request *request, const char *const *allowed) {
    const char *name = request_param(request, 0);
    return read_query(request, allowed, false) && lock_name_admit(request, "/name", name) ? name : NULL;
}

const char *lock_read_token(struct request *request) {
    const char *token = request_header(request, "Lock-Token");
    if (token != NULL && request_header_count(request, "Lock-Token") == 1 && lock_token_is_good(token)) return token;
    reply_invalid_field(request, "Lock-Token", "must be sent once: the token that holds the lock");
    return NULL;
}

bool lock_read_fence(struct request *request, int64_t *ret) {
    const char *text = request_query(request, "fence");
    *ret = 0;
    if (text == NULL || (text_parse_i64(text, strlen(text), ret) && *ret >= 1 && *ret <= SAFE_INTEGER_MAX)) return true;
    reply_invalid_field(request, "?fence", "must be an integer from 1 to 9007199254740991");
    return false;
}

/* -- writing */

struct lock_holder_view lock_holder_view_of(const struct lock_holder *holder) {
    return (struct lock_holder_view){.owner = holder->ours ? holder->owner : NULL,
                                     .metadata = text_str(&holder->metadata),
                                     .fence = holder->fence,
                                     .held_for_ms = holder->held_for_ms,
                                     .expires_in_ms = holder->expires_in_ms};
}

void lock_write_status(struct text *out, const struct lock_status *status, bool is_item) {
    struct lock_holder_view *holders = mem_array(status->holder_count + 1, sizeof holders[0]);
    for (size_t i = 0; i < status->holder_count; i++) holders[i] = lock_holder_view_of(&status->holders[i]);
    const struct lock_status_view view = {.name = status->name,
                                          .kind = status->kind,
                                          .store = is_item ? lock_safety_name(status->store) : NULL,
                                          .held = status->held,
                                          .mode = status->mode,
                                          .holders = holders,
                                          .holder_count = status->holder_count,
                                          .fence = status->fence,
                                          .waiters = status->waiters};
    document_lock_status(out, &view);
    free(holders);
}

void lock_write_away(struct text *out, const char *away) {
    if (away != NULL) text_addf(out, ",\"degraded\":[\"%s\"]", away);
}

static struct semaphore_holder_view *permit_views(const struct semaphore_status *status) {
    struct semaphore_holder_view *views = mem_array(status->holder_count + 1, sizeof views[0]);
    for (size_t i = 0; i < status->holder_count; i++) {
        views[i].lock = lock_holder_view_of(&status->holders[i].lock);
        views[i].permits = status->holders[i].permits;
    }
    return views;
}

void semaphore_write_status(struct text *out, const struct semaphore_status *status, bool is_item) {
    AUTO_FREE struct semaphore_holder_view *holders = permit_views(status);
    const struct semaphore_status_view view = {.name = status->name,
                                               .kind = status->kind,
                                               .store = is_item ? lock_safety_name(LOCK_SAFETY_REDIS) : NULL,
                                               .exists = status->exists,
                                               .limit = status->limit,
                                               .available = status->available,
                                               .holders = holders,
                                               .holder_count = status->holder_count,
                                               .fence = status->fence,
                                               .waiters = status->waiters};
    document_semaphore_status(out, &view);
}

static void write_held(struct text *extras, const struct lock_answer *answer, bool of_set) {
    struct lock_holder_view holder = lock_holder_view_of(answer->holder);
    const struct lock_held_view view = {.name = of_set ? answer->name : NULL,
                                        .holder = answer->holder->held ? &holder : NULL,
                                        .waiters = answer->waiters,
                                        .retry_after_ms = answer->retry_ms};
    members_lock_held(extras, &view);
}

/* Names that the credential's prefixes do not cover are not told, nor who holds them. */
static void write_cycle(struct text *extras, const struct credential *credential, const struct lock_answer *answer) {
    struct lock_link_view *links = mem_array(answer->cycle_count + 1, sizeof links[0]);
    for (size_t i = 0; i < answer->cycle_count; i++) {
        const struct lock_link *link = &answer->cycle[i];
        bool may_know = credential_may_name(credential, link->name);
        bool may_know_next = credential_may_name(credential, link->waits_for);
        links[i] = (struct lock_link_view){.name = may_know ? link->name : NULL,
                                           .owner = may_know ? link->owner : NULL,
                                           .fence = may_know ? link->fence : 0,
                                           .waits_for = may_know_next ? link->waits_for : NULL,
                                           .waited_ms = link->waited_ms};
    }
    members_lock_cycle(extras, links, answer->cycle_count);
    free(links);
}

/* A semaphore of another size says of which. */
static const char *detail_of(const struct lock_answer *answer, char *out, size_t size) {
    if (answer->error == ERROR_NOT_FOUND) return "nobody has said how many permits this semaphore has: give a limit";
    if (answer->error != ERROR_LOCK_KIND || answer->limit == 0) return answer->detail;
    (void)text_format(out, size, "the semaphore has %lld permits", (long long)answer->limit);
    return out;
}

void lock_reply_problem(struct request *request, const struct lock_answer *answer, bool of_set) {
    char detail[80];
    AUTO_TEXT extras = text_new(0);
    if (answer->error == ERROR_LOCK_HELD) write_held(&extras, answer, of_set);
    if (answer->error == ERROR_LEASE_LOST) members_lease_lost(&extras, answer->reason, answer->other_since_ms);
    if (answer->error == ERROR_LOCK_KIND) members_lock_kind(&extras, answer->kind);
    if (answer->error == ERROR_LOCK_DEADLOCK) write_cycle(&extras, request_credential(request), answer);
    bool is_full = answer->error == ERROR_TOO_MANY_WAITERS || answer->error == ERROR_RATE_LIMITED;
    int retry_after_s = is_full ? RETRY_WHEN_FULL_S : answer->retry_after_s;
    request_problem_after(request, answer->error, detail_of(answer, detail, sizeof detail),
                          extras.len > 0 ? text_str(&extras) : NULL, retry_after_s);
}
