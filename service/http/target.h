/* The request target, decoded by us from its raw bytes: '?' splits the query off, '/' splits the path, and only then is
 * each piece percent-decoded, once. So `a%2Fb` stays one segment. Pure; any thread. */
#pragma once

#include "base/result.h"

#include <stddef.h>

#define TARGET_SEGMENTS_MAX 8 /* the deepest path of the API has 6 */
#define TARGET_PARAMS_MAX 12  /* more than any endpoint knows */

struct target_param {
    const char *name;
    const char *value; /* "" when only the name was sent */
};

struct target {
    const char *segments[TARGET_SEGMENTS_MAX];
    size_t segment_count; /* TARGET_SEGMENTS_MAX + 1 when there are more: no route is that deep */
    struct target_param params[TARGET_PARAMS_MAX];
    size_t param_count;
};

/* Decodes in place: the result points into raw and lives as long. raw is origin form ("/v1/x?y=z") or absolute form
 * ("http://host/v1/x"). INVALID_REQUEST: no leading '/', a broken escape, a control character, malformed UTF-8, or too
 * many parameters. */
RESULT target_decode(char *raw, struct target *ret);
/* First value of a parameter; NULL when absent. */
const char *target_param(const struct target *target, const char *name);
