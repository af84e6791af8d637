#include "timeouts/queues.h"

#include "store/jobs.h"

struct result queues_look(struct job_run *run, void *arg) {
    uint64_t freed = JOBS_SWEEP_MAX;
    (void)arg;
    while (freed == JOBS_SWEEP_MAX && job_run_still_ours(run)) {
        TRY(jobs_free_expired(run->db, &freed));
        run->done += (int64_t)freed;
    }
    return jobs_measure(run->db);
}
