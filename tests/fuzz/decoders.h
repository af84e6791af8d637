/* What a target for decoders of bodies is made of. The first byte of an input chooses the decoder, the rest is the
 * body. */
#pragma once

#include "base/memory.h"
#include "codec/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct result (*decoder_fn)(const char *body, size_t len, struct field_errors *errors);

static void require(bool held) {
    if (!held) abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    json_start();
    return 0;
}

/* A copy of exactly the body's size, so that a read beyond it is seen. NULL when there is none. The caller frees it. */
static char *body_of(const uint8_t *data, size_t size) {
    char *body = size > 1 ? malloc(size - 1) : NULL;
    if (body != NULL) memcpy(body, data + 1, size - 1);
    return body;
}

/* A decoder fails when, and only when, it found something. */
static struct result decode(decoder_fn decoder, const char *body, size_t len, struct field_errors *errors) {
    const struct result result = decoder(body, len, errors);
    require(failed(result) == (errors->count > 0));
    return result;
}
