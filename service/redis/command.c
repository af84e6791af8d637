/* The request side of RESP: an array of bulk strings. Any byte may stand in a word. */
#include "redis/command.h"

#include <string.h>

static void add_head(struct text *out, char kind, size_t count) {
    text_add_char(out, kind);
    text_add_i64(out, (int64_t)count);
    text_add(out, "\r\n", 2);
}

void command_begin(struct text *out, size_t words) { add_head(out, '*', words); }

void command_add(struct text *out, const char *data, size_t len) {
    add_head(out, '$', len);
    text_add(out, data, len);
    text_add(out, "\r\n", 2);
}

void command_add_str(struct text *out, const char *word) { command_add(out, word, strlen(word)); }

void command_add_i64(struct text *out, int64_t value) {
    size_t len = value < 0 ? 2 : 1;
    for (int64_t rest = value / 10; rest != 0; rest /= 10) len++;
    add_head(out, '$', len);
    text_add_i64(out, value);
    text_add(out, "\r\n", 2);
}
