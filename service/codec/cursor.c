/* Nine bytes (kind, then the id with its highest byte first) are exactly twelve base64url digits: no padding, no spare
   bits, and so one spelling for each cursor. */
#include "codec/cursor.h"

#include "base/text.h"

#include <assert.h>
#include <string.h>

#define CURSOR_BYTES 9
#define CURSOR_DIGITS 12

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void cursor_write(char kind, int64_t id, char *out) {
    unsigned char bytes[CURSOR_BYTES] = {(unsigned char)kind};
    for (int i = 0; i < 8; i++) bytes[1 + i] = (unsigned char)((uint64_t)id >> (56 - 8 * i));
    for (size_t group = 0; group < CURSOR_BYTES / 3; group++) {
        const unsigned char *in = bytes + 3 * group;
        const uint32_t bits = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];
        for (size_t i = 0; i < 4; i++) out[4 * group + i] = digits[bits >> (18 - 6 * i) & 63];
    }
    out[CURSOR_DIGITS] = '\0';
}

bool cursor_read(char kind, const char *cursor, int64_t *ret_id) {
    if (cursor == NULL || strlen(cursor) != CURSOR_DIGITS) return false;
    unsigned char bytes[CURSOR_BYTES] = {0};
    for (int i = 0; i < CURSOR_DIGITS; i++) {
        const char *digit = strchr(digits, cursor[i]);
        if (digit == NULL) return false;
        const unsigned value = (unsigned)(digit - digits);
        for (int bit = 0; bit < 6; bit++) {
            const int at = 6 * i + bit;
            bytes[at / 8] |= (unsigned char)((value >> (5 - bit) & 1) << (7 - at % 8));
        }
    }
    if (bytes[0] != (unsigned char)kind) return false;
    uint64_t id = 0;
    for (int i = 1; i < CURSOR_BYTES; i++) id = id << 8 | bytes[i];
    *ret_id = (int64_t)id;
    return true;
}

void cursor_write_name(char kind, const char *name, char out[CURSOR_NAME_SIZE]) {
    char bytes[CURSOR_NAME_MAX + 2] = {kind};
    bool fits = text_copy(bytes + 1, sizeof bytes - 1, name);
    assert(fits);
    (void)fits;
    text_hex((const unsigned char *)bytes, strlen(name) + 1, out);
}

bool cursor_read_name(char kind, const char *cursor, char ret[CURSOR_NAME_MAX + 1]) {
    unsigned char bytes[CURSOR_NAME_MAX + 1];
    size_t digits_len = strlen(cursor), len = digits_len / 2;
    if (digits_len % 2 != 0 || len < 2 || len > sizeof bytes) return false;
    if (!text_unhex(cursor, digits_len, bytes, len) || bytes[0] != (unsigned char)kind) return false;
    memcpy(ret, bytes + 1, len - 1);
    ret[len - 1] = '\0';
    return strlen(ret) == len - 1;
}
