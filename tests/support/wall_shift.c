/* Preloaded into a program, it shifts the wall clock by WALL_SHIFT_S seconds and leaves all other clocks alone:
   deadlines and timers stay what they are, only what the machine believes the time of day to be differs. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

typedef int (*clock_gettime_fn)(clockid_t id, struct timespec *out);

static long shift_s(void) {
    const char *text = getenv("WALL_SHIFT_S");
    return text == NULL ? 0 : strtol(text, NULL, 10);
}

static clock_gettime_fn real(void) {
    static clock_gettime_fn fn;
    if (fn == NULL) *(void **)&fn = dlsym(RTLD_NEXT, "clock_gettime");
    return fn;
}

int clock_gettime(clockid_t id, struct timespec *out) {
    int status = real()(id, out);
    if (status == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) out->tv_sec += shift_s();
    return status;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    if (out != NULL) *out = now.tv_sec;
    return now.tv_sec;
}
