/* Names with readers of ours are looked after in turn, by whichever instance comes first: the index in Redis says which
   are due (redis/scripts/rw_rearm.lua). */
#include "locks/internal.h"

#include "base/log.h"

static void on_rearmed(void *arg, const struct redis_value *value, bool sent) {
    struct locks *locks = arg;
    locks->calls--;
    locks->rearming = false;
    if (value != NULL && redis_type_of(value) != REDIS_ARRAY)
        LOG(LOG_ERROR, "lock.rearm_failed", LOGS("answer", redis_str(value, NULL)));
    if (locks->rearm_timer == NULL || redis_type_of(value) != REDIS_ARRAY) return;
    loop_timer_start(locks->rearm_timer, redis_int(redis_at(value, 1)) == REARM_NAMES ? 1 : REARM_MS, REARM_MS);
}

static void on_rearm_time(void *arg) {
    struct locks *locks = arg;
    if (locks->rearming || locks->draining) return;
    AUTO_CALL call = call_new(SCRIPT_RW_REARM);
    call_add_i64(&call, REARM_NAMES);
    locks->rearming = true;
    locks->calls++;
    call_send(&call, locks->redis, on_rearmed, locks);
}

void rearm_start(struct locks *locks) {
    if (locks->rearm_timer == NULL) locks->rearm_timer = loop_timer_new(locks->loop, on_rearm_time, locks);
    loop_timer_start(locks->rearm_timer, REARM_MS, REARM_MS);
}

void rearm_stop(struct locks *locks) { locks->rearm_timer = loop_timer_free(locks->rearm_timer); }
