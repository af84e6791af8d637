/* The error table in memory. Row 0 (ERROR_NONE) stays empty: success has nothing to tell. */
#include "base/result.h"

#include <stddef.h>
#include <string.h>

static const struct error_info infos[ERROR_COUNT] = {
#define ERR(name_, code_, status_, slug_, title_, advice_)                                                             \
    [ERROR_##name_] = {#name_, code_, status_, slug_, title_, advice_},
#define INNER(name_, shown_as_, text_) [ERROR_##name_] = {#name_, NULL, 0, NULL, text_, NULL},
#include "base/errors.def"
#undef ERR
#undef INNER
};

static const enum error shown[ERROR_COUNT] = {
#define ERR(name_, code_, status_, slug_, title_, advice_) [ERROR_##name_] = ERROR_##name_,
#define INNER(name_, shown_as_, text_) [ERROR_##name_] = ERROR_##shown_as_,
#include "base/errors.def"
#undef ERR
#undef INNER
};

const struct error_info *error_info(enum error error) { return &infos[error]; }

enum error error_public(enum error error) { return shown[error]; }

enum error error_by_slug(const char *slug) {
    for (int i = 1; i < ERROR_COUNT; i++)
        if (infos[i].slug && strcmp(infos[i].slug, slug) == 0) return (enum error)i;
    return ERROR_NONE;
}
