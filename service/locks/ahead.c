/* Names of the database store whose fences are ahead of those Redis gives: once a day has passed such a name may be
   taken in Redis, and its fences must not go back then. So long before that a new epoch is drawn, above them all.

        every AHEAD_MS, and when Redis has come: the marker that stands ──▶ rows that are ahead of it? ──▶ fence_renew

   Whatever went wrong before, also at another instance, is seen by the next look: all it needs stands in the two
   stores. */
#include "locks/internal.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "domain/lock.h"
#include "store/leases.h"

#include <stdlib.h>

#define AHEAD_MS 3600000

/* One look. */
struct looking {
    struct db_job job; /* first */
    struct locks *locks;
    char marker[FENCE_MARKER_SIZE];
    int64_t epoch, ahead; /* that stands; that the highest of the rows belongs to, 0 = none */
    struct result result;
};

static void finish(struct looking *looking) {
    looking->locks->calls--;
    looking->locks->looking_ahead = false;
    free(looking);
}

static void run_look(struct db_job *job, struct db *db) {
    struct looking *looking = CONTAINER_OF(job, struct looking, job);
    int64_t highest = 0;
    looking->result = leases_ahead(db, lock_fence(looking->epoch, 0), &highest);
    looking->ahead = highest / LOCK_FENCE_SPAN;
}

static void on_look(struct db_job *job) {
    struct looking *looking = CONTAINER_OF(job, struct looking, job);
    struct locks *locks = looking->locks;
    bool answered = !failed(job->connection) && !failed(looking->result);
    if (answered && looking->ahead > 0 && locks->redis != NULL)
        fence_renew(locks->fence, looking->marker, looking->ahead);
    finish(looking);
}

/* Without a good marker the next grant draws an epoch anyway. */
static void on_marker(void *arg, const struct redis_value *value, bool sent) {
    struct looking *looking = arg;
    const char *run_id, *marker = redis_str(redis_at(value, 1), NULL);
    bool stands = redis_type_of(value) == REDIS_ARRAY && redis_int(redis_at(value, 0)) == 1;
    if (value != NULL && redis_type_of(value) != REDIS_ARRAY)
        LOG(LOG_ERROR, "fence.look_failed", LOGS("answer", redis_str(value, NULL)));
    (void)text_format(looking->marker, sizeof looking->marker, "%s", marker);
    stands = stands && lock_marker_parse(looking->marker, &looking->epoch, &run_id);
    if (!stands || !pool_submit_read(looking->locks->pool, &looking->job)) finish(looking);
}

static void on_time(void *arg) {
    struct locks *locks = arg;
    if (locks->looking_ahead || locks->draining || fault_on(FAULT_NO_LOOK_AHEAD)) return;
    struct looking *looking = mem_new(sizeof *looking);
    *looking = (struct looking){.job = {.run = run_look, .done = on_look}, .locks = locks};
    locks->looking_ahead = true;
    locks->calls++;
    AUTO_CALL call = call_new(SCRIPT_LOCK_FENCE);
    call_add_i64(&call, 0);
    call_add_str(&call, redis_run_id(locks->redis));
    call_add_str(&call, "");
    call_send(&call, locks->redis, on_marker, looking);
}

void ahead_start(struct locks *locks) {
    if (locks->ahead_timer == NULL) locks->ahead_timer = loop_timer_new(locks->loop, on_time, locks);
    loop_timer_start(locks->ahead_timer, 1, AHEAD_MS);
}

void ahead_stop(struct locks *locks) { locks->ahead_timer = loop_timer_free(locks->ahead_timer); }
