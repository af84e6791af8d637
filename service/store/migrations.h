/* The migrations of sql/ as this binary carries them, and how their text is taken apart. Pure. */
#pragma once

#include "base/text.h"

#include <stddef.h>

struct migration {
    int version; /* ascending from 1 */
    const char *name;
    const char *text;
};

extern const struct migration migrations[];
extern const size_t migration_count;

/* The next statement from *position on, without its semicolon and without comment lines; *position moves behind it.
   False when none is left. A statement ends with a semicolon at the end of a line; a comment is a line that begins with
   "--". */
bool migration_next(const char **position, struct text *statement);
