/* One instance = one loop with its connections, queue, trains, Redis and database workers. Instances of one process
   share a port and nothing else.

   Start: loop → pool → facade → locks → Redis → HTTP. Readiness follows when the schema was seen to fit.
   Stop: not ready, stop accepting → every request answered, every train back, its locks let go → HTTP → Redis → facade
   → pool → loop. Invariant: nothing is freed while something started after it still runs. */
#pragma once

#include "background.h"
#include "endpoints/service.h"

#include <pthread.h>

struct instance {
    struct service service; /* first */
    struct access *access;
    struct loop_wake *completions, *stop_wake, *reload_wake;
    struct loop_timer *schema_timer, *drain_timer;
    struct loop_signal *signals[3];
    struct db_job schema_job;
    bool schema_asked, schema_seen;
    int64_t started_ms;
    int64_t drain_since_ms, quiet_since_ms;
    struct instance *all;
    size_t count, index;
    struct background *background; /* the first instance's alone: the process's threads beside the loops */
    pthread_t thread;
};

/* Makes what the instance consists of; all, count, index, access and service.config are set. On failure what was made
   stays for instance_stop. */
RESULT instance_start(struct instance *instance, const struct db_options *db);
/* On the instance's thread: until the drain is over. */
void instance_run(struct instance *instance);
/* After instance_run has returned, or after a failed start. */
void instance_stop(struct instance *instance);
