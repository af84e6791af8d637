/* Runs the jobs of jobs.def that have a body and a period: a thread for each, so that a long run of one delays no
   other.

   Invariants
   1. A thread sets its timer from the database's clock, anew after each look; our own clock only measures waits. So
      instances whose clocks differ by an hour wake at the same moments.
   2. A job is run only under its lock, and only when its round does not stand in locked_at yet; both are one UPDATE.
   3. A run asks before each batch; it works for less than lockAtMostFor, renews its lock meanwhile, and stops when it
   is lost or the process ends. Its own lock is released then, not before lockAtLeastFor. */
#pragma once

#include "schedule/job.h"

struct runner;

struct runner_options {
    const struct config *config;
    struct db_options db;
    struct job_body bodies[JOB_COUNT]; /* indexed by JOB_<name> */
};

/* Starts the threads. Works without MySQL and before the schema fits: each tries again. */
struct runner *runner_new(const struct runner_options *options);
/* Asks: runs end at their next question. Does not wait. Takes NULL. Any thread. */
void runner_stop(struct runner *runner);
/* All threads have ended. True for NULL. */
bool runner_is_over(const struct runner *runner);
/* Joins. Takes NULL, returns NULL. */
struct runner *runner_free(struct runner *runner);
