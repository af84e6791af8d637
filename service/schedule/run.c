/* One run of one job: take the lock of the round, let the body work, release.

   held_until is counted on our monotonic clock from before the request went out, so it is over before the database says
   so. A renewal that fails is tried again at the next question, for as long as the lock surely stands. */
#include "schedule/internal.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/list.h"
#include "base/log.h"
#include "base/text.h"
#include "metrics/metrics.h"

#define RENEW_PART 3        /* renewed when a third of lockAtMostFor is gone … */
#define RENEW_AGAIN_PART 20 /* … and after a failure when a twentieth more is */
#define WORK_PARTS 4        /* … and worked for all but a fourth of it at most */
#define RELEASE_TRIES 3     /* then the lock ends by itself */
#define RELEASE_PAUSE_MS 200
#define FAULT_PAUSE_MS 5 /* between the questions of job-work */
#define MARK_BYTES 16

struct run {
    struct job_run job; /* first */
    struct worker *worker;
    struct shedlock_terms terms;
    char mark[SHEDLOCK_MARK_SIZE];
    int64_t begun_ms, held_until_ms, renew_at_ms, work_until_ms;
    bool lost;
};

/* -- the lock while working */

static void note_grant(struct run *run, int64_t asked_ms) {
    run->held_until_ms = asked_ms + run->worker->at_most_ms;
    run->renew_at_ms = asked_ms + run->worker->at_most_ms / RENEW_PART;
}

static void note_loss(struct run *run) {
    if (run->lost) return;
    run->lost = true;
    metric_add(METRIC_JOB_LOST, run->worker->id, 1);
    LOG(LOG_WARN, "job.lock_lost", LOGS("job", run->worker->job->name),
        LOGI("afterMs", clock_mono_ms() - run->begun_ms));
}

static void renew(struct run *run) {
    int64_t asked_ms = clock_mono_ms();
    struct worker *worker = run->worker;
    struct shedlock_row row;
    bool done = true;
    struct result result = shedlock_extend(worker->db, &run->terms, worker->at_least_ms, &row, &done);
    if (failed(result)) {
        LOG(LOG_WARN, "job.renewal_failed", LOGS("job", worker->job->name), LOGR(result));
        run->renew_at_ms = asked_ms + worker->at_most_ms / RENEW_AGAIN_PART;
    } else if (done)
        note_grant(run, asked_ms);
    else
        note_loss(run);
}

static bool still_ours(struct job_run *job) {
    struct run *run = CONTAINER_OF(job, struct run, job);
    int64_t now_ms = clock_mono_ms();
    if (thread_is_stopping(run->worker->self) || run->lost) return false;
    if (fault_on(FAULT_NO_JOB_RENEWAL)) return now_ms < run->work_until_ms;
    if (now_ms >= run->work_until_ms) return false;
    if (now_ms >= run->renew_at_ms) renew(run);
    if (clock_mono_ms() >= run->held_until_ms) note_loss(run);
    return !run->lost;
}

/* -- taking */

/* A connection that ended with the answer on its way: the same grant is asked for again, and found if it was given.
   Else nobody would know of it, and nobody would work, until lockAtMostFor. */
static RESULT ask(struct run *run, bool *ret_granted) {
    struct worker *worker = run->worker;
    struct shedlock_row row;
    struct result result = shedlock_take(worker->db, &run->terms, &row, ret_granted);
    if (result.code != ERROR_STORE_LOST) return result;
    TRY(worker_connect(worker));
    return shedlock_take(worker->db, &run->terms, &row, ret_granted);
}

static RESULT take(struct run *run, int64_t round_ms, bool *ret_granted) {
    struct worker *worker = run->worker;
    char hex[2 * MARK_BYTES + 1];
    text_random_hex(MARK_BYTES, hex);
    (void)text_format(run->mark, sizeof run->mark, "#%s", hex);
    run->terms = (struct shedlock_terms){.name = worker->job->name,
                                         .by = worker->config->instance_id,
                                         .mark = run->mark,
                                         .at_most_ms = worker->at_most_ms,
                                         .taken_before_ms = fault_on(FAULT_NO_ROUND_CHECK) ? 0 : round_ms};
    run->begun_ms = clock_mono_ms();
    note_grant(run, run->begun_ms);
    run->work_until_ms = run->held_until_ms - worker->at_most_ms / WORK_PARTS;
    return ask(run, ret_granted);
}

/* -- working */

/* job-work=MS: the body takes so much longer, in batches of job-batch=MS. */
static void work_longer(struct run *run) {
    int64_t until_ms = clock_mono_ms() + fault_value(FAULT_JOB_WORK);
    int64_t batch_ms = fault_on(FAULT_JOB_BATCH) ? fault_value(FAULT_JOB_BATCH) : FAULT_PAUSE_MS;
    while (clock_mono_ms() < until_ms && job_run_still_ours(&run->job))
        if (!thread_sleep(run->worker->self, batch_ms)) return;
}

/* What a body leaves open when it fails is undone here. */
static void work(struct run *run) {
    struct worker *worker = run->worker;
    run->job = (struct job_run){
        .db = worker->db, .config = worker->config, .round_ms = run->job.round_ms, .still_ours = still_ours};
    struct result result = worker->body.fn(&run->job, worker->body.arg);
    if (fault_on(FAULT_JOB_WORK)) work_longer(run);
    int64_t took_ms = clock_mono_ms() - run->begun_ms;
    metric_add(METRIC_JOB_ITEMS, worker->id, run->job.done);
    metric_add(failed(result) ? METRIC_JOB_FAILURES : METRIC_JOB_RUNS, worker->id, 1);
    metric_observe(METRIC_JOB_TIME, worker->id, took_ms * 1000);
    if (failed(result)) {
        db_rollback(worker->db);
        LOG(LOG_ERROR, "job.failed", LOGS("job", worker->job->name), LOGI("done", run->job.done), LOGR(result));
    } else {
        LOG(LOG_DEBUG, "job.run", LOGS("job", worker->job->name), LOGI("roundMs", run->job.round_ms),
            LOGI("done", run->job.done), LOGI("ms", took_ms));
    }
}

/* -- releasing */

static RESULT release_once(struct run *run, bool *ret_done) {
    struct worker *worker = run->worker;
    TRY(worker_connect(worker));
    struct result result = shedlock_release(worker->db, worker->job->name, run->mark, worker->at_least_ms, ret_done);
    if (failed(result)) worker->db = db_close(worker->db); /* whatever state it is in, also a transaction left open */
    return result;
}

static void release(struct run *run) {
    struct result result = OK;
    bool done = true;
    for (int i = 0; i < RELEASE_TRIES; i++) {
        result = release_once(run, &done);
        if (!failed(result) || clock_mono_ms() >= run->held_until_ms) break;
        if (!thread_sleep(run->worker->self, RELEASE_PAUSE_MS) && i > 0) break;
    }
    if (failed(result))
        LOG(LOG_WARN, "job.unreleased", LOGS("job", run->worker->job->name), LOGR(result));
    else if (!done)
        note_loss(run);
}

RESULT run_round(struct worker *worker, int64_t round_ms, bool *ret_ran) {
    struct run run = {.worker = worker, .job = {.round_ms = round_ms}};
    *ret_ran = false;
    TRY(take(&run, round_ms, ret_ran));
    if (!*ret_ran) return OK;
    work(&run);
    release(&run);
    return OK;
}
