/* Growing text with a limit, and the parsers of small values.
   A text keeps room for its NUL: cap > len whenever data is set, and len <= limit always. */
#include "base/text.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { TEXT_FIRST_CAP = 64, RANDOM_POOL = 512 };

struct text text_new(size_t limit) {
    return (struct text){.limit = limit ? limit : TEXT_LIMIT_DEFAULT};
}

void text_done(struct text *t) {
    free(t->data);
    t->data = NULL;
    t->len = t->cap = 0;
    t->overflow = false;
}

void text_clear(struct text *t) {
    t->len = 0;
    t->overflow = false;
    if (t->data) t->data[0] = '\0';
}

/* Room for `more` bytes and the NUL, or the overflow mark. */
static bool reserve(struct text *t, size_t more) {
    size_t limit = t->limit ? t->limit : TEXT_LIMIT_DEFAULT;
    if (t->overflow || more > limit - t->len) {
        t->overflow = true;
        return false;
    }
    size_t need = t->len + more + 1;
    if (need <= t->cap) return true;
    size_t cap = t->cap ? t->cap : TEXT_FIRST_CAP;
    while (cap < need) cap *= 2;
    t->data = mem_grow(t->data, cap, 1);
    t->cap = cap;
    return true;
}

void text_add(struct text *t, const char *data, size_t len) {
    if (!reserve(t, len)) return;
    if (len) memcpy(t->data + t->len, data, len);
    t->len += len;
    t->data[t->len] = '\0';
}

void text_add_str(struct text *t, const char *s) { text_add(t, s, strlen(s)); }

void text_add_char(struct text *t, char c) { text_add(t, &c, 1); }

void text_add_i64(struct text *t, int64_t value) {
    char digits[20]; /* "-9223372036854775808" */
    size_t at = sizeof digits;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) digits[--at] = '-';
    text_add(t, digits + at, sizeof digits - at);
}

void text_addf(struct text *t, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0) t->overflow = true;
    if (len >= 0 && reserve(t, (size_t)len)) {
        vsnprintf(t->data + t->len, (size_t)len + 1, format, again);
        t->len += (size_t)len;
    }
    va_end(again);
}

void text_add_segment(struct text *t, const char *s) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:@";
    for (; *s != '\0'; s++) {
        if (strchr(plain, *s) != NULL)
            text_add_char(t, *s);
        else
            text_addf(t, "%%%02X", (unsigned)(unsigned char)*s);
    }
}

const char *text_str(const struct text *t) { return t->data ? t->data : ""; }

/* Digits only; negative numbers are built downwards, so that the smallest one fits. */
static bool digits_to_i64(const char *data, size_t len, bool negative, int64_t *ret) {
    int64_t value = 0;
    for (size_t i = 0; i < len; i++) {
        if (data[i] < '0' || data[i] > '9') return false;
        int digit = negative ? '0' - data[i] : data[i] - '0';
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) return false;
    }
    *ret = value;
    return true;
}

bool text_parse_i64(const char *data, size_t len, int64_t *ret) {
    bool negative = len > 0 && data[0] == '-';
    const char *digits = data + negative;
    size_t count = len - negative;
    if (count == 0) return false;
    if (digits[0] == '0' && (count > 1 || negative)) return false;
    return digits_to_i64(digits, count, negative, ret);
}

/* Bytes of the character a lead byte announces; 0 when it cannot lead one. */
static size_t utf8_announced(unsigned char lead) {
    if (lead < 0x80) return 1;
    if (lead < 0xC2) return 0; /* continuation, or an overlong form of ASCII */
    if (lead < 0xE0) return 2;
    if (lead < 0xF0) return 3;
    return lead < 0xF5 ? 4 : 0;
}

size_t text_utf8_next(const char *data, size_t len, uint32_t *ret_point) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* below: an overlong form */
    if (len == 0) return 0;
    unsigned char lead = (unsigned char)data[0];
    size_t size = utf8_announced(lead);
    if (size == 0 || size > len) return 0;
    uint32_t point = size == 1 ? lead : lead & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        unsigned char c = (unsigned char)data[i];
        if ((c & 0xC0) != 0x80) return 0;
        point = point << 6 | (c & 0x3F);
    }
    if (point < least[size] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return 0;
    *ret_point = point;
    return size;
}

bool text_is_control(uint32_t point) { return point < 0x20 || (point >= 0x7F && point < 0xA0); }

bool text_is_printable_utf8(const char *data, size_t len) {
    for (size_t at = 0; at < len;) {
        uint32_t point;
        size_t size = text_utf8_next(data + at, len - at, &point);
        if (size == 0 || text_is_control(point)) return false;
        at += size;
    }
    return true;
}

static const char hex_digits[] = "0123456789abcdef";

void text_hex(const unsigned char *data, size_t len, char *out) {
    for (size_t i = 0; i < len; i++) {
        *out++ = hex_digits[data[i] >> 4];
        *out++ = hex_digits[data[i] & 15];
    }
    *out = '\0';
}

/* 0..15, or -1. */
static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool text_unhex(const char *hex, size_t hex_len, unsigned char *out, size_t len) {
    if (hex_len % 2 || hex_len / 2 != len) return false;
    for (size_t i = 0; i < len; i++) {
        int high = hex_value(hex[2 * i]), low = hex_value(hex[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

void text_base32(int64_t value, char *out) {
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    uint64_t rest = (uint64_t)value;
    size_t len = 1;
    for (uint64_t above = rest >> 5; above; above >>= 5) len++;
    out[len] = '\0';
    for (size_t i = len; i-- > 0; rest >>= 5) out[i] = digits[rest & 31];
}

/* The years a four-digit date can name. */
#define TIME_MIN_MS (-INT64_C(62167219200000))
#define TIME_MAX_MS INT64_C(253402300799999)

void text_time(int64_t unix_ms, char *out) {
    int64_t ms = unix_ms < TIME_MIN_MS ? TIME_MIN_MS : unix_ms > TIME_MAX_MS ? TIME_MAX_MS : unix_ms;
    int64_t part = ms % 1000;
    if (part < 0) part += 1000;
    time_t seconds = (time_t)((ms - part) / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    char buffer[96]; /* what the compiler thinks seven ints may need */
    text_format(buffer, sizeof buffer, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
                tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)part);
    memcpy(out, buffer, TEXT_TIME_SIZE - 1);
    out[TEXT_TIME_SIZE - 1] = '\0';
}

/* Ids must not repeat: without randomness there is nothing sensible left to do. */
static void fill_random(unsigned char *out, size_t len) {
    ssize_t got;
    do got = getrandom(out, len, 0);
    while (got < 0 && errno == EINTR);
    if (got == (ssize_t)len) return;
    LOG(LOG_ERROR, "no-randomness", LOGI("errno", errno));
    abort();
}

void text_random_hex(size_t len, char *out) {
    unsigned char bytes[32];
    assert(len <= sizeof bytes);
    fill_random(bytes, len);
    text_hex(bytes, len, out);
}

/* A system call gives many: several identifiers are made for every request. Each byte is used once. */
static void take_random(unsigned char *out, size_t len) {
    static _Thread_local unsigned char pool[RANDOM_POOL];
    static _Thread_local size_t left;
    if (left < len) {
        fill_random(pool, sizeof pool);
        left = sizeof pool;
    }
    left -= len;
    memcpy(out, pool + left, len);
}

void text_uuid(char *out) {
    unsigned char bytes[16] = {0};
    take_random(bytes + 6, sizeof bytes - 6);
    uint64_t ms = (uint64_t)clock_wall_ms();
    for (int i = 5; i >= 0; i--, ms >>= 8) bytes[i] = (unsigned char)ms;
    bytes[6] = (unsigned char)(0x70 | (bytes[6] & 0x0F)); /* version 7 */
    bytes[8] = (unsigned char)(0x80 | (bytes[8] & 0x3F)); /* the variant of RFC 9562 */
    for (size_t i = 0; i < sizeof bytes; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *out++ = '-';
        *out++ = hex_digits[bytes[i] >> 4];
        *out++ = hex_digits[bytes[i] & 15];
    }
    *out = '\0';
}

uint32_t text_hash_on(uint32_t hash, const char *s) {
    for (const unsigned char *c = (const unsigned char *)s; *c != '\0'; c++) hash = (hash ^ *c) * 16777619U;
    return hash;
}

uint32_t text_hash(const char *s) { return text_hash_on(2166136261U, s); }

bool text_copy(char *out, size_t size, const char *s) {
    size_t len = strlen(s);
    bool fits = len < size;
    if (size == 0) return false;
    if (!fits) len = size - 1;
    memcpy(out, s, len);
    out[len] = '\0';
    return fits;
}

bool text_format(char *out, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int len = vsnprintf(out, size, format, args);
    va_end(args);
    if (len < 0 && size) out[0] = '\0';
    return len >= 0 && (size_t)len < size;
}
