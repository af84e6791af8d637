/* Timers on the clock of clock_boot_ms(): one that is due while the machine sleeps has fired when it wakes. */
#pragma once

#include "base/result.h"

#include <stdint.h>

/* A descriptor that is readable from the armed moment on; the caller closes it. INTERNAL with errno. */
RESULT timer_open(int *ret_fd);
/* Absolute; LEASE_NEVER disarms. Forgets that it fired before. */
void timer_arm(int fd, int64_t at_ms);
