/* JSON text out, and the list of findings.
   1. What is written is correct JSON for any bytes: only quote, backslash and C0 controls are escaped, well-formed
      UTF-8 passes as it is, and each byte that belongs to no character becomes U+FFFD (the parser's own messages
      quote half a character now and then).
   2. A finding's pointer and detail are cut to their fields between characters, never inside one.
   3. jansson takes its memory from mem_grow: running out ends the process there, so a parse fails for what the text is
      and for nothing else. */
#include "codec/json.h"

#include "base/memory.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *json_alloc(size_t size) { return mem_grow(NULL, size, 1); }

void json_start(void) {
    json_set_alloc_funcs(json_alloc, free);
    json_object_seed(0);
}

/* -- writing */

static bool is_plain(unsigned char c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

/* Bytes of the character that begins with lead; 1 for what begins none. */
static size_t character_size(unsigned char lead) {
    if (lead >= 0xf0) return 4;
    if (lead >= 0xe0) return 3;
    if (lead >= 0xc0) return 2;
    return 1;
}

/* Least and greatest second byte after a lead byte: no overlong forms, no surrogates, nothing beyond U+10FFFF
   (RFC 3629 §4). */
static bool may_follow(unsigned char lead, unsigned char second) {
    const unsigned char least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned char greatest = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    return lead >= 0xc2 && lead <= 0xf4 && second >= least && second <= greatest;
}

/* Bytes of the well-formed character of two bytes or more at s; 0 when there is none. */
static size_t long_character(const unsigned char *s, size_t len) {
    const size_t size = character_size(s[0]);
    if (size < 2 || size > len || !may_follow(s[0], s[1])) return 0;
    for (size_t i = 2; i < size; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
    }
    return size;
}

/* The letter after the backslash, 0 when only \u00XX will do. */
static char short_escape(unsigned char c) {
    switch (c) {
    case '"':
    case '\\':
        return (char)c;
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

static void write_escaped(struct text *out, unsigned char c) {
    const char letter = short_escape(c);
    if (letter != 0) {
        text_add(out, (const char[]){'\\', letter}, 2);
        return;
    }
    char hex[3];
    text_hex(&c, 1, hex);
    text_add(out, "\\u00", 4);
    text_add(out, hex, 2);
}

/* Writes what is at s, which is not plain; the bytes it took. */
static size_t write_special(struct text *out, const char *s, size_t len) {
    const unsigned char c = (unsigned char)*s;
    if (c < 0x80) {
        write_escaped(out, c);
        return 1;
    }
    const size_t size = long_character((const unsigned char *)s, len);
    if (size > 0) {
        text_add(out, s, size);
        return size;
    }
    text_add_str(out, "\xef\xbf\xbd");
    return 1;
}

void json_write_string_n(struct text *out, const char *s, size_t len) {
    text_add_char(out, '"');
    size_t i = 0;
    while (i < len) {
        const size_t run = i;
        while (i < len && is_plain((unsigned char)s[i])) i++;
        if (i > run) text_add(out, s + run, i - run);
        if (i < len) i += write_special(out, s + i, len - i);
    }
    text_add_char(out, '"');
}

void json_write_string(struct text *out, const char *s) { json_write_string_n(out, s, strlen(s)); }

void json_write_key(struct text *out, const char *name) {
    json_write_string(out, name);
    text_add_char(out, ':');
}

void json_write_time(struct text *out, int64_t unix_ms) {
    if (unix_ms == 0) {
        text_add(out, "null", 4);
        return;
    }
    char time[TEXT_TIME_SIZE];
    text_time(unix_ms, time);
    text_add_char(out, '"');
    text_add_str(out, time);
    text_add_char(out, '"');
}

/* -- findings */

/* Takes a last character off whose bytes were cut. */
static void drop_cut_character(char *s) {
    const size_t len = strlen(s);
    for (size_t back = 1; back <= 4 && back <= len; back++) {
        const unsigned char c = (unsigned char)s[len - back];
        if ((c & 0xc0) == 0x80) continue; /* inside a character: its lead is further left */
        if (character_size(c) > back) s[len - back] = '\0';
        return;
    }
}

void field_errors_add(struct field_errors *errors, const char *pointer, const char *format, ...) {
    if (errors->count == FIELD_ERRORS_MAX) return;
    struct field_error *error = &errors->list[errors->count++];
    (void)text_copy(error->pointer, sizeof error->pointer, pointer); /* cut is fine, see 2 */
    drop_cut_character(error->pointer);
    va_list args;
    va_start(args, format);
    vsnprintf(error->detail, sizeof error->detail, format, args);
    va_end(args);
    drop_cut_character(error->detail);
}

/* What a URI fragment may hold as it is (RFC 3986 §3.5). */
static bool is_fragment(unsigned char c) {
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) return true;
    return c != 0 && strchr("-._~!$&'()*+,;=:@/?", c) != NULL;
}

/* The pointer as a URI fragment, "#/items/0" (RFC 6901 §6). */
static void write_pointer(struct text *out, const char *pointer) {
    text_add(out, "\"#", 2);
    for (const char *p = pointer; *p != '\0'; p++) {
        const unsigned char c = (unsigned char)*p;
        if (is_fragment(c)) {
            text_add_char(out, *p);
            continue;
        }
        char hex[3];
        text_hex(&c, 1, hex);
        text_add_char(out, '%');
        text_add(out, hex, 2);
    }
    text_add_char(out, '"');
}

void field_errors_write(struct text *out, const struct field_errors *errors) {
    text_add_str(out, "\"errors\":[");
    for (size_t i = 0; i < errors->count; i++) {
        text_add_str(out, i == 0 ? "{\"pointer\":" : ",{\"pointer\":");
        write_pointer(out, errors->list[i].pointer);
        text_add_str(out, ",\"detail\":");
        json_write_string(out, errors->list[i].detail);
        text_add_char(out, '}');
    }
    text_add_char(out, ']');
}
