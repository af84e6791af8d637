#include "run/timer.h"

#include "run/lease.h"

#include <assert.h>
#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>

RESULT timer_open(int *ret_fd) {
    int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0) FAIL(INTERNAL, errno);
    *ret_fd = fd;
    return OK;
}

void timer_arm(int fd, int64_t at_ms) {
    struct itimerspec when = {0};
    if (at_ms != LEASE_NEVER) {
        int64_t moment_ms = at_ms > 0 ? at_ms : 1; /* zero would disarm */
        when.it_value = (struct timespec){moment_ms / 1000, moment_ms % 1000 * 1000000};
    }
    int failed_ = timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
    assert(failed_ == 0);
    (void)failed_;
}
