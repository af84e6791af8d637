/* The Lua sources of redis/scripts/, embedded when the service is built. */
#pragma once

#include "redis/redis.h"

extern const char script_train_acquire[];
extern const char script_train_renew[];
extern const char script_train_release[];
extern const char script_lock_acquire[];
extern const char script_lock_renew[];
extern const char script_lock_release[];
extern const char script_lock_status[];
extern const char script_lock_watch[];
extern const char script_lock_fence[];
extern const char script_lock_names[];
extern const char script_lock_list[];
extern const char script_lock_force[];
extern const char script_lock_bind[];
extern const char script_lock_wait[];
extern const char script_rw_acquire[];
extern const char script_rw_rearm[];
extern const char script_fair_acquire[];
extern const char script_fair_beat[];
extern const char script_fair_leave[];
extern const char script_semaphore_acquire[];
extern const char script_semaphore_renew[];
extern const char script_semaphore_release[];
extern const char script_semaphore_limit[];
extern const char script_semaphore_force[];
extern const char script_semaphore_status[];

/* NUL-terminated source of a script; static storage. Any thread. */
const char *script_text(enum redis_script script);
