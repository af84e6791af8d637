/* Table-driven reading of JSON objects: a table says which fields an object has and where each value goes. Private to
   codec/. Pure; any thread.

   A reader holds one parsed body and collects findings; nothing is refused at the first fault, so that a caller sees
   all of them. Values that gave a finding are left as they were. null in an optional field means absent. */
#pragma once

#include "codec/json.h"

#include <jansson.h>

enum field_kind {
    FIELD_INTEGER, /* → int64_t; min..max */
    FIELD_TEXT, /* → char[]; min..max bytes, printable UTF-8. The array holds max + 1 bytes (4*max + 1: characters) */
    FIELD_POINTER, /* as FIELD_TEXT, → const char *, valid while the reader is open */
    FIELD_WORD,    /* → int64_t: the index of the word among max words */
    FIELD_ARRAY,   /* → const json_t *, valid while the reader is open; min..max elements */
    FIELD_OBJECT,  /* → const json_t *, valid while the reader is open; its text has at most max bytes */
};

struct field {
    const char *name;
    size_t offset; /* of the value in the target */
    int64_t min, max;
    const char *(*word)(int64_t index); /* FIELD_WORD: its words, 0..max-1 */
    enum field_kind kind;
    bool optional;
    bool not_zero;      /* FIELD_INTEGER: 0 is refused */
    bool trimmed;       /* FIELD_TEXT: no space at its ends: the database compares such texts as equal */
    bool in_characters; /* FIELD_TEXT: min..max counts characters, not bytes */
};

#define FIELDS_MAX 16 /* fields of one object */
struct fields {
    const struct field *list;
    size_t count;
};

/* Where a value stands: a chain up to the document, which is NULL. Rendered only for a finding. */
struct place {
    const struct place *up;
    const char *name; /* NULL = the element `index` of an array */
    size_t index;
};

struct reader {
    json_t *root; /* owned */
    struct field_errors *errors;
    bool lenient; /* unknown fields are ignored */
    bool wide;    /* integers arrive as reals, because one is -0 or beyond int64: the body is refused in any case */
};
#define AUTO_READER __attribute__((cleanup(reader_done))) struct reader

/* Parses body into a zeroed reader; errors is emptied first. INVALID_REQUEST when it is no JSON. */
RESULT reader_open(struct reader *reader, const char *body, size_t len, struct field_errors *errors);
/* INVALID_REQUEST when anything was found. */
RESULT reader_verdict(struct reader *reader);
void reader_done(struct reader *reader);

void reader_find(struct reader *reader, const struct place *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reads one value by a field's rule; at is the place of the value. */
void reader_value(struct reader *reader, const struct field *field, const json_t *value, const struct place *at,
                  void *target);
/* Reads an object's fields; what is no object, or has missing or unknown fields, gives findings. */
void reader_object(struct reader *reader, const struct fields *fields, const json_t *object, const struct place *at,
                   void *target);

/* A whole body of plain fields: open, read, verdict. An empty body is {} when every field is optional. */
RESULT fields_decode(const struct fields *fields, const char *body, size_t len, struct field_errors *errors,
                     void *target);

/* Appends the text of a value without blanks; a number with decimals reads 0.1 again, not 0.10000000000000001. */
void json_compact(struct text *out, const json_t *value);
