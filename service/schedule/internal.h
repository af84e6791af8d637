/* What the runner and a run share. Private to schedule/. */
#pragma once

#include "base/thread.h"
#include "schedule/runner.h"
#include "store/shedlock.h"

/* A job of this process: one thread, one connection. All belongs to that thread. */
struct worker {
    enum job_id id;
    const struct job *job;
    struct job_body body;
    const struct config *config;
    const struct db_options *db_options;
    int64_t every_ms, at_most_ms, at_least_ms;
    struct thread *self; /* set by the thread */
    struct db *db;       /* NULL: none at the moment */
    bool schema_fits;    /* seen once */
    int64_t round_ms;    /* the last one counted as run or skipped here */
    unsigned failures;   /* of asking for the lock, in a row */
    char name[16];       /* of the thread */
};

/* A new connection when there is none. STORE_DOWN. */
RESULT worker_connect(struct worker *worker);

/* Asks for the lock of this round; when it is had: the body, then the release. *ret_ran false: another has it. A
   failure is of the asking alone; that of the body is told here. */
RESULT run_round(struct worker *worker, int64_t round_ms, bool *ret_ran);
