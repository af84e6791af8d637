/* The one way a fallible function answers. 16 bytes, returned in registers; never ignored.
   code 0 is success; any other is a row of errors.def. `native` is the foreign error number (errno, MySQL),
   `where` the place the failure began (static storage). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum error {
    ERROR_NONE = 0,
#define ERR(name, code, status, slug, title, advice) ERROR_##name,
#define INNER(name, shown_as, text) ERROR_##name,
#include "base/errors.def"
#undef ERR
#undef INNER
    ERROR_COUNT
};

struct result {
    int32_t code; /* enum error */
    int32_t native;
    const char *where;
};

#define RESULT __attribute__((warn_unused_result)) struct result

#define STRINGIZE_(x) #x
#define STRINGIZE(x) STRINGIZE_(x)
#define HERE __FILE__ ":" STRINGIZE(__LINE__)

#define OK ((struct result){0, 0, 0})
#define FAILURE(error_, native_) ((struct result){ERROR_##error_, (int32_t)(native_), HERE})

/* The only two macros that hide a return. */
#define FAIL(error_, native_) return FAILURE(error_, native_)
#define TRY(expr)                                                                                                      \
    do {                                                                                                               \
        struct result try_result_ = (expr);                                                                            \
        if (__builtin_expect(try_result_.code != 0, 0)) return try_result_;                                            \
    } while (0)

static inline bool failed(struct result r) { return r.code != 0; }

/* What a client can see of an error. For INNER rows this is the row they are shown as. */
struct error_info {
    const char *name;   /* "INSUFFICIENT_STOCK": metric label and log */
    const char *code;   /* "PRD-002"; NULL for inner rows */
    int status;         /* HTTP status */
    const char *slug;   /* "insufficient-stock" */
    const char *title;  /* one line */
    const char *advice; /* what to do */
};

/* Row of `error` as written. error must be in 1..ERROR_COUNT-1. Any thread. */
const struct error_info *error_info(enum error error);
/* The public error an error is shown as (itself when public). Any thread. */
enum error error_public(enum error error);
/* Finds a public error by slug; ERROR_NONE when there is none. Any thread. */
enum error error_by_slug(const char *slug);
