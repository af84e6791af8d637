/* Growing text with a limit, and the parsers of small values. No I/O. Not shared between threads. */
#pragma once

#include "base/result.h"

#include <stddef.h>

/* Invariant: data is NULL (empty) or NUL-terminated with len < cap. `overflow` is set, and stays, when `limit` was hit;
   adding then does nothing, so a builder checks once at its end. */
struct text {
    char *data;
    size_t len, cap, limit;
    bool overflow;
};

#define TEXT_LIMIT_DEFAULT ((size_t)16 << 20)
#define AUTO_TEXT __attribute__((cleanup(text_done))) struct text

/* Empty text that may grow to `limit` bytes (0 = TEXT_LIMIT_DEFAULT). */
struct text text_new(size_t limit);
/* Frees; harmless on a zeroed or taken text. */
void text_done(struct text *t);
/* Hands the text over and leaves an empty one. */
#define TAKE_TEXT(t)                                                                                                   \
    ({                                                                                                                 \
        struct text take_ = (t);                                                                                       \
        (t) = (struct text){0};                                                                                        \
        take_;                                                                                                         \
    })
/* Keeps the memory, forgets the content and the overflow mark. */
void text_clear(struct text *t);
void text_add(struct text *t, const char *data, size_t len);
void text_add_str(struct text *t, const char *s);
void text_add_char(struct text *t, char c);
void text_add_i64(struct text *t, int64_t value);
void text_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Percent-encodes what may not stand in a path segment. */
void text_add_segment(struct text *t, const char *s);
/* The content as a C string; "" when empty. */
const char *text_str(const struct text *t);

/* Whole of data[0..len) as a decimal int64, no sign but '-', no spaces, no leading zeros ("0" is fine). False
 * otherwise. */
bool text_parse_i64(const char *data, size_t len, int64_t *ret);
/* True when the bytes are well-formed UTF-8 without NUL, C0, DEL or C1 controls ("printable"). */
bool text_is_printable_utf8(const char *data, size_t len);
/* Bytes (1..4) of the well-formed UTF-8 character at data, and its code point; 0 when there is none. */
size_t text_utf8_next(const char *data, size_t len, uint32_t *ret_point);
/* NUL, C0, DEL and C1. */
bool text_is_control(uint32_t point);
/* Lower-case hex of data; out has 2*len+1 bytes. */
void text_hex(const unsigned char *data, size_t len, char *out);
/* Hex (any case) to bytes; false unless exactly 2*len digits. */
bool text_unhex(const char *hex, size_t hex_len, unsigned char *out, size_t len);
/* value >= 0 in Crockford base 32 (0-9A-HJKMNP-TV-Z), no padding; out has 14 bytes at least. */
void text_base32(int64_t value, char *out);
/* "2026-11-30T12:00:00.000Z" of Unix milliseconds, those outside the years 0 to 9999 as the nearest inside; out has 25
 * bytes. */
#define TEXT_TIME_SIZE 25
void text_time(int64_t unix_ms, char *out);
/* Random UUID version 7 (time-ordered) in lower case; out has 37 bytes. Any thread. */
#define TEXT_UUID_SIZE 37
void text_uuid(char *out);
/* Random bytes in lower-case hex, fit for secrets; out has 2*len+1 bytes, len at most 32. Any thread. */
void text_random_hex(size_t len, char *out);
/* FNV-1a, for tables in memory; the second goes on from a hash. Nothing outside this process may see it. */
uint32_t text_hash(const char *s);
uint32_t text_hash_on(uint32_t hash, const char *s);
/* Copies s; returns false when it was cut. Never unterminated. */
bool text_copy(char *out, size_t size, const char *s);
/* snprintf that never overruns and never leaves out unterminated; returns false when it was cut. */
bool text_format(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
