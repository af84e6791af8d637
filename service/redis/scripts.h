/* The Lua sources of redis/scripts/, embedded when the service is built. */
#pragma once

#include "redis/redis.h"

extern const char script_train_acquire[];
extern const char script_train_renew[];
extern const char script_train_release[];

/* NUL-terminated source of a script; static storage. Any thread. */
const char *script_text(enum redis_script script);
