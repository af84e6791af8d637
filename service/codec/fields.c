/* Reading objects by their tables.
   1. A body is scanned before it is parsed: deeper than JSON_DEPTH_MAX never reaches the parser, which recurses.
   2. reader_verdict succeeds only when nothing was found and no integer was -0 or beyond int64 (`wide`).
   3. The parser already refuses trailing text, duplicate keys, \u0000, ill-formed UTF-8 and lone surrogates; keys and
      strings are therefore C strings.

   Why `wide`: the parser turns -0 into 0 and knows no place for an integer it cannot hold. Parsed once more with every
   integer as a real, such a number is an ordinary value that an ordinary range check refuses, at its pointer. */
#include "codec/fields.h"

#include "codec/scan.h"
#include "domain/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- places and findings */

/* Appends one reference token, "~" and "/" escaped (RFC 6901 §3); what does not fit is cut. */
static void pointer_add(struct field_error *out, const char *token) {
    size_t len = strlen(out->pointer);
    const size_t last = sizeof out->pointer - 1;
    if (len < last) out->pointer[len++] = '/';
    for (const char *p = token; *p != '\0'; p++) {
        const bool escape = *p == '~' || *p == '/';
        if (len + (escape ? 2 : 1) > last) break;
        if (escape) out->pointer[len++] = '~';
        out->pointer[len++] = !escape ? *p : *p == '~' ? '0' : '1';
    }
    out->pointer[len] = '\0';
}

/* Recursion is bounded by JSON_DEPTH_MAX: a place per level. */
static void pointer_render(struct field_error *out, const struct place *at) {
    if (at == NULL) return;
    pointer_render(out, at->up);
    char index[24];
    (void)text_format(index, sizeof index, "%zu", at->index);
    pointer_add(out, at->name != NULL ? at->name : index);
}

void reader_find(struct reader *reader, const struct place *at, const char *format, ...) {
    if (reader->errors->count == FIELD_ERRORS_MAX) return; /* a body of a million faults costs no million messages */
    struct field_error finding = {0};
    pointer_render(&finding, at);
    va_list args;
    va_start(args, format);
    vsnprintf(finding.detail, sizeof finding.detail, format, args);
    va_end(args);
    field_errors_add(reader->errors, finding.pointer, "%s", finding.detail);
}

/* -- the document */

static json_t *parse(const char *body, size_t len, size_t flags, json_error_t *error) {
    return json_loadb(body, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | flags, error);
}

static void parse_any_width(struct reader *reader, const char *body, size_t len, json_error_t *error) {
    reader->root = parse(body, len, 0, error);
    const bool overflow = reader->root == NULL && json_error_code(error) == json_error_numeric_overflow;
    if (!overflow && !reader->wide) return;
    json_decref(reader->root);
    reader->wide = true;
    reader->root = parse(body, len, JSON_DECODE_INT_AS_REAL, error);
}

RESULT reader_open(struct reader *reader, const char *body, size_t len, struct field_errors *errors) {
    errors->count = 0;
    reader->errors = errors;
    const struct scan scan = scan_json(body, len);
    if (scan.depth > JSON_DEPTH_MAX) {
        reader_find(reader, NULL, "is nested deeper than %d levels", JSON_DEPTH_MAX);
        FAIL(INVALID_REQUEST, 0);
    }
    if (len == 0) {
        reader_find(reader, NULL, "a JSON object is required");
        FAIL(INVALID_REQUEST, 0);
    }
    json_error_t error = {0};
    reader->wide = scan.negative_zero;
    parse_any_width(reader, body, len, &error);
    if (reader->root == NULL) {
        reader_find(reader, NULL, "line %d, column %d: %s", error.line, error.column, error.text);
        FAIL(INVALID_REQUEST, 0);
    }
    return OK;
}

RESULT reader_verdict(struct reader *reader) {
    if (reader->wide && reader->errors->count == 0) reader_find(reader, NULL, "has an integer that is -0 or too big");
    if (reader->errors->count > 0) FAIL(INVALID_REQUEST, 0);
    return OK;
}

void reader_done(struct reader *reader) {
    json_decref(reader->root);
    reader->root = NULL;
}

/* -- values */

static bool range_has(const struct field *field, int64_t value) {
    return value >= field->min && value <= field->max && !(field->not_zero && value == 0);
}

static bool integer_fits(const struct field *field, const json_t *value) {
    return json_is_integer(value) && range_has(field, json_integer_value(value));
}

/* The same in a wide body. The bounds are within 2^53, where a double is exact. */
static bool real_fits(const struct field *field, const json_t *value) {
    const double real = json_is_real(value) ? json_real_value(value) : -0.0;
    if (real == 0 && signbit(real)) return false;
    if (real < (double)field->min || real > (double)field->max) return false;
    return (double)(int64_t)real == real && range_has(field, (int64_t)real);
}

static void read_integer(struct reader *reader, const struct field *field, const json_t *value, const struct place *at,
                         int64_t *target) {
    if (reader->wide ? real_fits(field, value) : integer_fits(field, value)) {
        *target = json_integer_value(value);
        return;
    }
    reader_find(reader, at, "must be an integer from %" PRId64 " to %" PRId64 "%s", field->min, field->max,
                field->not_zero ? ", not 0" : "");
}

static int64_t characters_of(const char *s, size_t len) {
    int64_t count = 0;
    for (size_t i = 0; i < len; i++) count += ((unsigned char)s[i] & 0xc0) != 0x80;
    return count;
}

static bool text_fits(const struct field *field, const json_t *value) {
    if (!json_is_string(value)) return false;
    const char *s = json_string_value(value);
    const size_t len = json_string_length(value);
    const int64_t size = field->in_characters ? characters_of(s, len) : (int64_t)len;
    return size >= field->min && size <= field->max && (len == 0 || text_is_printable_utf8(s, len));
}

static void read_text(struct reader *reader, const struct field *field, const json_t *value, const struct place *at,
                      void *target) {
    if (!text_fits(field, value)) {
        reader_find(reader, at, "must be a string of %" PRId64 " to %" PRId64 " %s without control characters",
                    field->min, field->max, field->in_characters ? "characters" : "bytes");
        return;
    }
    const char *s = json_string_value(value);
    size_t len = json_string_length(value);
    if (field->trimmed && len > 0 && (s[0] == ' ' || s[len - 1] == ' ')) {
        reader_find(reader, at, "must not begin or end with a space");
        return;
    }
    if (field->kind == FIELD_POINTER) {
        memcpy(target, &s, sizeof s);
    } else {
        memcpy(target, s, len + 1);
    }
}

static void find_word_missing(struct reader *reader, const struct field *field, const struct place *at) {
    AUTO_TEXT words = text_new(0);
    for (int64_t i = 0; i < field->max; i++) {
        if (i > 0) text_add_str(&words, ", ");
        text_add_str(&words, field->word(i));
    }
    reader_find(reader, at, "must be one of %s", text_str(&words));
}

static void read_word(struct reader *reader, const struct field *field, const json_t *value, const struct place *at,
                      int64_t *target) {
    const char *s = json_string_value(value); /* NULL for what is no string */
    for (int64_t i = 0; s != NULL && i < field->max; i++) {
        if (strcmp(s, field->word(i)) != 0) continue;
        *target = i;
        return;
    }
    find_word_missing(reader, field, at);
}

static void read_array(struct reader *reader, const struct field *field, const json_t *value, const struct place *at,
                       const json_t **target) {
    const int64_t size = json_is_array(value) ? (int64_t)json_array_size(value) : -1;
    if (size >= field->min && size <= field->max) {
        *target = value;
        return;
    }
    reader_find(reader, at, "must be an array of %" PRId64 " to %" PRId64 " elements", field->min, field->max);
}

static void read_inner_object(struct reader *reader, const struct field *field, const json_t *value,
                              const struct place *at, const json_t **target) {
    if (json_is_object(value) && json_dumpb(value, NULL, 0, JSON_COMPACT) <= (size_t)field->max) {
        *target = value;
        return;
    }
    reader_find(reader, at, "must be an object of at most %" PRId64 " bytes", field->max);
}

void reader_value(struct reader *reader, const struct field *field, const json_t *value, const struct place *at,
                  void *target) {
    switch (field->kind) {
    case FIELD_INTEGER:
        read_integer(reader, field, value, at, target);
        break;
    case FIELD_TEXT:
    case FIELD_POINTER:
        read_text(reader, field, value, at, target);
        break;
    case FIELD_WORD:
        read_word(reader, field, value, at, target);
        break;
    case FIELD_ARRAY:
        read_array(reader, field, value, at, target);
        break;
    case FIELD_OBJECT:
        read_inner_object(reader, field, value, at, target);
        break;
    }
}

/* -- objects */

/* Index of the field called name; count when there is none. */
static size_t field_index(const struct fields *fields, const char *name) {
    size_t i = 0;
    while (i < fields->count && strcmp(fields->list[i].name, name) != 0) i++;
    return i;
}

static void find_missing(struct reader *reader, const struct fields *fields, unsigned seen, const struct place *up) {
    for (size_t i = 0; i < fields->count; i++) {
        if ((seen >> i & 1) != 0 || fields->list[i].optional) continue;
        reader_find(reader, &(struct place){.up = up, .name = fields->list[i].name}, "is required");
    }
}

/* Takes one member; true when it is a field of the table, whether its value was good or not. */
static bool read_member(struct reader *reader, const struct field *field, const json_t *value, const struct place *at,
                        void *target) {
    if (field == NULL) {
        if (!reader->lenient) reader_find(reader, at, "is not a known field");
        return false;
    }
    if (!json_is_null(value) || !field->optional) {
        reader_value(reader, field, value, at, (char *)target + field->offset);
    }
    return true;
}

void reader_object(struct reader *reader, const struct fields *fields, const json_t *object, const struct place *at,
                   void *target) {
    assert(fields->count <= FIELDS_MAX);
    if (!json_is_object(object)) {
        reader_find(reader, at, "must be an object");
        return;
    }
    json_t *members = (json_t *)object; /* the iterator takes no const and changes nothing */
    unsigned seen = 0;
    for (void *it = json_object_iter(members); it != NULL; it = json_object_iter_next(members, it)) {
        const struct place place = {.up = at, .name = json_object_iter_key(it)};
        const size_t i = field_index(fields, place.name);
        const struct field *field = i < fields->count ? &fields->list[i] : NULL;
        if (read_member(reader, field, json_object_iter_value(it), &place, target)) seen |= 1U << i;
    }
    find_missing(reader, fields, seen, at);
}

static bool all_optional(const struct fields *fields) {
    size_t i = 0;
    while (i < fields->count && fields->list[i].optional) i++;
    return i == fields->count;
}

RESULT fields_decode(const struct fields *fields, const char *body, size_t len, struct field_errors *errors,
                     void *target) {
    if (len == 0 && all_optional(fields)) {
        errors->count = 0;
        return OK;
    }
    AUTO_READER reader = {0};
    TRY(reader_open(&reader, body, len, errors));
    reader_object(&reader, fields, reader.root, NULL, target);
    return reader_verdict(&reader);
}

/* Most decimals come back as they were written from 15 digits; what does not gets as many as it needs. */
#define DIGITS_MIN 15
#define DIGITS_MAX 17

static bool reads_back(const char *text, const json_t *value) {
    json_t *read = json_loads(text, JSON_DECODE_ANY, NULL);
    const bool same = json_equal(read, value) != 0;
    json_decref(read);
    return same;
}

void json_compact(struct text *out, const json_t *value) {
    for (int digits = DIGITS_MIN; digits <= DIGITS_MAX; digits++) {
        char *dumped = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(digits));
        const bool fits = dumped != NULL && (digits == DIGITS_MAX || reads_back(dumped, value));
        if (fits) text_add_str(out, dumped);
        free(dumped);
        if (fits) return;
    }
}
