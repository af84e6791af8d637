/* Database workers: threads that own a connection each and run jobs. The loop submits; finished jobs come back to the
   loop in one batch. Two queues: trains first; reads never take the last `reserved` workers. */
#pragma once

#include "base/list.h"
#include "base/result.h"
#include "store/db.h"

struct pool;

/* Embedded by its owner; lives until done() returns. */
struct db_job {
    void (*run)(struct db_job *job, struct db *db); /* on a worker, connection open and usable */
    void (*done)(struct db_job *job);               /* on the loop; may free the job */
    struct result connection; /* STORE_DOWN: no connection was to be had and run() was not called */
    struct list node;
    int64_t submitted_ms;
};

struct pool_options {
    struct db_options db;
    int workers;
    int reserved;              /* workers that reads leave free; < workers */
    size_t read_max;           /* queued reads, above: pool_submit_read says no */
    void (*notify)(void *arg); /* any thread: completions are waiting, call pool_collect on the loop */
    void *notify_arg;
};

/* Starts the threads; connections open lazily, so it works without MySQL. */
struct pool *pool_new(const struct pool_options *options);
/* Finishes what was submitted, joins the threads; then the caller calls pool_collect once more before pool_free. Loop
 * thread. */
void pool_stop(struct pool *pool);
struct pool *pool_free(struct pool *pool);
/* Loop thread. Trains are bounded by their submitter. */
void pool_submit_train(struct pool *pool, struct db_job *job);
/* False: the queue is full, nothing happened. Loop thread. */
bool pool_submit_read(struct pool *pool, struct db_job *job) __attribute__((warn_unused_result));
/* Calls done() of all finished jobs. Loop thread. */
void pool_collect(struct pool *pool);
/* True after the last connection attempt failed, until one succeeds. Any thread. */
bool pool_is_down(const struct pool *pool);
/* A second connection of a worker's own (to recover an unknown commit); the caller closes it. Worker thread. */
RESULT pool_connect(struct pool *pool, struct db **ret);
