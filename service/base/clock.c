/* The one reader of the system clocks. The shifts are zero outside tests. */
#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

static _Atomic int64_t mono_shift_ms;
static _Atomic int64_t wall_shift_ms;

static int64_t read_us(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_mono_us(void) {
    return read_us(CLOCK_MONOTONIC) + atomic_load_explicit(&mono_shift_ms, memory_order_relaxed) * 1000;
}

int64_t clock_mono_ms(void) { return clock_mono_us() / 1000; }

int64_t clock_boot_ms(void) {
    return read_us(CLOCK_BOOTTIME) / 1000 + atomic_load_explicit(&mono_shift_ms, memory_order_relaxed);
}

int64_t clock_wall_ms(void) {
    return read_us(CLOCK_REALTIME) / 1000 + atomic_load_explicit(&wall_shift_ms, memory_order_relaxed);
}

void clock_shift(int64_t mono_ms, int64_t wall_ms) {
    atomic_store_explicit(&mono_shift_ms, mono_ms, memory_order_relaxed);
    atomic_store_explicit(&wall_shift_ms, wall_ms, memory_order_relaxed);
}
