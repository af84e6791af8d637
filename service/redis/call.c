#include "redis/call.h"

#include "redis/command.h"

#include <assert.h>

struct call call_new(enum redis_script script) {
    return (struct call){.words = {.script = script, .words = text_new(0)}};
}

void call_done(struct call *call) {
    text_done(&call->words.words);
    *call = call_new(call->words.script);
}

void call_add_key(struct call *call, const char *key) {
    assert(call->words.arg_count == 0);
    command_add_str(&call->words.words, key);
    call->words.key_count++;
}

void call_add_str(struct call *call, const char *arg) {
    command_add_str(&call->words.words, arg);
    call->words.arg_count++;
}

void call_add_i64(struct call *call, int64_t arg) {
    command_add_i64(&call->words.words, arg);
    call->words.arg_count++;
}

void call_send(struct call *call, struct redis *redis, redis_fn fn, void *arg) {
    struct redis_words words = call->words;
    *call = call_new(words.script);
    redis_eval(redis, &words, fn, arg);
}
