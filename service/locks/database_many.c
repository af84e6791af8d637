/* Leases in the database, many at once: all that a token holds, and what is held under a prefix. */
#include "locks/database.h"

#include "base/memory.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

/* -- of one holder */

struct each {
    char *name;
    struct lease_changed changed;
};

struct session {
    struct db_job job; /* first */
    struct locks *locks;
    char holder[LOCK_HOLDER_SIZE];
    int64_t ttl_ms;
    struct each *each; /* what the job has found out, also before it failed */
    size_t count, room;
    struct result result;
    struct loop_timer *timer; /* NULL: it has been told that the database does not answer */
    database_session_fn fn;
    void *arg;
};

static void note_each(void *arg, const char *name, const struct lease_changed *changed) {
    struct session *session = arg;
    if (session->count == session->room) {
        session->room = session->room == 0 ? SESSION_SLICE : 2 * session->room;
        session->each = mem_grow(session->each, session->room, sizeof session->each[0]);
    }
    session->each[session->count++] = (struct each){mem_copy(name, strlen(name)), *changed};
}

static void run_session(struct db_job *job, struct db *db) {
    struct session *session = CONTAINER_OF(job, struct session, job);
    session->result = leases_change_all(db, session->holder, session->ttl_ms, note_each, session);
}

static void session_free(struct session *session) {
    for (size_t i = 0; i < session->count; i++) free(session->each[i].name);
    free(session->each);
    loop_timer_free(session->timer);
    free(session);
}

static void on_session_time(void *arg) {
    struct session *session = arg;
    session->timer = loop_timer_free(session->timer);
    session->fn(session->arg, NULL);
}

static void tell_each(const struct session *session, const struct each *one) {
    struct lock_each each = {.name = one->name, .done = one->changed.done, .fence = one->changed.fence};
    if (!each.done) each.reason = loss_reason(one->changed.reason);
    session->fn(session->arg, &each);
}

static void settle_each(const struct session *session, const struct each *one) {
    if (!one->changed.done || one->changed.fence == 0) return;
    if (session->ttl_ms > 0) {
        database_keep_bound(session->locks, one->name, session->ttl_ms);
        return;
    }
    metric_observe(METRIC_LEASE_HOLD, 0, one->changed.held_ms * 1000);
    database_wake(session->locks, one->name);
}

static void on_session(struct db_job *job) {
    struct session *session = CONTAINER_OF(job, struct session, job);
    struct locks *locks = session->locks;
    const struct lock_each last = {0};
    bool answered = !failed(job->connection) && !failed(session->result);
    bool is_awaited = session->timer != NULL;
    for (size_t i = 0; is_awaited && i < session->count; i++) tell_each(session, &session->each[i]);
    if (is_awaited) session->fn(session->arg, answered ? &last : NULL);
    for (size_t i = 0; i < session->count; i++) settle_each(session, &session->each[i]);
    locks->calls--;
    session_free(session);
}

void database_session(struct locks *locks, const struct database_session *asked) {
    struct session *session = mem_new(sizeof *session);
    *session = (struct session){.job = {.run = run_session, .done = on_session},
                                .locks = locks,
                                .ttl_ms = asked->ttl_ms,
                                .fn = asked->fn,
                                .arg = asked->arg};
    (void)text_format(session->holder, sizeof session->holder, "%s", asked->holder);
    if (!pool_submit_read(locks->pool, &session->job)) {
        session_free(session);
        asked->fn(asked->arg, NULL);
        return;
    }
    locks->calls++;
    session->timer = loop_timer_new(locks->loop, on_session_time, session);
    loop_timer_start(session->timer, DATABASE_SESSION_MS, 0);
}

/* -- under a prefix */

struct listing {
    struct db_job job; /* first */
    struct locks *locks;
    char prefix[LOCK_NAME_MAX + 1], after[LOCK_NAME_MAX + 1];
    struct database_leases leases;
    size_t limit;
    struct result result;
    void (*fn)(void *arg, struct database_leases *leases);
    void *arg;
};

static void note_lease(void *arg, const char *name, const struct lease *lease) {
    struct listing *listing = arg;
    struct database_lease *one = &listing->leases.rows[listing->leases.count++];
    (void)text_format(one->name, sizeof one->name, "%s", name);
    one->lease = *lease;
}

static void run_listing(struct db_job *job, struct db *db) {
    struct listing *listing = CONTAINER_OF(job, struct listing, job);
    const struct lease_range range = {listing->prefix, listing->after, listing->limit};
    listing->leases.rows = mem_array(listing->limit, sizeof listing->leases.rows[0]);
    listing->result = leases_list(db, &range, note_lease, listing);
}

static void on_listing(struct db_job *job) {
    struct listing *listing = CONTAINER_OF(job, struct listing, job);
    bool answered = !failed(job->connection) && !failed(listing->result);
    listing->leases.is_full = listing->leases.count == listing->limit;
    listing->locks->calls--;
    listing->fn(listing->arg, answered ? &listing->leases : NULL);
    free(listing->leases.rows);
    free(listing);
}

void database_list(struct locks *locks, const struct lock_list *list,
                   void (*fn)(void *arg, struct database_leases *leases), void *arg) {
    struct listing *listing = mem_new(sizeof *listing);
    *listing = (struct listing){
        .job = {.run = run_listing, .done = on_listing}, .locks = locks, .limit = list->limit, .fn = fn, .arg = arg};
    (void)text_format(listing->prefix, sizeof listing->prefix, "%s", list->prefix);
    (void)text_format(listing->after, sizeof listing->after, "%s", list->after);
    locks->calls++;
    if (pool_submit_read(locks->pool, &listing->job)) return;
    locks->calls--;
    free(listing);
    fn(arg, NULL);
}
