/* ISO-8601 durations of days, hours, minutes and seconds: what java.time.Duration writes and ShedLock users know.
   Months and years have no fixed length and are refused, as are weeks and signs. Pure functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whole of data[0..len), "P1D", "PT15M", "PT1.5S", "P1DT2H3M4.005S": at least one part, each unit once and in order,
   a fraction (up to 9 digits) on seconds only. False for anything else, for parts of a millisecond, and past int64. */
bool duration_parse(const char *data, size_t len, int64_t *ret_ms);

/* The shortest spelling of ms >= 0 in the units above ("PT0S" for 0); out has DURATION_SIZE bytes at least. */
#define DURATION_SIZE 40
void duration_format(int64_t ms, char *out);
