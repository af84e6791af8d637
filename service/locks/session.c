/* Everything a token holds. In Redis its names are read in slices, and each slice is renewed or released before the
   next is read; beside that the database does the same. Names that come in meanwhile may be missed or not; the answer
   lists those that were done. */
#include "locks/database.h"
#include "locks/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct walk {
    struct locks *locks;
    bool renews;
    enum lock_kind kind; /* locks of all kinds first, then semaphores */
    char holder[LOCK_HOLDER_SIZE];
    lock_each_fn each;
    lock_done_fn done;
    void *arg;
    int64_t ttl_ms, begun_ms;
    unsigned stores; /* that are still at it */
    bool redis_away, database_away;
    size_t told;  /* names that were done */
    size_t count; /* names of the slice */
    char names[SESSION_SLICE][LOCK_NAME_MAX + 1];
};

static void tell_each(struct walk *walk, const struct lock_each *each) {
    if (each->done) walk->told++;
    walk->each(walk->arg, each);
}

static void finish_store(struct walk *walk) {
    if (--walk->stores > 0) return;
    const char *away = walk->redis_away ? "redis" : walk->database_away ? "database" : NULL;
    struct lock_answer answer = answer_new(away != NULL && walk->told == 0 ? ERROR_LOCK_STORE_DOWN : ERROR_NONE);
    answer.outcome = LOCK_DONE;
    answer.away = away;
    answer.ttl_ms = walk->ttl_ms;
    answer.safe_for_ms = lock_safe_for_ms(walk->ttl_ms, clock_mono_ms() - walk->begun_ms);
    walk->done(walk->arg, &answer);
    free(walk);
}

/* False: the walk has ended with it. */
static bool take_reply(struct walk *walk, const struct redis_value *value) {
    walk->locks->calls--;
    if (redis_type_of(value) == REDIS_ARRAY) return true;
    if (value != NULL) LOG(LOG_ERROR, "lock.session_failed", LOGS("answer", redis_str(value, NULL)));
    walk->redis_away = true;
    finish_store(walk);
    return false;
}

static void read_slice(struct walk *walk, const char *after);

static void tell(struct walk *walk, const char *name, const struct redis_value *result) {
    const char *what = redis_str(redis_at(result, 0), NULL);
    struct lock_each each = {.name = name, .done = strcmp(what, "lost") != 0};
    if (each.done)
        each.fence = redis_int(redis_at(result, 1));
    else
        each.reason = loss_reason(redis_str(redis_at(result, 1), NULL));
    if (!walk->renews) watch_stir(walk->locks, name);
    tell_each(walk, &each);
}

static void go_on(struct walk *walk) {
    if (walk->kind == LOCK_KIND_SEMAPHORE) {
        finish_store(walk);
        return;
    }
    walk->kind = LOCK_KIND_SEMAPHORE;
    read_slice(walk, "");
}

static void on_slice_done(void *arg, const struct redis_value *value, bool sent) {
    struct walk *walk = arg;
    if (!take_reply(walk, value)) return;
    for (size_t i = 0; i < walk->count; i++) tell(walk, walk->names[i], redis_at(value, i + 1));
    if (walk->count < SESSION_SLICE)
        go_on(walk);
    else
        read_slice(walk, walk->names[walk->count - 1]);
}

static void send_slice(struct walk *walk) {
    AUTO_CALL call = call_new(walk->renews ? kind_ways(walk->kind)->renew : kind_ways(walk->kind)->release);
    for (size_t i = 0; i < walk->count; i++) call_add_key(&call, walk->names[i]);
    call_add_str(&call, walk->holder);
    if (walk->renews) call_add_i64(&call, walk->ttl_ms);
    call_add_str(&call, "");                    /* whichever fence */
    if (!walk->renews) call_add_str(&call, ""); /* whichever grant */
    if (!walk->renews) call_add_i64(&call, 0);
    walk->locks->calls++;
    call_send(&call, walk->locks->redis, on_slice_done, walk);
}

static void on_names(void *arg, const struct redis_value *value, bool sent) {
    struct walk *walk = arg;
    if (!take_reply(walk, value)) return;
    walk->count = 0;
    for (size_t i = 0; i < redis_len(value) && i < SESSION_SLICE; i++)
        (void)text_format(walk->names[walk->count++], sizeof walk->names[0], "%s", redis_str(redis_at(value, i), NULL));
    if (walk->count == 0)
        go_on(walk);
    else
        send_slice(walk);
}

static void read_slice(struct walk *walk, const char *after) {
    AUTO_CALL call = call_new(SCRIPT_LOCK_NAMES);
    call_add_str(&call, walk->holder);
    call_add_str(&call, after);
    call_add_i64(&call, SESSION_SLICE);
    call_add_str(&call, walk->kind == LOCK_KIND_SEMAPHORE ? "permits" : "");
    walk->locks->calls++;
    call_send(&call, walk->locks->redis, on_names, walk);
}

static void on_database(void *arg, const struct lock_each *each) {
    struct walk *walk = arg;
    if (each != NULL && each->name != NULL) {
        tell_each(walk, each);
        return;
    }
    walk->database_away = each == NULL;
    finish_store(walk);
}

static void begin(struct locks *locks, const struct lock_session *session, bool renews, int64_t ttl_ms) {
    struct walk *walk = mem_new(sizeof *walk);
    walk->locks = locks;
    walk->renews = renews;
    walk->kind = LOCK_KIND_LOCK;
    walk->ttl_ms = ttl_ms;
    walk->begun_ms = clock_mono_ms();
    walk->each = session->each;
    walk->done = session->done;
    walk->arg = session->arg;
    (void)text_format(walk->holder, sizeof walk->holder, "%s", session->holder);
    const struct database_session in_database = {walk->holder, ttl_ms, on_database, walk};
    bool asks_redis = redis_is_configured(locks->redis);
    walk->stores = asks_redis ? 2 : 1;
    if (asks_redis) read_slice(walk, "");
    database_session(locks, &in_database);
}

void locks_renew_all(struct locks *locks, const struct lock_session *session, int64_t ttl_ms) {
    begin(locks, session, true, ttl_ms);
}

void locks_release_all(struct locks *locks, const struct lock_session *session) { begin(locks, session, false, 0); }
