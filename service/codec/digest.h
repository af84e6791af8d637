/* SHA-256: sole user of <openssl/evp.h>. Any thread. */
#pragma once

#include <stddef.h>

#define DIGEST_SIZE 32
struct digest_part {
    const void *data;
    size_t len;
};
/* SHA-256 over the parts, each followed by a NUL byte except the last (so that ("a","bc") differs from ("ab","c")). */
void digest_parts(const struct digest_part *parts, size_t count, unsigned char out[DIGEST_SIZE]);
void digest_bytes(const void *data, size_t len, unsigned char out[DIGEST_SIZE]);
