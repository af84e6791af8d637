/* One clock that tests can move: monotonic to wait, wall to show. Any thread. */
#pragma once

#include <stdint.h>

/* Monotonic milliseconds / microseconds since an arbitrary start; never go back. */
int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);
/* As clock_mono_ms, on the clock that goes on while the machine sleeps (CLOCK_BOOTTIME): for deadlines that somebody
   else keeps too. Moved with the monotonic one. */
int64_t clock_boot_ms(void);
/* Unix milliseconds. */
int64_t clock_wall_ms(void);
/* Tests: added to what the functions above return. */
void clock_shift(int64_t mono_ms, int64_t wall_ms);
