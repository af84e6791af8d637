/* Threads with a connection each.
   1. `lock` guards every field of struct pool below it; nothing blocks under it.
   2. A job is in exactly one place: a queue, a worker's hands, or `finished`.
   3. While MySQL is down jobs are answered at once. Looking whether it is back is not done at a job's expense: a worker
      without work tries, one at a time, every CONNECT_RETRY_MS.
   4. A connection that idled is asked for a sign of life before it is trusted with a job; one that is no longer usable
      after a job is closed. */
#include "store/pool.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/thread.h"
#include "metrics/metrics.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CONNECT_RETRY_MS 250 /* between attempts while MySQL is down */
#define IDLE_TRUST_MS 1000   /* a connection used this recently is taken to be alive */
#define THREAD_NAME_SIZE 16  /* the kernel's limit */

enum { QUEUE_TRAINS, QUEUE_READS, QUEUE_COUNT }; /* as METRIC_POOL_QUEUE's values */

struct worker {
    struct pool *pool;
    pthread_t thread;
    struct db *db; /* this thread's own; NULL = not connected */
    int64_t used_ms;
};

struct pool {
    struct pool_options options;
    struct worker *workers;
    atomic_bool down;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct list queues[QUEUE_COUNT]; /* struct db_job.node */
    struct list finished;
    size_t queued[QUEUE_COUNT];
    int busy, reading;
    bool stopping, probing;
    int64_t probe_at_ms; /* while down: the next attempt */
};

/* -- queues, lock held -- */

static void show_gauges(struct pool *pool) {
    metric_set(METRIC_POOL_BUSY, 0, pool->busy);
    metric_set(METRIC_POOL_QUEUE, QUEUE_TRAINS, (int64_t)pool->queued[QUEUE_TRAINS]);
    metric_set(METRIC_POOL_QUEUE, QUEUE_READS, (int64_t)pool->queued[QUEUE_READS]);
}

static struct db_job *take_from(struct pool *pool, int queue) {
    pool->queued[queue]--;
    return CONTAINER_OF(list_pop(&pool->queues[queue]), struct db_job, node);
}

/* What a free worker should do next; NULL: nothing it may. */
static struct db_job *take_job(struct pool *pool, bool *ret_is_read) {
    *ret_is_read = false;
    if (!list_empty(&pool->queues[QUEUE_TRAINS])) return take_from(pool, QUEUE_TRAINS);
    if (list_empty(&pool->queues[QUEUE_READS])) return NULL;
    if (pool->reading >= pool->options.workers - pool->options.reserved) return NULL;
    *ret_is_read = true;
    return take_from(pool, QUEUE_READS);
}

static bool is_drained(const struct pool *pool) {
    return pool->stopping && list_empty(&pool->queues[QUEUE_TRAINS]) && list_empty(&pool->queues[QUEUE_READS]);
}

static bool should_probe(const struct pool *pool) {
    return atomic_load(&pool->down) && !pool->probing && !pool->stopping && clock_mono_ms() >= pool->probe_at_ms;
}

/* -- connections, lock not held -- */

static void note_attempt(struct pool *pool, struct result r) {
    bool down = failed(r), was_down = atomic_exchange(&pool->down, down);
    metric_set(METRIC_MYSQL_UP, 0, !down);
    if (down && !was_down) LOG(LOG_ERROR, "mysql.down", LOGR(r));
    if (!down && was_down) LOG(LOG_INFO, "mysql.up");
    if (!down) return;
    pthread_mutex_lock(&pool->lock);
    pool->probe_at_ms = clock_mono_ms() + CONNECT_RETRY_MS;
    pthread_cond_broadcast(&pool->work); /* idle workers: from waiting for work to waiting for the next attempt */
    pthread_mutex_unlock(&pool->lock);
}

static RESULT attempt(struct pool *pool, struct db **ret) {
    struct result r = db_open(&pool->options.db, ret);
    note_attempt(pool, r);
    return r;
}

static void probe(struct worker *worker) {
    struct db *db;
    if (failed(attempt(worker->pool, &db))) return;
    db_close(worker->db);
    worker->db = db;
    worker->used_ms = clock_mono_ms();
}

static void check_idle(struct worker *worker) {
    if (worker->db == NULL || clock_mono_ms() - worker->used_ms <= IDLE_TRUST_MS) return;
    if (!db_ping(worker->db)) worker->db = db_close(worker->db);
}

static RESULT ensure_connected(struct worker *worker) {
    check_idle(worker);
    if (worker->db != NULL) return OK;
    if (atomic_load(&worker->pool->down)) FAIL(STORE_DOWN, 0);
    return attempt(worker->pool, &worker->db);
}

static void run_job(struct worker *worker, struct db_job *job) {
    job->connection = ensure_connected(worker);
    if (failed(job->connection)) return;
    job->run(job, worker->db);
    worker->used_ms = clock_mono_ms();
    if (!db_is_usable(worker->db)) worker->db = db_close(worker->db);
}

/* -- the worker's life -- */

static void serve(struct worker *worker, struct db_job *job, bool is_read) {
    struct pool *pool = worker->pool;
    pool->busy++;
    pool->reading += is_read;
    show_gauges(pool);
    pthread_mutex_unlock(&pool->lock);
    run_job(worker, job);
    pthread_mutex_lock(&pool->lock);
    pool->busy--;
    pool->reading -= is_read;
    /* A read that had to leave this worker free may go now. */
    if (is_read && !list_empty(&pool->queues[QUEUE_READS])) pthread_cond_signal(&pool->work);
    bool first = list_empty(&pool->finished);
    list_push(&pool->finished, &job->node);
    show_gauges(pool);
    if (first) pool->options.notify(pool->options.notify_arg);
}

static void serve_probe(struct worker *worker) {
    struct pool *pool = worker->pool;
    pool->probing = true;
    pthread_mutex_unlock(&pool->lock);
    probe(worker);
    pthread_mutex_lock(&pool->lock);
    pool->probing = false;
}

static void wait_for_work(struct pool *pool) {
    if (!atomic_load(&pool->down)) {
        pthread_cond_wait(&pool->work, &pool->lock);
        return;
    }
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += CONNECT_RETRY_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&pool->work, &pool->lock, &until);
}

static void *worker_main(void *arg) {
    struct worker *worker = arg;
    struct pool *pool = worker->pool;
    bool is_read;
    db_thread_start();
    pthread_mutex_lock(&pool->lock);
    while (!is_drained(pool)) {
        struct db_job *job = take_job(pool, &is_read);
        if (job != NULL)
            serve(worker, job, is_read);
        else if (should_probe(pool))
            serve_probe(worker);
        else
            wait_for_work(pool);
    }
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    worker->db = db_close(worker->db);
    db_thread_end();
    return NULL;
}

static void start_worker(struct pool *pool, int number) {
    struct worker *worker = &pool->workers[number];
    char name[THREAD_NAME_SIZE];
    worker->pool = pool;
    if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0) {
        LOG(LOG_ERROR, "pool.thread_failed", LOGI("worker", number));
        abort(); /* at start: the deployment gives too few threads */
    }
    text_format(name, sizeof name, "lockstock-db-%d", number);
    pthread_setname_np(worker->thread, name);
}

struct pool *pool_new(const struct pool_options *options) {
    assert(options->workers > 0 && options->reserved < options->workers);
    struct pool *pool = mem_new(sizeof *pool);
    pool->options = *options;
    pool->workers = mem_array((size_t)options->workers, sizeof *pool->workers);
    pthread_mutex_init(&pool->lock, NULL);
    condition_init(&pool->work);
    for (int i = 0; i < QUEUE_COUNT; i++) list_init(&pool->queues[i]);
    list_init(&pool->finished);
    for (int i = 0; i < options->workers; i++) start_worker(pool, i);
    return pool;
}

void pool_stop(struct pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->options.workers; i++) pthread_join(pool->workers[i].thread, NULL);
}

struct pool *pool_free(struct pool *pool) {
    if (pool == NULL) return NULL;
    assert(list_empty(&pool->finished));
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
    return NULL;
}

/* -- the loop's side -- */

static void submit(struct pool *pool, struct db_job *job, int queue) {
    job->connection = OK;
    job->submitted_ms = clock_mono_ms();
    list_init(&job->node);
    list_push(&pool->queues[queue], &job->node);
    pool->queued[queue]++;
    show_gauges(pool);
    pthread_cond_signal(&pool->work);
}

void pool_submit_train(struct pool *pool, struct db_job *job) {
    pthread_mutex_lock(&pool->lock);
    assert(!pool->stopping);
    submit(pool, job, QUEUE_TRAINS);
    pthread_mutex_unlock(&pool->lock);
}

bool pool_submit_read(struct pool *pool, struct db_job *job) {
    pthread_mutex_lock(&pool->lock);
    bool room = !pool->stopping && pool->queued[QUEUE_READS] < pool->options.read_max;
    if (room) submit(pool, job, QUEUE_READS);
    pthread_mutex_unlock(&pool->lock);
    return room;
}

void pool_collect(struct pool *pool) {
    struct list ready;
    list_init(&ready);
    pthread_mutex_lock(&pool->lock);
    list_move_all(&ready, &pool->finished);
    pthread_mutex_unlock(&pool->lock);
    for (struct list *node = list_pop(&ready); node != NULL; node = list_pop(&ready)) {
        struct db_job *job = CONTAINER_OF(node, struct db_job, node);
        job->done(job);
    }
}

bool pool_is_down(const struct pool *pool) { return atomic_load(&pool->down); }

RESULT pool_connect(struct pool *pool, struct db **ret) { return attempt(pool, ret); }
