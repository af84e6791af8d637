/* A named background thread that can be asked to stop, sleeps interruptibly, and is joined by its owner.
   Made, asked and freed by its owner's thread; thread_sleep and thread_is_stopping belong to the thread itself
   (stopping may be asked by anybody); thread_wake may be called by anybody between thread_new and thread_free. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct thread;

struct thread_options {
    const char *name;                         /* at most 15 bytes are shown; static storage */
    void (*run)(struct thread *self, void *); /* the whole life of the thread */
    void *arg;
};

/* Takes NULL, returns NULL. Asks to stop and waits for the end of run(). */
struct thread *thread_free(struct thread *thread);
/* Starts it. A thread that cannot be made ends the process: the start is over before anything was promised. */
struct thread *thread_new(const struct thread_options *options)
    __attribute__((malloc, returns_nonnull, warn_unused_result));

/* Asks: ends its sleep, now and from now on. Does not wait. Takes NULL. */
void thread_stop(struct thread *thread);
bool thread_is_stopping(const struct thread *thread);
/* run() has returned. NULL counts as ended. */
bool thread_is_over(const struct thread *thread);

/* Ends the sleep it is in, or the next one at once. Wakes that come together are one. */
void thread_wake(struct thread *thread);
/* Until woken, asked to stop, or `ms` milliseconds (monotonic) have passed. False: asked to stop. */
bool thread_sleep(struct thread *self, int64_t ms);

/* A condition whose timed waits count on the monotonic clock, which nobody sets. */
void condition_init(pthread_cond_t *condition);
