/* What a job is, and what its body sees of a run. Bodies live in the folder whose rows they work on; the composition
   root binds them to names (service/background.c).

   A body works in batches. Before each it asks job_run_still_ours and returns OK when that says no: what is left waits
   for the next round. A batch is a few statements (each is answered within seconds) and leaves no transaction open. A
   round may be skipped, and after a crash a batch may be done twice, so the rows themselves must say what is still to
   be done. */
#pragma once

#include "config/config.h"
#include "store/db.h"

enum job_id {
#define JOB(name, period, at_ms, at_most_ms, at_least_ms) JOB_##name,
#include "schedule/jobs.def"
#undef JOB
    JOB_COUNT
};

struct job {
    const char *name;
    int64_t at_ms, at_most_ms, at_least_ms;
};
const struct job *job_of(enum job_id id);
/* The period of the settings; 0 = switched off. */
int64_t job_every_ms(enum job_id id, const struct config *config);
/* The name is one of ours. JOB_COUNT when not. */
enum job_id job_by_name(const char *name);

struct job_run {
    struct db *db; /* open and usable at the start; the job's own */
    const struct config *config;
    int64_t round_ms; /* begin of the round: Unix milliseconds of the database's clock */
    int64_t done;     /* out: how much was done, for lockstock_job_items_total */
    bool (*still_ours)(struct job_run *run);
};

/* True: go on with the next batch. Renews the lock when it is time. False: the lock is lost, the process ends, or the
   run has had its time. Outside of transactions; one statement at most. */
static inline bool job_run_still_ours(struct job_run *run) { return run->still_ours(run); }

/* One run. A failure is counted and logged by the runner. arg as bound. Runs on the job's own thread. */
typedef struct result (*job_fn)(struct job_run *run, void *arg);
struct job_body {
    job_fn fn; /* NULL: this process does not run the job */
    void *arg;
};
