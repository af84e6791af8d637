/* The side of a consumer group. Answers are walked defensively: what does not look like a message is left out. */
#include "base/memory.h"
#include "base/text.h"
#include "redis/streams_internal.h"

#include <string.h>
#include <sys/time.h>

#define NUMBER_SIZE 24
#define KEYS_MAX 64
#define MS_PER_S 1000
#define US_PER_MS 1000

struct stream_message {
    const char *key, *id;
    const redisReply *fields; /* name, value, name, value … */
};

const char *stream_message_key(const struct stream_message *message) { return message->key; }
const char *stream_message_id(const struct stream_message *message) { return message->id; }

const char *stream_message_field(const struct stream_message *message, const char *name, size_t *ret_len) {
    for (size_t i = 0; i + 1 < message->fields->elements; i += 2) {
        const redisReply *key = message->fields->element[i], *value = message->fields->element[i + 1];
        if (key->type != REDIS_REPLY_STRING || value->type != REDIS_REPLY_STRING || strcmp(key->str, name) != 0)
            continue;
        *ret_len = (size_t)value->len;
        return value->str;
    }
    return NULL;
}

static bool is_list(const redisReply *reply) { return reply->type == REDIS_REPLY_ARRAY; }

/* [[id, [name, value …]] …]; the fields of an entry that was trimmed away are nil. */
static void tell_messages(const struct stream_reader *reader, const char *key, const redisReply *list) {
    for (size_t i = 0; is_list(list) && i < list->elements; i++) {
        const redisReply *entry = list->element[i];
        if (!is_list(entry) || entry->elements != 2 || !is_list(entry->element[1])) continue;
        struct stream_message message = {key, entry->element[0]->str, entry->element[1]};
        if (message.id != NULL) reader->fn(reader->arg, &message);
    }
}

RESULT streams_group_make(struct streams *stream, const char *key, const char *group) {
    const char *words[] = {"XGROUP", "CREATE", key, group, "0", "MKSTREAM"};
    AUTO_REPLY redisReply *reply = NULL;
    struct result result = streams_call(stream, 6, words, NULL, &reply);
    if (failed(result) && strncmp(stream->error, "BUSYGROUP", strlen("BUSYGROUP")) == 0) return OK;
    return result;
}

/* A read that waits may be silent for block_ms longer than other calls. */
static RESULT be_patient(struct streams *stream, int64_t block_ms) {
    int64_t ms = stream->timeout_ms + block_ms;
    struct timeval patience = {ms / MS_PER_S, ms % MS_PER_S * US_PER_MS};
    TRY(streams_connect(stream));
    if (redisSetTimeout(stream->context, patience) != REDIS_OK) return streams_lose(stream, HERE);
    return OK;
}

RESULT streams_read(struct streams *stream, const char *const *keys, size_t key_count,
                    const struct stream_reader *reader, int64_t block_ms) {
    const char *words[9 + 2 * KEYS_MAX];
    char limit[NUMBER_SIZE], block[NUMBER_SIZE];
    AUTO_REPLY redisReply *reply = NULL;
    int argc = 0;
    if (key_count == 0 || key_count > KEYS_MAX) FAIL(INTERNAL, 0);
    (void)text_format(limit, sizeof limit, "%lld", (long long)reader->limit);
    (void)text_format(block, sizeof block, "%lld", (long long)block_ms);
    const char *head[] = {"XREADGROUP", "GROUP", reader->group, reader->consumer, "COUNT",
                          limit,        "BLOCK", block,         "STREAMS"};
    for (; argc < 9; argc++) words[argc] = head[argc];
    for (size_t i = 0; i < key_count; i++) words[argc++] = keys[i];
    for (size_t i = 0; i < key_count; i++) words[argc++] = ">";
    TRY(be_patient(stream, block_ms));
    TRY(streams_call(stream, argc, words, NULL, &reply));
    for (size_t i = 0; is_list(reply) && i < reply->elements; i++) {
        const redisReply *one = reply->element[i];
        if (is_list(one) && one->elements == 2 && one->element[0]->str != NULL)
            tell_messages(reader, one->element[0]->str, one->element[1]);
    }
    return OK;
}

RESULT streams_reclaim(struct streams *stream, const char *key, const struct stream_reader *reader, int64_t idle_ms_min,
                       char *cursor) {
    char limit[NUMBER_SIZE], idle[NUMBER_SIZE];
    AUTO_REPLY redisReply *reply = NULL;
    (void)text_format(limit, sizeof limit, "%lld", (long long)reader->limit);
    (void)text_format(idle, sizeof idle, "%lld", (long long)idle_ms_min);
    const char *words[] = {"XAUTOCLAIM", key, reader->group, reader->consumer, idle, cursor, "COUNT", limit};
    TRY(streams_call(stream, 8, words, NULL, &reply));
    if (!is_list(reply) || reply->elements < 2 || reply->element[0]->str == NULL) FAIL(REDIS_DOWN, 0);
    (void)text_copy(cursor, STREAM_ID_SIZE, reply->element[0]->str);
    tell_messages(reader, key, reply->element[1]);
    return OK;
}

RESULT streams_ack(struct streams *stream, const char *key, const char *group, const char *id) {
    const char *words[] = {"XACK", key, group, id};
    AUTO_REPLY redisReply *reply = NULL;
    return streams_call(stream, 4, words, NULL, &reply);
}
