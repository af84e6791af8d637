/* The kinds as a table. All acquire scripts take and answer the same as lock_acquire, all release scripts as
   lock_release: only the head of a queue asks, whatever it asks for. Of a kind that is lined every place asks (fair.c).
 */
#include "locks/internal.h"

static const struct kind_ways ways[LOCK_KIND_ALL] = {
    [LOCK_KIND_LOCK] = {.acquire = SCRIPT_LOCK_ACQUIRE,
                        .renew = SCRIPT_LOCK_RENEW,
                        .release = SCRIPT_LOCK_RELEASE,
                        .channel = "redisson_lock__channel:"},
    [LOCK_KIND_SEMAPHORE] = {.acquire = SCRIPT_SEMAPHORE_ACQUIRE,
                             .renew = SCRIPT_SEMAPHORE_RENEW,
                             .release = SCRIPT_SEMAPHORE_RELEASE,
                             .channel = "redisson_sc:",
                             .shared = true},
    [LOCK_KIND_FAIR] = {.acquire = SCRIPT_FAIR_ACQUIRE,
                        .renew = SCRIPT_LOCK_RENEW,
                        .release = SCRIPT_LOCK_RELEASE,
                        .channel = "redisson_lock__channel:",
                        .lined = true},
    [LOCK_KIND_RW] = {.acquire = SCRIPT_RW_ACQUIRE,
                      .renew = SCRIPT_LOCK_RENEW,
                      .release = SCRIPT_LOCK_RELEASE,
                      .channel = "redisson_rwlock:"},
    [LOCK_KIND_DATABASE] = {.channel = "redisson_lock__channel:", .in_database = true},
};

const struct kind_ways *kind_ways(enum lock_kind kind) { return &ways[kind]; }

void kind_add_args(struct call *call, const struct place *place) {
    if (place->kind == LOCK_KIND_RW) {
        call_add_str(call, lock_mode_name(place->mode));
        call_add_i64(call, place->counted);
        call_add_str(call, place->locks->id);
    }
    if (place->kind != LOCK_KIND_SEMAPHORE) return;
    call_add_i64(call, place->permits);
    call_add_i64(call, place->limit);
}
