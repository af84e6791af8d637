/* The event loop: sole user of <uv.h>. One thread runs it and owns all it made; only loop_wake_send may be called from
   others. Callbacks never block. Order in one turn: descriptors, wakes and signals, then due timers, then the turn
   callbacks in the order they were registered, then the loop sleeps. So no event waits for the next one before the turn
   callbacks have seen it. A foreign call that fails here is a fault of the deployment or of the caller: it ends the
   process with one log line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct loop_timer;
struct loop_watch;
struct loop_wake;
struct loop_signal;

enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_HANGUP = 4 };

/* Does not return on failure to create one (out of descriptors at start). */
struct loop *loop_new(void);
/* Takes NULL; returns NULL. Everything made on the loop has been freed before. Runs pending closes. */
struct loop *loop_free(struct loop *loop);
/* Until loop_stop. */
void loop_run(struct loop *loop);
/* From a callback: loop_run returns after this turn. What the turn's last poll brought is handled, and the turn
   callbacks run once more after it. */
void loop_stop(struct loop *loop);

/* Timers: one shot when repeat_ms is 0. after_ms counts from the call and never ends early; started by a timer's
   callback it ends in a later turn. Starting a running timer restarts it. free takes NULL, returns NULL, is safe inside
   its own callback. */
struct loop_timer *loop_timer_new(struct loop *loop, void (*fn)(void *), void *arg);
void loop_timer_start(struct loop_timer *timer, int64_t after_ms, int64_t repeat_ms);
void loop_timer_stop(struct loop_timer *timer);
bool loop_timer_is_active(const struct loop_timer *timer);
struct loop_timer *loop_timer_free(struct loop_timer *timer);

/* Watches a descriptor it does not own, level-triggered (LOOP_HANGUP too: pause or free after it); makes it
   non-blocking. events 0 = pause, as at the start. One watch a descriptor. An error on the descriptor is reported as
   all asked events and pauses the watch until it is set again. free takes NULL, returns NULL, is safe inside its own
   callback; call it before closing the descriptor. */
struct loop_watch *loop_watch_new(struct loop *loop, int fd, void (*fn)(void *, int events), void *arg);
void loop_watch_set(struct loop_watch *watch, int events);
struct loop_watch *loop_watch_free(struct loop_watch *watch);

/* Another thread asks for a callback on the loop; sends before it runs merge into one. No send may follow free. */
struct loop_wake *loop_wake_new(struct loop *loop, void (*fn)(void *), void *arg);
void loop_wake_send(struct loop_wake *wake);
struct loop_wake *loop_wake_free(struct loop_wake *wake);

struct loop_signal *loop_signal_new(struct loop *loop, int signum, void (*fn)(void *, int signum), void *arg);
struct loop_signal *loop_signal_free(struct loop_signal *signal);

/* Called at the end of each turn, at most LOOP_TURN_CALLBACKS_MAX of them; kept until loop_off_turn or loop_free. */
#define LOOP_TURN_CALLBACKS_MAX 8
void loop_on_turn(struct loop *loop, void (*fn)(void *), void *arg);
/* Forgets a callback; not from a turn callback. The order of the others stays. */
void loop_off_turn(struct loop *loop, void (*fn)(void *), void *arg);
/* From a turn callback: do not sleep, come round again at once. Needed by one that made work for an earlier one. */
void loop_spin(struct loop *loop);
