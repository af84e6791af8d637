/* DELETE /v1/locks/{name}?force=true&reason=…, and of /v1/semaphores/{name}: written down, taken, written down again.

   The audit row is there before the lock is touched: a force that nobody can be asked about does not happen. When the
   second half of the row cannot be written the client is told, and may ask again: forcing twice does no harm. */
#include "base/memory.h"
#include "endpoints/lock_reply.h"
#include "endpoints/routes.h"
#include "store/fences.h"

#include <stdlib.h>
#include <string.h>

#define STATUS_NO_CONTENT 204

struct forcing {
    struct db_job job;       /* first; one after the other */
    struct request *request; /* NULL: the client hung up; it is done all the same */
    struct locks *locks;
    enum lock_kind kind;
    struct pool *pool;
    struct lock_audit row;
    struct result result; /* of the job */
};

static void finish(struct forcing *forcing, enum error error, const char *detail) {
    if (forcing->request != NULL && error == ERROR_NONE)
        request_reply(forcing->request, reply_new(STATUS_NO_CONTENT));
    else if (forcing->request != NULL)
        request_problem(forcing->request, error, detail, NULL);
    free(forcing);
}

static struct result outcome_of(const struct forcing *forcing) {
    return failed(forcing->job.connection) ? forcing->job.connection : forcing->result;
}

static bool submit(struct forcing *forcing, void (*run)(struct db_job *, struct db *), void (*done)(struct db_job *)) {
    forcing->job = (struct db_job){.run = run, .done = done};
    return pool_submit_read(forcing->pool, &forcing->job);
}

/* -- the second half of the row */

static void write_end(struct db_job *job, struct db *db) {
    struct forcing *forcing = CONTAINER_OF(job, struct forcing, job);
    forcing->result = lock_audit_end(db, &forcing->row);
}

static void on_end_written(struct db_job *job) {
    struct forcing *forcing = CONTAINER_OF(job, struct forcing, job);
    struct result result = outcome_of(forcing);
    finish(forcing, (enum error)result.code, "the lock was taken, but the audit row and the fence mark are incomplete");
}

/* -- the lock */

static void refuse_kind(struct forcing *forcing, const char *kind) {
    AUTO_TEXT extras = text_new(0);
    members_lock_kind(&extras, kind);
    if (forcing->request != NULL) request_problem(forcing->request, ERROR_LOCK_KIND, NULL, text_str(&extras));
    free(forcing);
}

static void on_forced(void *arg, const struct lock_forced *forced) {
    struct forcing *forcing = arg;
    struct lock_audit *row = &forcing->row;
    if (forced == NULL) {
        finish(forcing, ERROR_LOCK_STORE_DOWN, NULL);
        return;
    }
    if (forced->kind != NULL) {
        refuse_kind(forcing, forced->kind);
        return;
    }
    row->fence = forced->fence;
    row->was_held = forced->holder != NULL;
    if (forced->holder != NULL) {
        (void)text_format(row->holder_owner, sizeof row->holder_owner, "%s", forced->holder->owner);
        row->holder_fence = forced->holder->fence;
    }
    if (!submit(forcing, write_end, on_end_written))
        finish(forcing, ERROR_UNAVAILABLE, "the lock was taken, but the audit row and the fence mark are incomplete");
}

/* -- the first half of the row */

static void write_begin(struct db_job *job, struct db *db) {
    struct forcing *forcing = CONTAINER_OF(job, struct forcing, job);
    forcing->result = lock_audit_begin(db, &forcing->row);
}

static void on_begin_written(struct db_job *job) {
    struct forcing *forcing = CONTAINER_OF(job, struct forcing, job);
    struct result result = outcome_of(forcing);
    if (failed(result))
        finish(forcing, (enum error)result.code, NULL);
    else
        locks_force(forcing->locks, forcing->kind, forcing->row.name, on_forced, forcing);
}

static void on_gone(void *arg) {
    struct forcing *forcing = arg;
    forcing->request = NULL;
}

/* -- the request */

static const char *read_reason(struct request *request) {
    const char *reason = request_query(request, "reason");
    size_t len = reason != NULL ? strlen(reason) : 0;
    if (len >= 1 && len <= REASON_MAX && text_is_printable_utf8(reason, len)) return reason;
    reply_invalid_field(request, "?reason", "must say why, in 1 to 200 bytes");
    return NULL;
}

static bool may_force(struct request *request) {
    if (strcmp(request_query(request, "force"), "true") != 0) {
        reply_invalid_field(request, "?force", "must be true");
        return false;
    }
    if (credential_may(request_credential(request), SCOPE_ADMIN)) return true;
    request_problem(request, ERROR_FORBIDDEN, "forcing needs the scope admin", NULL);
    return false;
}

void lock_force(struct request *request, enum lock_kind kind) {
    static const char *const allowed[] = {"force", "reason", NULL};
    const char *name = lock_read_name(request, allowed);
    if (name == NULL || !may_force(request)) return;
    const char *reason = read_reason(request);
    if (reason == NULL) return;
    struct forcing *forcing = mem_new(sizeof *forcing);
    forcing->request = request;
    forcing->kind = kind;
    forcing->locks = service_of(request)->locks;
    forcing->pool = service_of(request)->pool;
    struct lock_audit *row = &forcing->row;
    (void)text_format(row->name, sizeof row->name, "%s", name);
    (void)text_format(row->reason, sizeof row->reason, "%s", reason);
    (void)text_format(row->credential, sizeof row->credential, "%s", request_credential(request)->name);
    (void)text_format(row->request_id, sizeof row->request_id, "%s", request_id(request));
    if (!submit(forcing, write_begin, on_begin_written)) {
        finish(forcing, ERROR_UNAVAILABLE, "too many reads are waiting");
        return;
    }
    request_park(request, on_gone, forcing);
}
