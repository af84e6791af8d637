#include "redis/call.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

struct call call_new(enum redis_script script) {
    return (struct call){.script = script};
}

void call_done(struct call *call) {
    for (size_t i = 0; i < call->key_count; i++) text_done(&call->keys[i]);
    for (size_t i = 0; i < call->arg_count; i++) text_done(&call->args[i]);
    free(call->keys);
    *call = (struct call){.script = call->script};
}

void call_add_key(struct call *call, const char *key) {
    if (call->key_count == call->key_room) {
        call->key_room = call->key_room ? call->key_room * 2 : 1;
        call->keys = mem_grow(call->keys, call->key_room, sizeof call->keys[0]);
    }
    call->keys[call->key_count] = text_new(0);
    text_add_str(&call->keys[call->key_count++], key);
}

static struct text *next_arg(struct call *call) {
    assert(call->arg_count < CALL_ARGS_MAX);
    struct text *arg = &call->args[call->arg_count++];
    *arg = text_new(0);
    return arg;
}

void call_add_str(struct call *call, const char *arg) { text_add_str(next_arg(call), arg); }

void call_add_i64(struct call *call, int64_t arg) { text_add_i64(next_arg(call), arg); }

void call_send(const struct call *call, struct redis *redis, redis_fn fn, void *arg) {
    redis_eval(redis, call->script, call->keys, call->key_count, call->args, call->arg_count, fn, arg);
}
