/* A look at JSON text before it is parsed, for what the parser would not tell or not survive. Private to codec/. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct scan {
    size_t depth;       /* deepest nesting of arrays and objects; {} is 1 */
    bool negative_zero; /* some number is -0, which a parser turns into 0 */
};
/* Needs no well-formed text and never reads beyond len. On well-formed text both answers are exact. */
struct scan scan_json(const char *body, size_t len);
