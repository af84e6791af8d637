/* Sleeping, waking and stopping of a background thread. Long sleeps stand for "would not end by itself". */
#include "base/thread.h"

#include "base/clock.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FOREVER_MS 3600000
#define PATIENCE_MS 10000

struct sleeper {
    atomic_int rounds;
    int64_t sleep_ms;
};

static void sleep_in_rounds(struct thread *self, void *arg) {
    struct sleeper *sleeper = arg;
    do atomic_fetch_add(&sleeper->rounds, 1);
    while (thread_sleep(self, sleeper->sleep_ms));
}

static struct thread *start(struct sleeper *sleeper) {
    return thread_new(&(struct thread_options){.name = "sleeper", .run = sleep_in_rounds, .arg = sleeper});
}

static void wait_for_round(struct sleeper *sleeper, int round) {
    int64_t until_ms = clock_mono_ms() + PATIENCE_MS;
    while (atomic_load(&sleeper->rounds) < round && clock_mono_ms() < until_ms) (void)poll(NULL, 0, 1);
    assert_true(atomic_load(&sleeper->rounds) >= round);
}

static void thread_free__when_it_sleeps__then_ends_at_once(void **state) {
    struct sleeper sleeper = {.sleep_ms = FOREVER_MS};
    struct thread *thread = start(&sleeper);
    wait_for_round(&sleeper, 1);
    assert_null(thread_free(thread));
    assert_int_equal(atomic_load(&sleeper.rounds), 1);
}

static void thread_free__when_null__then_harmless(void **state) {
    assert_null(thread_free(NULL));
    thread_stop(NULL);
    assert_true(thread_is_over(NULL));
}

static void thread_stop__when_asked_before_it_sleeps__then_it_does_not(void **state) {
    struct sleeper sleeper = {.sleep_ms = FOREVER_MS};
    struct thread *thread = start(&sleeper);
    thread_stop(thread);
    int64_t until_ms = clock_mono_ms() + PATIENCE_MS;
    while (!thread_is_over(thread) && clock_mono_ms() < until_ms) (void)poll(NULL, 0, 1);
    assert_true(thread_is_over(thread));
    assert_true(thread_is_stopping(thread));
    thread_free(thread);
}

static void thread_wake__when_it_sleeps__then_one_more_round(void **state) {
    struct sleeper sleeper = {.sleep_ms = FOREVER_MS};
    struct thread *thread = start(&sleeper);
    for (int round = 1; round <= 3; round++) {
        wait_for_round(&sleeper, round);
        thread_wake(thread);
    }
    wait_for_round(&sleeper, 4);
    thread_free(thread);
}

static void thread_sleep__when_nobody_wakes__then_ends_by_itself(void **state) {
    struct sleeper sleeper = {.sleep_ms = 1};
    struct thread *thread = start(&sleeper);
    wait_for_round(&sleeper, 5);
    assert_false(thread_is_over(thread));
    thread_free(thread);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thread_free__when_it_sleeps__then_ends_at_once),
        cmocka_unit_test(thread_free__when_null__then_harmless),
        cmocka_unit_test(thread_stop__when_asked_before_it_sleeps__then_it_does_not),
        cmocka_unit_test(thread_wake__when_it_sleeps__then_one_more_round),
        cmocka_unit_test(thread_sleep__when_nobody_wakes__then_ends_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
