/* The mutex guards `woken` and `stopping` for the condition alone; nothing blocks under it. */
#include "base/thread.h"

#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_MS 1000000
#define NS_PER_S 1000000000

struct thread {
    struct thread_options options;
    pthread_t id;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool woken;
    atomic_bool stopping, over;
};

static void *run(void *arg) {
    struct thread *self = arg;
    (void)pthread_setname_np(pthread_self(), self->options.name);
    self->options.run(self, self->options.arg);
    atomic_store(&self->over, true);
    return NULL;
}

void condition_init(pthread_cond_t *condition) {
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(condition, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
}

struct thread *thread_new(const struct thread_options *options) {
    struct thread *thread = mem_new(sizeof *thread);
    thread->options = *options;
    (void)pthread_mutex_init(&thread->mutex, NULL);
    condition_init(&thread->changed);
    if (pthread_create(&thread->id, NULL, run, thread) != 0) abort();
    return thread;
}

struct thread *thread_free(struct thread *thread) {
    if (thread == NULL) return NULL;
    thread_stop(thread);
    (void)pthread_join(thread->id, NULL);
    (void)pthread_cond_destroy(&thread->changed);
    (void)pthread_mutex_destroy(&thread->mutex);
    free(thread);
    return NULL;
}

static void signal_change(struct thread *thread, bool stop) {
    (void)pthread_mutex_lock(&thread->mutex);
    thread->woken = true;
    if (stop) atomic_store(&thread->stopping, true);
    (void)pthread_cond_signal(&thread->changed);
    (void)pthread_mutex_unlock(&thread->mutex);
}

void thread_stop(struct thread *thread) {
    if (thread != NULL) signal_change(thread, true);
}

void thread_wake(struct thread *thread) { signal_change(thread, false); }

bool thread_is_stopping(const struct thread *thread) { return atomic_load(&thread->stopping); }

bool thread_is_over(const struct thread *thread) { return thread == NULL || atomic_load(&thread->over); }

static struct timespec deadline_in(int64_t ms) {
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * NS_PER_MS;
    if (at.tv_nsec < NS_PER_S) return at;
    at.tv_sec++;
    at.tv_nsec -= NS_PER_S;
    return at;
}

bool thread_sleep(struct thread *self, int64_t ms) {
    struct timespec until = deadline_in(ms);
    int status = 0;
    (void)pthread_mutex_lock(&self->mutex);
    while (!self->woken && !thread_is_stopping(self) && status == 0)
        status = pthread_cond_timedwait(&self->changed, &self->mutex, &until);
    self->woken = false;
    (void)pthread_mutex_unlock(&self->mutex);
    return !thread_is_stopping(self);
}
