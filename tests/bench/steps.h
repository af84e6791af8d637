/* What a connection of the load driver sends in turn: one request always, or the steps of a cycle from a file.

   A line of the file is a step, its fields separated by tabs:
     http METHOD PATH HEADER BODY TAKE    HEADER, BODY and TAKE may be empty
     resp ARGUMENT…                       one command to Redis
   In all fields these marks are replaced: @c@ (number of the connection, six digits), @n@ (number of the request),
   @product@, @quantity@, @taken@ and @kept@ (what TAKE of an earlier step of the cycle found).
   TAKE: a JSON member of the reply, whose value's text, a string or a number, is @taken@ then; with a "=" before it,
   @kept@.
 */
#pragma once

#include "base/text.h"

#define STEPS_MAX 8
#define STEP_FIELDS_MAX 24
#define STEP_TAKEN_MAX 256
#define STEPS_FILE_MAX 16384

struct step {
    bool resp;
    size_t count;
    const char *fields[STEP_FIELDS_MAX]; /* of http: method, path, header, body, take */
};

struct steps {
    struct step list[STEPS_MAX];
    size_t count;
    char text[STEPS_FILE_MAX]; /* what the fields point into */
};

struct step_values {
    int64_t connection, number, product, quantity;
    const char *taken, *kept;
};

/* False, with a line on stderr, when the file cannot be read. */
bool steps_read(struct steps *steps, const char *path);
/* The same from a text, which is cut up. */
bool steps_parse(struct steps *steps);
/* Appends the form with its marks replaced. */
void step_fill(struct text *out, const char *form, const struct step_values *values);
/* Appends the command as RESP. */
void step_command(struct text *out, const struct step *step, const struct step_values *values);
/* The value of a JSON member in a reply's text; false when it is not there, or too long for out. */
bool step_take(const char *reply, size_t len, const char *member, char out[STEP_TAKEN_MAX]);

/* Bytes of the first whole RESP value; 0: more is to come, -1: no RESP, or an error of Redis. */
int64_t resp_length(const char *data, size_t len);
