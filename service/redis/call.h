/* The words of one script call, gathered and freed together: AUTO_CALL call = call_new(SCRIPT_…); call_add_key(…);
   call_add_str(…); call_send(…). Loop thread. */
#pragma once

#include "redis/redis.h"

#define CALL_ARGS_MAX 17 /* lock_release with a next holder */

struct call {
    enum redis_script script;
    struct text *keys;
    size_t key_count, key_room;
    struct text args[CALL_ARGS_MAX];
    size_t arg_count;
};
#define AUTO_CALL __attribute__((cleanup(call_done))) struct call

struct call call_new(enum redis_script script);
void call_done(struct call *call);
void call_add_key(struct call *call, const char *key);
void call_add_str(struct call *call, const char *arg);
void call_add_i64(struct call *call, int64_t arg);
/* See redis_eval. */
void call_send(const struct call *call, struct redis *redis, redis_fn fn, void *arg);
