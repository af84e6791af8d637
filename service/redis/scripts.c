/* Which source stands behind which number. The sources say themselves what they take and answer. */
#include "redis/scripts.h"

static const char *const texts[SCRIPT_COUNT] = {
    [SCRIPT_TRAIN_ACQUIRE] = script_train_acquire,
    [SCRIPT_TRAIN_RENEW] = script_train_renew,
    [SCRIPT_TRAIN_RELEASE] = script_train_release,
    [SCRIPT_LOCK_ACQUIRE] = script_lock_acquire,
    [SCRIPT_LOCK_RENEW] = script_lock_renew,
    [SCRIPT_LOCK_RELEASE] = script_lock_release,
    [SCRIPT_LOCK_STATUS] = script_lock_status,
    [SCRIPT_LOCK_WATCH] = script_lock_watch,
    [SCRIPT_LOCK_FENCE] = script_lock_fence,
    [SCRIPT_LOCK_NAMES] = script_lock_names,
    [SCRIPT_LOCK_LIST] = script_lock_list,
    [SCRIPT_LOCK_FORCE] = script_lock_force,
    [SCRIPT_LOCK_BIND] = script_lock_bind,
    [SCRIPT_LOCK_WAIT] = script_lock_wait,
    [SCRIPT_RW_ACQUIRE] = script_rw_acquire,
    [SCRIPT_RW_REARM] = script_rw_rearm,
    [SCRIPT_FAIR_ACQUIRE] = script_fair_acquire,
    [SCRIPT_FAIR_BEAT] = script_fair_beat,
    [SCRIPT_FAIR_LEAVE] = script_fair_leave,
    [SCRIPT_SEMAPHORE_ACQUIRE] = script_semaphore_acquire,
    [SCRIPT_SEMAPHORE_RENEW] = script_semaphore_renew,
    [SCRIPT_SEMAPHORE_RELEASE] = script_semaphore_release,
    [SCRIPT_SEMAPHORE_FORCE] = script_semaphore_force,
    [SCRIPT_SEMAPHORE_LIMIT] = script_semaphore_limit,
    [SCRIPT_SEMAPHORE_STATUS] = script_semaphore_status,
};

const char *script_text(enum redis_script script) { return texts[script]; }
