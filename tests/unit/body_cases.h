/* Tables of bodies and what a decoder must say about them. */
#pragma once

#include "codec/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A decoder whose value does not matter. */
typedef struct result decoder(const char *body, size_t len, struct field_errors *errors);

struct refusal {
    const char *body;
    const char *pointer; /* of the only finding */
    const char *detail;  /* a part of its detail */
};

static inline void check_refusal(decoder *decode, const struct refusal *row) {
    struct field_errors errors = {.count = 7}; /* what stood there before is forgotten */
    const struct result result = decode(row->body, strlen(row->body), &errors);
    if (result.code != ERROR_INVALID_REQUEST || errors.count != 1 ||
        strcmp(errors.list[0].pointer, row->pointer) != 0 || strstr(errors.list[0].detail, row->detail) == NULL) {
        print_error("body %s: code %d, %zu findings, the first \"%s\": %s\n", row->body, result.code, errors.count,
                    errors.list[0].pointer, errors.list[0].detail);
        fail();
    }
}

static inline void check_refusals(decoder *decode, const struct refusal *rows, size_t count) {
    for (size_t i = 0; i < count; i++) check_refusal(decode, &rows[i]);
}
#define CHECK_REFUSALS(decode, rows) check_refusals((decode), (rows), sizeof(rows) / sizeof *(rows))
