#include "bench/reply.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

void reply_reset(struct reply *reply) {
    reply->head_len = 0;
    reply->in_body = false;
    reply->closes = false;
    reply->body_left = 0;
    reply->status = 0;
}

/* "HTTP/1.1 201 …" */
static bool parse_status(const char *line, size_t len, int *ret) {
    int64_t status = 0;
    if (len < 12 || memcmp(line, "HTTP/1.", 7) != 0 || line[8] != ' ') return false;
    if (!text_parse_i64(line + 9, 3, &status) || status < 100 || status > 599) return false;
    *ret = (int)status;
    return true;
}

/* The value of the header when the line is of that name, else NULL. */
static const char *value_of(const char *line, size_t len, const char *name, size_t *ret_len) {
    size_t name_len = strlen(name);
    if (len <= name_len || line[name_len] != ':' || strncasecmp(line, name, name_len) != 0) return NULL;
    const char *value = line + name_len + 1, *end = line + len;
    while (value < end && *value == ' ') value++;
    *ret_len = (size_t)(end - value);
    return value;
}

static bool parse_header(struct reply *reply, const char *line, size_t len) {
    size_t value_len = 0;
    const char *value = value_of(line, len, "Content-Length", &value_len);
    if (value) return text_parse_i64(value, value_len, &reply->body_left) && reply->body_left >= 0;
    value = value_of(line, len, "Connection", &value_len);
    if (value) reply->closes = value_len == 5 && strncasecmp(value, "close", 5) == 0;
    return true;
}

static bool parse_head(struct reply *reply) {
    const char *line = reply->head, *end = reply->head + reply->head_len;
    reply->body_left = -1;
    for (bool first = true; line < end; first = false) {
        const char *stop = memmem(line, (size_t)(end - line), "\r\n", 2);
        size_t len = (size_t)(stop - line);
        bool good = first ? parse_status(line, len, &reply->status) : parse_header(reply, line, len);
        if (!good) return false;
        line = stop + 2;
    }
    if (reply->status == 204 || reply->status == 304) reply->body_left = 0;
    return reply->body_left >= 0;
}

/* Copies until the blank line; used bytes count from data. */
static enum reply_state feed_head(struct reply *reply, const char *data, size_t len, size_t *ret_used) {
    size_t room = REPLY_HEAD_MAX - reply->head_len, piece = len < room ? len : room;
    size_t from = reply->head_len > 3 ? reply->head_len - 3 : 0;
    memcpy(reply->head + reply->head_len, data, piece);
    size_t have = reply->head_len + piece;
    const char *blank = memmem(reply->head + from, have - from, "\r\n\r\n", 4);
    if (!blank) {
        reply->head_len = have;
        *ret_used = piece;
        return piece < len ? REPLY_BAD : REPLY_MORE;
    }
    size_t head_len = (size_t)(blank - reply->head) + 4;
    *ret_used = head_len - reply->head_len;
    reply->head_len = head_len - 2; /* the blank line itself is no header */
    reply->in_body = true;
    return parse_head(reply) ? REPLY_DONE : REPLY_BAD;
}

enum reply_state reply_feed(struct reply *reply, const char *data, size_t len, size_t *ret_used) {
    size_t used = 0;
    *ret_used = 0;
    if (!reply->in_body) {
        enum reply_state head = feed_head(reply, data, len, &used);
        *ret_used = used;
        if (head != REPLY_DONE) return head;
    }
    size_t rest = len - used;
    size_t piece = (int64_t)rest < reply->body_left ? rest : (size_t)reply->body_left;
    reply->body_left -= (int64_t)piece;
    *ret_used = used + piece;
    return reply->body_left == 0 ? REPLY_DONE : REPLY_MORE;
}
