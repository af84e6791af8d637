/* The words of one script call, gathered in one text: AUTO_CALL call = call_new(SCRIPT_…); call_add_key(…);
   call_add_str(…); call_send(…). Keys come first. Loop thread. */
#pragma once

#include "redis/redis.h"

struct call {
    struct redis_words words;
};
#define AUTO_CALL __attribute__((cleanup(call_done))) struct call

struct call call_new(enum redis_script script);
void call_done(struct call *call);
void call_add_key(struct call *call, const char *key);
void call_add_str(struct call *call, const char *arg);
void call_add_i64(struct call *call, int64_t arg);
/* See redis_eval. The call is empty after it. */
void call_send(struct call *call, struct redis *redis, redis_fn fn, void *arg);
