#include "schedule/internal.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "metrics/metrics.h"
#include "store/reads.h"

#include <stdlib.h>

#define RETRY_MS 1000      /* while the database is away */
#define RACE_MS 10         /* another was a moment faster: what it took is looked at then */
#define KEEP_IDLE_MS 30000 /* a longer pause is not worth an open connection */

struct runner {
    struct db_options db;
    size_t count;
    struct worker workers[JOB_COUNT];
    struct thread *threads[JOB_COUNT];
};

/* -- the connection */

RESULT worker_connect(struct worker *worker) { return db_renew(worker->db_options, &worker->db); }

/* A job may touch every table: it begins when the migrations are done. */
static RESULT prepare(struct worker *worker) {
    TRY(worker_connect(worker));
    if (!worker->schema_fits) TRY(schema_fits(worker->db, &worker->schema_fits));
    if (!worker->schema_fits) FAIL(STORE_SCHEMA, 0);
    return OK;
}

/* -- one look */

static void count_round(struct worker *worker, int64_t round_ms, bool ran) {
    if (worker->round_ms == round_ms) return;
    worker->round_ms = round_ms;
    if (!ran) metric_add(METRIC_JOB_SKIPS, worker->id, 1);
}

static int64_t now_of(const struct shedlock_row *row) {
    return fault_on(FAULT_WALL_CLOCK_ROUNDS) ? clock_wall_ms() : row->now_ms;
}

/* For the removal tests: as timers are that know nothing of rounds, or of others. */
static void forget(const struct worker *worker, struct schedule_row *row) {
    if (fault_on(FAULT_NO_ROUND_CHECK)) row->locked_at_ms = worker->round_ms;
    if (fault_on(FAULT_NO_SCHEDULE_LOCK)) row->lock_until_ms = 0;
}

static RESULT look(struct worker *worker, int64_t *ret_wait_ms) {
    struct shedlock_row row;
    int64_t round_ms;
    bool ran = false;
    TRY(prepare(worker));
    TRY(shedlock_read(worker->db, worker->job->name, &row));
    forget(worker, &row.lock);
    schedule_decide(now_of(&row), worker->every_ms, worker->job->at_ms, &row.lock, &round_ms, ret_wait_ms);
    if (*ret_wait_ms == 0) TRY(run_round(worker, round_ms, &ran));
    count_round(worker, round_ms, ran);
    if (*ret_wait_ms > 0)
        *ret_wait_ms += fault_value(FAULT_JOB_PHASE);
    else if (!ran)
        *ret_wait_ms = RACE_MS;
    return OK;
}

/* Told once for as long as it goes on; what the connection has to say is told by the workers of the loops. */
static void tell(struct worker *worker, struct result result) {
    bool is_told = result.code == ERROR_STORE_DOWN || result.code == ERROR_STORE_LOST ||
                   result.code == ERROR_STORE_SCHEMA || result.code == ERROR_SCHEDULE_TABLE ||
                   result.code == ERROR_UNAVAILABLE;
    if (worker->failures++ > 0 || is_told) return;
    LOG(LOG_ERROR, "job.lock_failed", LOGS("job", worker->job->name), LOGR(result));
}

/* The first failure may be a connection that died in its sleep. */
static int64_t after_failure(struct worker *worker, struct result result) {
    bool was_lost = result.code == ERROR_STORE_LOST && worker->failures == 0;
    tell(worker, result);
    worker->db = db_close(worker->db); /* whatever state it is in */
    return was_lost ? 0 : RETRY_MS;
}

static void serve(struct thread *self, void *arg) {
    struct worker *worker = arg;
    int64_t wait_ms = 0;
    worker->self = self;
    db_thread_start();
    while (thread_sleep(self, wait_ms)) {
        struct result result = look(worker, &wait_ms);
        if (failed(result))
            wait_ms = after_failure(worker, result);
        else
            worker->failures = 0;
        if (wait_ms > KEEP_IDLE_MS) worker->db = db_close(worker->db);
    }
    worker->db = db_close(worker->db);
    db_thread_end();
}

/* -- all of them */

static int64_t or_fault(enum fault fault, int64_t ms) { return fault_on(fault) ? fault_value(fault) : ms; }

static void add_worker(struct runner *runner, const struct runner_options *options, enum job_id id) {
    struct worker *worker = &runner->workers[runner->count++];
    const struct job *job = job_of(id);
    int64_t every_ms = job_every_ms(id, options->config);
    int64_t at_least_ms = or_fault(FAULT_JOB_AT_LEAST, job->at_least_ms);
    *worker = (struct worker){.id = id,
                              .job = job,
                              .body = options->bodies[id],
                              .config = options->config,
                              .db_options = &runner->db,
                              .every_ms = every_ms,
                              .at_most_ms = or_fault(FAULT_JOB_AT_MOST, job->at_most_ms),
                              .at_least_ms = schedule_at_least_ms(at_least_ms, every_ms)};
    (void)text_format(worker->name, sizeof worker->name, "job-%s", job->name);
}

struct runner *runner_new(const struct runner_options *options) {
    struct runner *runner = mem_new(sizeof *runner);
    runner->db = options->db;
    for (int id = 0; id < JOB_COUNT; id++)
        if (options->bodies[id].fn != NULL && job_every_ms((enum job_id)id, options->config) > 0)
            add_worker(runner, options, (enum job_id)id);
    for (size_t i = 0; i < runner->count; i++) {
        struct worker *worker = &runner->workers[i];
        const struct thread_options thread = {.name = worker->name, .run = serve, .arg = worker};
        runner->threads[i] = thread_new(&thread);
    }
    return runner;
}

void runner_stop(struct runner *runner) {
    for (size_t i = 0; runner != NULL && i < runner->count; i++) thread_stop(runner->threads[i]);
}

bool runner_is_over(const struct runner *runner) {
    for (size_t i = 0; runner != NULL && i < runner->count; i++)
        if (!thread_is_over(runner->threads[i])) return false;
    return true;
}

struct runner *runner_free(struct runner *runner) {
    runner_stop(runner);
    for (size_t i = 0; runner != NULL && i < runner->count; i++) thread_free(runner->threads[i]);
    free(runner);
    return NULL;
}
