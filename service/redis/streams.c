/* A blocking connection that writes streams.

   Invariants
   1. After an answer that did not come whole the connection goes: nothing is ever read that belongs to a call before.
   2. An entry is ADDED only when Redis answered with its id. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "redis/streams_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define MS_PER_S 1000
#define US_PER_MS 1000
#define NUMBER_SIZE 24
#define CONNECT_STEPS 3 /* connecting, AUTH, SELECT */
#define TRIM_EVERY 64   /* entries of a call: trimming looks at a node of the stream each time */
/* XADD key MINID ~ age * */
enum { XADD_WORDS = 6, XADD_WORDS_PLAIN = 3, XADD_WORDS_MAX = XADD_WORDS + 2 * STREAM_FIELDS_MAX };

RESULT streams_new(const char *url, int64_t timeout_ms, struct streams **ret) {
    const char *problem = NULL;
    struct redis_url parsed;
    TRY(redis_url_parse(url, &parsed, &problem));
    struct streams *stream = mem_new(sizeof *stream);
    stream->url = parsed;
    stream->timeout_ms = timeout_ms;
    *ret = stream;
    return OK;
}

void streams_disconnect(struct streams *stream) {
    if (stream->context == NULL) return;
    redisFree(stream->context);
    stream->context = NULL;
}

struct streams *streams_free(struct streams *stream) {
    if (stream == NULL) return NULL;
    streams_disconnect(stream);
    free(stream);
    return NULL;
}

const char *streams_error(const struct streams *stream) { return stream->error; }

struct result streams_lose(struct streams *stream, const char *where) {
    const char *text = stream->context != NULL ? stream->context->errstr : "no connection";
    (void)text_copy(stream->error, sizeof stream->error, text[0] != '\0' ? text : "connection lost");
    streams_disconnect(stream);
    return (struct result){ERROR_REDIS_DOWN, 0, where};
}

static struct result refuse(struct streams *stream, const redisReply *reply, const char *where) {
    (void)text_copy(stream->error, sizeof stream->error, reply->str);
    return (struct result){ERROR_REDIS_DOWN, 0, where};
}

RESULT streams_call(struct streams *stream, int argc, const char **argv, const size_t *lens, redisReply **ret) {
    TRY(streams_connect(stream));
    stream->error[0] = '\0';
    AUTO_REPLY redisReply *reply = redisCommandArgv(stream->context, argc, argv, lens);
    if (reply == NULL) return streams_lose(stream, HERE);
    if (reply->type == REDIS_REPLY_ERROR) return refuse(stream, reply, HERE);
    *ret = TAKE(reply);
    return OK;
}

static RESULT call_words(struct streams *stream, int argc, const char **argv) {
    AUTO_REPLY redisReply *reply = NULL;
    return streams_call(stream, argc, argv, NULL, &reply);
}

static RESULT log_in(struct streams *stream) {
    const struct redis_url *url = &stream->url;
    const char *with_user[] = {"AUTH", url->user, url->password};
    const char *without[] = {"AUTH", url->password};
    char database[NUMBER_SIZE];
    if (url->user[0] != '\0') TRY(call_words(stream, 3, with_user));
    if (url->user[0] == '\0' && url->password[0] != '\0') TRY(call_words(stream, 2, without));
    if (url->database == 0) return OK;
    (void)text_format(database, sizeof database, "%d", url->database);
    const char *choose[] = {"SELECT", database};
    return call_words(stream, 2, choose);
}

RESULT streams_connect(struct streams *stream) {
    if (stream->context != NULL && stream->context->err == 0) return OK;
    streams_disconnect(stream);
    struct timeval patience = {stream->timeout_ms / MS_PER_S, stream->timeout_ms % MS_PER_S * US_PER_MS};
    stream->context = redisConnectWithTimeout(stream->url.host, stream->url.port, patience);
    if (stream->context == NULL || stream->context->err != 0) return streams_lose(stream, HERE);
    if (redisSetTimeout(stream->context, patience) != REDIS_OK) return streams_lose(stream, HERE);
    struct result result = log_in(stream);
    if (failed(result)) streams_disconnect(stream);
    return result;
}

/* -- XADD */

/* Returns the number of words. age NULL: nothing is trimmed with it. */
static int words_of(const struct stream_entry *entry, const char *age, const char **words, size_t *lens) {
    const char *trimming[] = {"XADD", entry->key, "MINID", "~", age, "*"};
    const char *plain[] = {"XADD", entry->key, "*"};
    const char **head = age != NULL ? trimming : plain;
    int head_count = age != NULL ? XADD_WORDS : XADD_WORDS_PLAIN;
    int count = 0;
    for (; count < head_count; count++) {
        words[count] = head[count];
        lens[count] = strlen(head[count]);
    }
    for (size_t i = 0; i < entry->field_count; i++) {
        const struct stream_field *field = &entry->fields[i];
        words[count] = field->name;
        lens[count++] = strlen(field->name);
        words[count] = field->value;
        lens[count++] = field->len;
    }
    return count;
}

static RESULT queue_entries(struct streams *stream, const struct stream_entry *entries, size_t count, int64_t keep_ms) {
    char age[NUMBER_SIZE];
    const char *words[XADD_WORDS_MAX];
    size_t lens[XADD_WORDS_MAX];
    (void)text_format(age, sizeof age, "%lld", (long long)(clock_wall_ms() - keep_ms));
    for (size_t i = 0; i < count; i++) {
        int argc = words_of(&entries[i], i % TRIM_EVERY == 0 ? age : NULL, words, lens);
        if (redisAppendCommandArgv(stream->context, argc, words, lens) != REDIS_OK) return streams_lose(stream, HERE);
    }
    return OK;
}

static void note_answer(struct stream_entry *entry, const redisReply *reply) {
    entry->outcome = STREAM_ADDED;
    entry->reason[0] = '\0';
    if (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS) return;
    bool refused = reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "WRONGTYPE", strlen("WRONGTYPE")) == 0;
    entry->outcome = refused ? STREAM_REFUSED : STREAM_AWAY;
    (void)text_copy(entry->reason, sizeof entry->reason,
                    reply->type == REDIS_REPLY_ERROR ? reply->str : "an answer that is no id");
}

static bool is_over(int64_t deadline_ms) { return clock_mono_ms() > deadline_ms; }

/* Answers that come drop by drop are bounded as a whole. */
static RESULT collect_answers(struct streams *stream, struct stream_entry *entries, size_t count, size_t *answered) {
    int64_t deadline_ms = clock_mono_ms() + 2 * stream->timeout_ms;
    for (; *answered < count; ++*answered) {
        AUTO_REPLY redisReply *reply = NULL;
        if (is_over(deadline_ms)) return streams_lose(stream, HERE);
        if (redisGetReply(stream->context, (void **)&reply) != REDIS_OK) return streams_lose(stream, HERE);
        note_answer(&entries[*answered], reply);
    }
    return OK;
}

/* After a look-up of the host's name that took its time nothing is sent any more. */
static RESULT add_all(struct streams *stream, struct stream_entry *entries, size_t count, int64_t keep_ms,
                      size_t *answered) {
    int64_t deadline_ms = clock_mono_ms() + CONNECT_STEPS * stream->timeout_ms;
    TRY(streams_connect(stream));
    if (is_over(deadline_ms)) return streams_lose(stream, HERE);
    stream->error[0] = '\0';
    TRY(queue_entries(stream, entries, count, keep_ms));
    return collect_answers(stream, entries, count, answered);
}

void streams_add(struct streams *stream, struct stream_entry *entries, size_t count, int64_t keep_ms) {
    size_t answered = 0;
    if (!failed(add_all(stream, entries, count, keep_ms, &answered))) return;
    for (size_t i = answered; i < count; i++) {
        entries[i].outcome = STREAM_AWAY;
        (void)text_copy(entries[i].reason, sizeof entries[i].reason, stream->error);
    }
}
