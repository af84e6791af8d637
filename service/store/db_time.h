/* Civil time (UTC) from Unix milliseconds and back, without the C library's time zones. Pure. */
#pragma once

#include <stdint.h>

struct civil {
    unsigned year, month, day, hour, minute, second, microsecond;
};

/* unix_ms from 0000-03-01 on. */
struct civil civil_of(int64_t unix_ms);
/* Sub-milliseconds are cut off. */
int64_t civil_to_ms(const struct civil *civil);
