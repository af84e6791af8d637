/* One pass, no recursion and no memory, so that a body of a million brackets costs a million steps and no stack.
   What is not JSON is left for the parser to refuse: only strings must be known here, since brackets in them count
   for nothing. */
#include "codec/scan.h"

#include <string.h>

/* The place after the string that opens at start (at its quote), len when it never ends. */
static size_t skip_string(const char *body, size_t len, size_t start) {
    for (size_t i = start + 1; i < len; i++) {
        if (body[i] == '"') return i + 1;
        if (body[i] == '\\') i++;
    }
    return len;
}

/* body[at] is '-': is the number just -0? -0.0, -0e1 and 1e-0 are no integers and refused as such. */
static bool is_negative_zero(const char *body, size_t len, size_t at) {
    if (at > 0 && (body[at - 1] == 'e' || body[at - 1] == 'E')) return false;
    if (at + 1 >= len || body[at + 1] != '0') return false;
    if (at + 2 >= len) return true;
    const char after = body[at + 2];
    return after == '\0' || strchr("0123456789.eE", after) == NULL;
}

struct scan scan_json(const char *body, size_t len) {
    struct scan found = {0};
    size_t depth = 0;
    size_t i = 0;
    while (i < len) {
        const char c = body[i];
        if (c == '"') {
            i = skip_string(body, len, i);
            continue;
        }
        if (c == '{' || c == '[') depth++;
        if ((c == '}' || c == ']') && depth > 0) depth--;
        if (c == '-' && is_negative_zero(body, len, i)) found.negative_zero = true;
        if (depth > found.depth) found.depth = depth;
        i++;
    }
    return found;
}
