/* The promises of loop.h against real descriptors. Every run has an alarm: a loop that sleeps when it must not fails
   the test instead of hanging it. */
#include "loop/loop.h"

#include "base/clock.h"

#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { STUCK_SECONDS = 10 };

/* What the callbacks of a test share. */
struct scene {
    struct loop *loop;
    struct loop_timer *timer;
    struct loop_watch *watch, *other;
    struct loop_wake *wake;
    int fds[2];
    int calls, other_calls, turns, events;
    int stop_at; /* stop the loop at this many calls */
    int64_t at_us;
};

static struct scene scene;

static int setup(void **state) {
    memset(&scene, 0, sizeof scene);
    scene.loop = loop_new();
    scene.stop_at = 1;
    alarm(STUCK_SECONDS);
    return socketpair(AF_UNIX, SOCK_STREAM, 0, scene.fds);
}

static int teardown(void **state) {
    scene.timer = loop_timer_free(scene.timer);
    scene.watch = loop_watch_free(scene.watch);
    scene.other = loop_watch_free(scene.other);
    scene.wake = loop_wake_free(scene.wake);
    scene.loop = loop_free(scene.loop);
    if (scene.fds[0] >= 0) close(scene.fds[0]);
    if (scene.fds[1] >= 0) close(scene.fds[1]);
    alarm(0);
    return 0;
}

static void count_call(void) {
    scene.at_us = clock_mono_us();
    if (++scene.calls >= scene.stop_at) loop_stop(scene.loop);
}

static void on_timer(void *arg) { count_call(); }

static void on_watch(void *arg, int events) {
    scene.events = events;
    count_call();
}

static void on_watch_read(void *arg, int events) {
    char byte;
    scene.events = events;
    if (read(scene.fds[0], &byte, 1) == 1) count_call();
}

static void send_byte(void) { assert_int_equal(write(scene.fds[1], "x", 1), 1); }

/* Timers */

static void loop_timer__when_one_shot__then_once_and_not_early(void **state) {
    scene.timer = loop_timer_new(scene.loop, on_timer, NULL);
    assert_false(loop_timer_is_active(scene.timer));
    int64_t begin_us = clock_mono_us();
    loop_timer_start(scene.timer, 30, 0);
    assert_true(loop_timer_is_active(scene.timer));
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 1);
    assert_false(loop_timer_is_active(scene.timer));
    assert_true(scene.at_us - begin_us >= 29000);
}

static void loop_timer__when_started_late_in_a_round__then_counts_from_the_call(void **state) {
    scene.timer = loop_timer_new(scene.loop, on_timer, NULL);
    int64_t begin_us = clock_mono_us();
    while (clock_mono_us() - begin_us < 40000) continue; /* the loop's own time stands still meanwhile */
    int64_t start_us = clock_mono_us();
    loop_timer_start(scene.timer, 20, 0);
    loop_run(scene.loop);
    assert_true(scene.at_us - start_us >= 19000);
}

static void loop_timer__when_repeating__then_until_stopped(void **state) {
    scene.stop_at = 3;
    scene.timer = loop_timer_new(scene.loop, on_timer, NULL);
    loop_timer_start(scene.timer, 1, 2);
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 3);
    assert_true(loop_timer_is_active(scene.timer));
    loop_timer_stop(scene.timer);
    assert_false(loop_timer_is_active(scene.timer));
}

static void loop_timer__when_started_again__then_the_first_start_is_forgotten(void **state) {
    struct loop_timer *late = scene.timer = loop_timer_new(scene.loop, on_timer, NULL);
    int64_t begin_us = clock_mono_us();
    loop_timer_start(late, 1, 0);
    loop_timer_start(late, 40, 0);
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 1);
    assert_true(scene.at_us - begin_us >= 39000);
}

static void free_own_timer(void *arg) {
    scene.timer = loop_timer_free(scene.timer);
    count_call();
}

static void loop_timer__when_freed_in_its_callback__then_safe(void **state) {
    scene.timer = loop_timer_new(scene.loop, free_own_timer, NULL);
    loop_timer_start(scene.timer, 0, 1);
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 1);
    assert_null(scene.timer);
}

static void start_own_timer(void *arg) {
    scene.other_calls++;
    loop_timer_start(scene.timer, 0, 0);
}

static void loop_timer__when_it_starts_itself_with_zero__then_descriptors_are_still_served(void **state) {
    scene.timer = loop_timer_new(scene.loop, start_own_timer, NULL);
    scene.watch = loop_watch_new(scene.loop, scene.fds[0], on_watch, NULL);
    loop_watch_set(scene.watch, LOOP_READ);
    loop_timer_start(scene.timer, 0, 0);
    send_byte();
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 1);
    assert_true(scene.other_calls >= 1);
}

static void count_turn(void *arg) { scene.turns++; }

static void start_and_count(void *arg) {
    loop_timer_start(scene.timer, 0, 0);
    count_call();
}

static void loop_timer__when_it_starts_itself_with_zero__then_once_a_turn(void **state) {
    scene.stop_at = 20;
    loop_on_turn(scene.loop, count_turn, NULL);
    scene.timer = loop_timer_new(scene.loop, start_and_count, NULL);
    loop_timer_start(scene.timer, 0, 0);
    loop_run(scene.loop);
    assert_true(scene.turns >= scene.calls);
}

/* Watches */

static void loop_watch__when_readable__then_told_until_read(void **state) {
    scene.stop_at = 2;
    scene.watch = loop_watch_new(scene.loop, scene.fds[0], on_watch_read, NULL);
    loop_watch_set(scene.watch, LOOP_READ);
    send_byte();
    send_byte();
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 2);
    assert_int_equal(scene.events, LOOP_READ);
}

static void loop_watch__when_both_asked_and_ready__then_told_together(void **state) {
    scene.watch = loop_watch_new(scene.loop, scene.fds[0], on_watch, NULL);
    loop_watch_set(scene.watch, LOOP_READ | LOOP_WRITE);
    send_byte();
    loop_run(scene.loop);
    assert_int_equal(scene.events, LOOP_READ | LOOP_WRITE);
}

static void loop_watch__when_peer_hangs_up__then_hangup_without_reading(void **state) {
    scene.watch = loop_watch_new(scene.loop, scene.fds[0], on_watch, NULL);
    loop_watch_set(scene.watch, LOOP_HANGUP);
    send_byte(); /* unread data alone is no hang-up */
    close(scene.fds[1]);
    scene.fds[1] = -1;
    loop_run(scene.loop);
    assert_int_equal(scene.events, LOOP_HANGUP);
}

static void loop_watch__when_only_hangup_is_asked__then_data_is_not_told(void **state) {
    scene.watch = loop_watch_new(scene.loop, scene.fds[0], on_watch, NULL);
    scene.timer = loop_timer_new(scene.loop, on_timer, NULL);
    loop_watch_set(scene.watch, LOOP_HANGUP);
    loop_timer_start(scene.timer, 20, 0);
    send_byte();
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 1);
    assert_int_equal(scene.events, 0);
}

static void loop_watch__when_paused__then_not_told_until_set_again(void **state) {
    scene.watch = loop_watch_new(scene.loop, scene.fds[0], on_watch, NULL);
    scene.timer = loop_timer_new(scene.loop, on_timer, NULL);
    loop_watch_set(scene.watch, LOOP_READ);
    loop_watch_set(scene.watch, 0);
    loop_timer_start(scene.timer, 20, 0);
    send_byte();
    loop_run(scene.loop);
    assert_int_equal(scene.events, 0);
    loop_watch_set(scene.watch, LOOP_READ);
    loop_run(scene.loop);
    assert_int_equal(scene.events, LOOP_READ);
}

/* Two ends of a TCP connection over loopback. */
static void connect_tcp(int ends[2]) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(ends[0], (struct sockaddr *)&at, size), 0);
    ends[1] = accept(listener, NULL, NULL);
    assert_true(ends[1] >= 0);
    close(listener);
}

static void loop_watch__when_connection_is_reset__then_all_asked_events_once_a_set(void **state) {
    int ends[2];
    connect_tcp(ends);
    scene.watch = loop_watch_new(scene.loop, ends[0], on_watch, NULL);
    scene.timer = loop_timer_new(scene.loop, on_timer, NULL);
    scene.stop_at = 2;
    loop_watch_set(scene.watch, LOOP_READ | LOOP_HANGUP);
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    setsockopt(ends[1], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(ends[1]);
    loop_timer_start(scene.timer, 20, 0);
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 2); /* the watch once, then the timer: an error does not keep the loop busy */
    assert_int_equal(scene.events, LOOP_READ | LOOP_HANGUP);
    scene.events = 0;
    loop_watch_set(scene.watch, LOOP_READ | LOOP_HANGUP);
    loop_run(scene.loop);
    assert_int_equal(scene.events, LOOP_READ | LOOP_HANGUP);
    scene.watch = loop_watch_free(scene.watch);
    close(ends[0]);
}

static void free_own_watch(void *arg, int events) {
    scene.watch = loop_watch_free(scene.watch);
    count_call();
}

static void loop_watch__when_freed_in_its_callback__then_safe(void **state) {
    scene.watch = loop_watch_new(scene.loop, scene.fds[0], free_own_watch, NULL);
    loop_watch_set(scene.watch, LOOP_READ);
    send_byte();
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 1);
}

static void free_both(void *arg, int events) {
    scene.watch = loop_watch_free(scene.watch);
    scene.other = loop_watch_free(scene.other);
    count_call();
}

static void loop_watch__when_freed_by_another_of_the_same_poll__then_not_called(void **state) {
    scene.watch = loop_watch_new(scene.loop, scene.fds[0], free_both, NULL);
    scene.other = loop_watch_new(scene.loop, scene.fds[1], free_both, NULL);
    loop_watch_set(scene.watch, LOOP_WRITE);
    loop_watch_set(scene.other, LOOP_WRITE);
    scene.timer = loop_timer_new(scene.loop, on_timer, NULL);
    loop_timer_start(scene.timer, 20, 0);
    scene.stop_at = 2;
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 2); /* one watch and the timer */
}

static void loop_watch__when_number_is_used_again__then_the_new_one_is_watched(void **state) {
    scene.watch = loop_watch_new(scene.loop, scene.fds[0], on_watch, NULL);
    loop_watch_set(scene.watch, LOOP_READ);
    int number = scene.fds[0];
    scene.watch = loop_watch_free(scene.watch);
    close(scene.fds[0]);
    close(scene.fds[1]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, scene.fds), 0);
    assert_int_equal(scene.fds[0], number);
    scene.watch = loop_watch_new(scene.loop, scene.fds[0], on_watch, NULL);
    loop_watch_set(scene.watch, LOOP_READ);
    send_byte();
    loop_run(scene.loop);
    assert_int_equal(scene.events, LOOP_READ);
}

/* Wakes and signals */

static void on_wake(void *arg) { count_call(); }

static void *send_from_thread(void *wake) {
    loop_wake_send(wake);
    return NULL;
}

static void loop_wake__when_another_thread_sends__then_called_on_the_loop(void **state) {
    pthread_t thread;
    scene.wake = loop_wake_new(scene.loop, on_wake, NULL);
    assert_int_equal(pthread_create(&thread, NULL, send_from_thread, scene.wake), 0);
    loop_run(scene.loop);
    pthread_join(thread, NULL);
    assert_int_equal(scene.calls, 1);
}

static void loop_wake__when_sent_often_before_it_runs__then_merged(void **state) {
    scene.stop_at = 2;
    scene.wake = loop_wake_new(scene.loop, on_wake, NULL);
    scene.timer = loop_timer_new(scene.loop, on_timer, NULL);
    for (int i = 0; i < 1000; i++) loop_wake_send(scene.wake);
    loop_timer_start(scene.timer, 20, 0);
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 2); /* one wake and the timer */
}

static void on_signal(void *arg, int signum) {
    scene.events = signum;
    count_call();
}

static void loop_signal__when_raised__then_told_its_number(void **state) {
    struct loop_signal *sig = loop_signal_new(scene.loop, SIGUSR1, on_signal, NULL);
    raise(SIGUSR1);
    loop_run(scene.loop);
    assert_int_equal(scene.events, SIGUSR1);
    assert_null(loop_signal_free(sig));
}

static void loop_free__when_signal_is_on_its_way__then_still_ends(void **state) {
    struct loop_signal *sig = loop_signal_new(scene.loop, SIGUSR1, on_signal, NULL);
    raise(SIGUSR1);
    assert_null(loop_signal_free(sig));
}

/* Turns */

static void stop_when_called(void *arg) {
    scene.turns++;
    if (scene.calls > 0) loop_stop(scene.loop);
}

/* These three would sleep for ever if the turn callbacks ran only before the event of their round. */

static void loop_on_turn__when_a_descriptor_was_served__then_called_before_the_loop_sleeps(void **state) {
    scene.stop_at = 100;
    loop_on_turn(scene.loop, stop_when_called, NULL);
    scene.watch = loop_watch_new(scene.loop, scene.fds[0], on_watch_read, NULL);
    loop_watch_set(scene.watch, LOOP_READ);
    send_byte();
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 1);
}

static void loop_on_turn__when_a_timer_fired__then_called_before_the_loop_sleeps(void **state) {
    scene.stop_at = 100;
    loop_on_turn(scene.loop, stop_when_called, NULL);
    scene.timer = loop_timer_new(scene.loop, on_timer, NULL);
    loop_timer_start(scene.timer, 5, 0);
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 1);
}

static void loop_on_turn__when_a_wake_came__then_called_before_the_loop_sleeps(void **state) {
    scene.stop_at = 100;
    loop_on_turn(scene.loop, stop_when_called, NULL);
    scene.wake = loop_wake_new(scene.loop, on_wake, NULL);
    loop_wake_send(scene.wake);
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 1);
}

static int seen_calls;
static void remember_calls(void *arg) { seen_calls = scene.calls; }

static void loop_stop__when_called_by_a_descriptor__then_the_turn_is_finished(void **state) {
    seen_calls = 0;
    loop_on_turn(scene.loop, remember_calls, NULL);
    scene.watch = loop_watch_new(scene.loop, scene.fds[0], on_watch_read, NULL);
    loop_watch_set(scene.watch, LOOP_READ);
    send_byte();
    loop_run(scene.loop);
    assert_int_equal(seen_calls, 1);
}

static char order[4];
static int order_len;
static void add_to_order(void *arg) {
    if (order_len < 3) order[order_len++] = *(const char *)arg;
    if (order_len == 3) loop_stop(scene.loop);
}

static void loop_on_turn__when_several__then_in_the_order_of_registration(void **state) {
    memset(order, 0, sizeof order);
    order_len = 0;
    loop_on_turn(scene.loop, add_to_order, "a");
    loop_on_turn(scene.loop, add_to_order, "b");
    loop_on_turn(scene.loop, add_to_order, "c");
    loop_run(scene.loop);
    assert_string_equal(order, "abc");
}

static char loop_off_arg[] = "x";

static void loop_off_turn__when_called__then_the_others_keep_their_order(void **state) {
    memset(order, 0, sizeof order);
    order_len = 0;
    loop_on_turn(scene.loop, add_to_order, "a");
    loop_on_turn(scene.loop, add_to_order, loop_off_arg);
    loop_on_turn(scene.loop, add_to_order, "b");
    loop_on_turn(scene.loop, add_to_order, "c");
    loop_off_turn(scene.loop, add_to_order, order); /* never registered: harmless */
    loop_off_turn(scene.loop, add_to_order, loop_off_arg);
    loop_run(scene.loop);
    assert_string_equal(order, "abc");
}

static void spin_a_hundred_times(void *arg) {
    if (++scene.turns < 100)
        loop_spin(scene.loop);
    else
        loop_stop(scene.loop);
}

static void loop_spin__when_asked_each_turn__then_no_sleep_between(void **state) {
    loop_on_turn(scene.loop, spin_a_hundred_times, NULL);
    int64_t begin_us = clock_mono_us();
    loop_run(scene.loop);
    assert_in_range(scene.turns, 100, 101);
    assert_true(clock_mono_us() - begin_us < 5000000);
}

static void spin_once(void *arg) {
    if (++scene.turns == 1) loop_spin(scene.loop);
}

static void loop_spin__when_no_longer_asked__then_the_loop_sleeps_again(void **state) {
    loop_on_turn(scene.loop, spin_once, NULL);
    scene.timer = loop_timer_new(scene.loop, on_timer, NULL);
    loop_timer_start(scene.timer, 50, 0);
    loop_run(scene.loop);
    assert_true(scene.turns < 10);
}

static void spin_until_called(void *arg) {
    scene.turns++;
    loop_spin(scene.loop);
}

static void loop_spin__when_spinning__then_descriptors_are_still_served(void **state) {
    loop_on_turn(scene.loop, spin_until_called, NULL);
    scene.watch = loop_watch_new(scene.loop, scene.fds[0], on_watch, NULL);
    loop_watch_set(scene.watch, LOOP_READ);
    send_byte();
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 1);
}

static void loop_free__when_null__then_null(void **state) {
    assert_null(loop_free(NULL));
    assert_null(loop_timer_free(NULL));
    assert_null(loop_watch_free(NULL));
    assert_null(loop_wake_free(NULL));
    assert_null(loop_signal_free(NULL));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(loop_timer__when_one_shot__then_once_and_not_early),
        TEST(loop_timer__when_started_late_in_a_round__then_counts_from_the_call),
        TEST(loop_timer__when_repeating__then_until_stopped),
        TEST(loop_timer__when_started_again__then_the_first_start_is_forgotten),
        TEST(loop_timer__when_freed_in_its_callback__then_safe),
        TEST(loop_timer__when_it_starts_itself_with_zero__then_descriptors_are_still_served),
        TEST(loop_timer__when_it_starts_itself_with_zero__then_once_a_turn),
        TEST(loop_watch__when_readable__then_told_until_read),
        TEST(loop_watch__when_both_asked_and_ready__then_told_together),
        TEST(loop_watch__when_peer_hangs_up__then_hangup_without_reading),
        TEST(loop_watch__when_only_hangup_is_asked__then_data_is_not_told),
        TEST(loop_watch__when_paused__then_not_told_until_set_again),
        TEST(loop_watch__when_connection_is_reset__then_all_asked_events_once_a_set),
        TEST(loop_watch__when_freed_in_its_callback__then_safe),
        TEST(loop_watch__when_freed_by_another_of_the_same_poll__then_not_called),
        TEST(loop_watch__when_number_is_used_again__then_the_new_one_is_watched),
        TEST(loop_wake__when_another_thread_sends__then_called_on_the_loop),
        TEST(loop_wake__when_sent_often_before_it_runs__then_merged),
        TEST(loop_signal__when_raised__then_told_its_number),
        TEST(loop_free__when_signal_is_on_its_way__then_still_ends),
        TEST(loop_on_turn__when_a_descriptor_was_served__then_called_before_the_loop_sleeps),
        TEST(loop_on_turn__when_a_timer_fired__then_called_before_the_loop_sleeps),
        TEST(loop_on_turn__when_a_wake_came__then_called_before_the_loop_sleeps),
        TEST(loop_stop__when_called_by_a_descriptor__then_the_turn_is_finished),
        TEST(loop_on_turn__when_several__then_in_the_order_of_registration),
        TEST(loop_off_turn__when_called__then_the_others_keep_their_order),
        TEST(loop_spin__when_asked_each_turn__then_no_sleep_between),
        TEST(loop_spin__when_no_longer_asked__then_the_loop_sleeps_again),
        TEST(loop_spin__when_spinning__then_descriptors_are_still_served),
        TEST(loop_free__when_null__then_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
