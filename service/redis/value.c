/* Reads replies. A struct redis_value is hiredis' redisReply under another name, so that <hiredis.h> stays in redis/.
   Every function takes NULL (the call had no reply) and any type: a reply of an unexpected shape reads as 0, "" or
   NULL, never as memory that is not there. */
#include "redis/redis.h"

#include "base/text.h"

#include <hiredis/hiredis.h>

static const redisReply *reply_of(const struct redis_value *value) { return (const redisReply *)value; }

enum redis_type redis_type_of(const struct redis_value *value) {
    if (value == NULL) return REDIS_NIL;
    switch (reply_of(value)->type) {
    case REDIS_REPLY_INTEGER:
        return REDIS_INT;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
        return REDIS_STR;
    case REDIS_REPLY_ARRAY:
        return REDIS_ARRAY;
    case REDIS_REPLY_ERROR:
        return REDIS_ERROR;
    default:
        return REDIS_NIL;
    }
}

int64_t redis_int(const struct redis_value *value) {
    enum redis_type type = redis_type_of(value);
    if (type == REDIS_INT) return reply_of(value)->integer;
    int64_t number = 0;
    if (type != REDIS_STR || !text_parse_i64(reply_of(value)->str, reply_of(value)->len, &number)) return 0;
    return number;
}

const char *redis_str(const struct redis_value *value, size_t *ret_len) {
    enum redis_type type = redis_type_of(value);
    bool has_text = type == REDIS_STR || type == REDIS_ERROR;
    if (ret_len != NULL) *ret_len = has_text ? (size_t)reply_of(value)->len : 0;
    return has_text ? reply_of(value)->str : "";
}

size_t redis_len(const struct redis_value *value) {
    return redis_type_of(value) == REDIS_ARRAY ? (size_t)reply_of(value)->elements : 0;
}

const struct redis_value *redis_at(const struct redis_value *value, size_t index) {
    if (index >= redis_len(value)) return NULL;
    return (const struct redis_value *)reply_of(value)->element[index];
}
