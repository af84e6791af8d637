/* 1 A piece is cut out before it is decoded, so a decoded separator never splits anything.
 * 2 Decoding only shrinks, so it works in place and every piece keeps its own terminator. */
#include "http/target.h"

#include "base/text.h"

#include <string.h>

/* Value of a hex digit, or -1. */
static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Decodes the NUL-terminated piece in place. */
static bool piece_decode(char *piece, bool plus_is_space) {
    char *out = piece;
    for (const char *in = piece; *in; in++) {
        char c = *in;
        if (c == '+' && plus_is_space) c = ' ';
        if (c == '%') {
            int high = hex_digit(in[1]);
            int low = high < 0 ? -1 : hex_digit(in[2]);
            if (low < 0) return false;
            c = (char)(high << 4 | low);
            in += 2;
        }
        *out++ = c;
    }
    *out = '\0';
    /* Length, not strlen: an escaped NUL must be seen, and refused. */
    return text_is_printable_utf8(piece, (size_t)(out - piece));
}

/* Skips "http://authority" of the absolute form; what follows begins with '/' or is NULL. */
static char *path_start(char *raw) {
    if (raw[0] == '/') return raw;
    if (strncasecmp(raw, "http://", 7) == 0) return strchr(raw + 7, '/');
    if (strncasecmp(raw, "https://", 8) == 0) return strchr(raw + 8, '/');
    return NULL;
}

static bool path_decode(char *path, struct target *ret) {
    char *rest = path + 1;
    while (rest) {
        char *segment = strsep(&rest, "/");
        if (!piece_decode(segment, false)) return false;
        if (ret->segment_count < TARGET_SEGMENTS_MAX) ret->segments[ret->segment_count] = segment;
        if (ret->segment_count <= TARGET_SEGMENTS_MAX) ret->segment_count++;
    }
    return true;
}

static bool query_decode(char *query, struct target *ret) {
    while (query) {
        char *value = strsep(&query, "&");
        char *name = strsep(&value, "=");
        if (!*name && !value) continue; /* "&&" */
        if (ret->param_count == TARGET_PARAMS_MAX) return false;
        if (!piece_decode(name, true) || (value && !piece_decode(value, true))) return false;
        ret->params[ret->param_count++] = (struct target_param){name, value ? value : ""};
    }
    return true;
}

RESULT target_decode(char *raw, struct target *ret) {
    struct target target = {.segment_count = 0};
    char *path = path_start(raw);
    if (!path) FAIL(INVALID_REQUEST, 0);
    char *query = path;
    path = strsep(&query, "?");
    if (!path_decode(path, &target) || !query_decode(query, &target)) FAIL(INVALID_REQUEST, 0);
    *ret = target;
    return OK;
}

const char *target_param(const struct target *target, const char *name) {
    for (size_t i = 0; i < target->param_count; i++)
        if (strcmp(target->params[i].name, name) == 0) return target->params[i].value;
    return NULL;
}
