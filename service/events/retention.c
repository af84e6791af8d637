/* Each step removes a bite, and the run is asked before each bite whether it may go on: it can end between any two. */
#include "events/retention.h"

#include "events/sinks.h"
#include "store/jobs.h"
#include "store/outbox.h"
#include "store/retention.h"
#include "store/webhooks.h"

#include <time.h>

#define PAUSE_NS 5000000 /* between two bites: who works for clients goes first */

static void pause_a_moment(void) {
    struct timespec moment = {0, PAUSE_NS};
    (void)nanosleep(&moment, NULL);
}

static bool may_go_on(struct job_run *run) {
    pause_a_moment();
    return job_run_still_ours(run);
}

static bool sends_nothing(const struct config *config) {
    const char *names[SINKS_MAX];
    size_t count = 0;
    char ignored[1];
    return !failed(sinks_read(config, names, &count, ignored, sizeof ignored)) && count == 0;
}

static RESULT remove_events(struct job_run *run) {
    bool unsent = sends_nothing(run->config), end = false;
    int64_t after = 0;
    while (!end && may_go_on(run)) {
        uint64_t removed;
        TRY(retention_events(run->db, unsent, &after, &removed, &end));
        run->done += (int64_t)removed;
    }
    return OK;
}

static RESULT purge_jobs(struct db *db, uint64_t *ret_removed) { return jobs_purge(db, RETENTION_ROWS, ret_removed); }

/* Deliverers do it as they go. This is for what they left when the sink `webhook` was taken out of the settings. */
static RESULT purge_deliveries(struct db *db, uint64_t *ret_removed) {
    int64_t removed = 0;
    TRY(deliveries_purge(db, RETENTION_EVENTS_S, RETENTION_ROWS, &removed));
    *ret_removed = (uint64_t)removed;
    return OK;
}

static RESULT repeat(struct job_run *run, struct result (*step)(struct db *db, uint64_t *ret_removed)) {
    uint64_t removed = 1;
    while (removed > 0 && may_go_on(run)) {
        TRY(step(run->db, &removed));
        run->done += (int64_t)removed;
    }
    return OK;
}

struct result retention_run(struct job_run *run, void *arg) {
    (void)arg;
    TRY(remove_events(run));
    TRY(repeat(run, retention_failures));
    TRY(repeat(run, retention_processed));
    TRY(repeat(run, retention_keys));
    TRY(repeat(run, purge_jobs));
    return repeat(run, purge_deliveries);
}

struct result relays_free_expired(struct job_run *run, void *arg) {
    uint64_t freed = 0;
    (void)arg;
    if (!job_run_still_ours(run)) return OK;
    TRY(outbox_parts_free_expired(run->db, &freed));
    run->done += (int64_t)freed;
    return OK;
}
