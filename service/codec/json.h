/* Strict JSON in, JSON text out. Sole user of <jansson.h>, with its neighbours in codec/. Any thread (json_start
 * first). */
#pragma once

#include "base/result.h"
#include "base/text.h"

#include <stddef.h>

/* Seeds jansson's hash; before the first thread. */
void json_start(void);

/* What is wrong with a body, one row per field. */
#define FIELD_ERRORS_MAX 16
struct field_error {
    char pointer[160]; /* JSON pointer, "" = the document, "/items/0/quantity" */
    char detail[160];
};
struct field_errors {
    struct field_error list[FIELD_ERRORS_MAX];
    size_t count; /* stops at the maximum */
};
void field_errors_add(struct field_errors *errors, const char *pointer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* `"errors":[{"pointer":…,"detail":…}]` for a problem document's extras. */
void field_errors_write(struct text *out, const struct field_errors *errors);

/* -- writing: appends to text; the caller writes braces and commas as text. */
void json_write_string(struct text *out, const char *s); /* quoted and escaped; any bytes */
void json_write_string_n(struct text *out, const char *s, size_t len);
/* "name": */
void json_write_key(struct text *out, const char *name);
void json_write_time(struct text *out, int64_t unix_ms); /* quoted RFC 3339; 0 = null */
