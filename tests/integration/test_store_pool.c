/* store/pool.c: order of jobs, limits, and a server that goes away and comes back. */
#include "base/clock.h"
#include "metrics/metrics.h"
#include "store/pool.h"
#include "store_relay.h"
#include "store_stand.h"

#include <errno.h>
#include <semaphore.h>
#include <time.h>

#define DEADLINE_S 20

/* A pool and what the tests need to see of it. The test's thread is the loop. */
struct rig {
    struct pool *pool;
    sem_t notified;
    atomic_int done; /* jobs collected */
    int order[32];   /* their numbers, in the order they ran */
    atomic_int ran;
    sem_t gate; /* jobs with `gated` wait for it */
};

struct job {
    struct db_job base;
    struct rig *rig;
    int number;
    bool gated;
    sem_t started;
    struct result r;
    uint64_t connection_id;
};

static void wait_for(sem_t *sem) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += DEADLINE_S;
    while (sem_timedwait(sem, &until) != 0)
        if (errno != EINTR) fail_msg("waited %d s in vain", DEADLINE_S);
}

/* A connection used before this is no longer trusted after it. */
static void pass_idle_time(void) {
    static int64_t shift_ms;
    clock_shift(shift_ms += 1500, 0);
}

static void notify(void *arg) { sem_post(&((struct rig *)arg)->notified); }

static void run_job(struct db_job *base, struct db *db) {
    struct job *job = CONTAINER_OF(base, struct job, base);
    job->rig->order[atomic_fetch_add(&job->rig->ran, 1)] = job->number;
    sem_post(&job->started);
    if (job->gated) sem_wait(&job->rig->gate);
    job->connection_id = db_connection_id(db);
    job->r = db_run(db, "DO 1", NULL);
}

static void job_done(struct db_job *base) { CONTAINER_OF(base, struct job, base)->rig->done++; }

static struct job *jobs_new(struct rig *rig, int count, bool gated) {
    struct job *jobs = calloc((size_t)count, sizeof *jobs);
    for (int i = 0; i < count; i++) {
        jobs[i] = (struct job){.base = {.run = run_job, .done = job_done}, .rig = rig, .number = i, .gated = gated};
        sem_init(&jobs[i].started, 0, 0);
    }
    return jobs;
}

static void rig_start(struct rig *rig, struct db_options db, int workers, int reserved) {
    struct pool_options options = {
        .db = db, .workers = workers, .reserved = reserved, .read_max = 3, .notify = notify, .notify_arg = rig};
    memset(rig, 0, sizeof *rig);
    sem_init(&rig->notified, 0, 0);
    sem_init(&rig->gate, 0, 0);
    rig->pool = pool_new(&options);
}

static void collect(struct rig *rig, int done) {
    while (rig->done < done) {
        wait_for(&rig->notified);
        pool_collect(rig->pool);
    }
}

static void rig_stop(struct rig *rig) {
    pool_stop(rig->pool);
    pool_collect(rig->pool);
    rig->pool = pool_free(rig->pool);
}

static struct result run_one(struct rig *rig, struct job *job) {
    int before = rig->done;
    pool_submit_train(rig->pool, &job->base);
    collect(rig, before + 1);
    return failed(job->base.connection) ? job->base.connection : job->r;
}

static void pool_submit__when_jobs_wait__then_trains_before_reads(void **state) {
    struct rig rig;
    rig_start(&rig, stand_options(), 1, 0);
    struct job *jobs = jobs_new(&rig, 5, true);
    pool_submit_train(rig.pool, &jobs[0].base);
    wait_for(&jobs[0].started); /* the only worker is busy */
    assert_true(pool_submit_read(rig.pool, &jobs[1].base));
    assert_true(pool_submit_read(rig.pool, &jobs[2].base));
    pool_submit_train(rig.pool, &jobs[3].base);
    pool_submit_train(rig.pool, &jobs[4].base);
    assert_int_equal(metric_get(METRIC_POOL_BUSY, 0), 1);
    assert_int_equal(metric_get(METRIC_POOL_QUEUE, 0), 2);
    assert_int_equal(metric_get(METRIC_POOL_QUEUE, 1), 2);
    for (int i = 0; i < 5; i++) sem_post(&rig.gate);
    collect(&rig, 5);
    static const int order[] = {0, 3, 4, 1, 2};
    assert_memory_equal(rig.order, order, sizeof order);
    for (int i = 0; i < 5; i++) MUST(jobs[i].r);
    assert_int_equal(metric_get(METRIC_POOL_QUEUE, 1), 0);
    assert_int_equal(metric_get(METRIC_MYSQL_UP, 0), 1);
    rig_stop(&rig);
    free(jobs);
}

static void pool_submit_read__when_reads_are_many__then_the_reserved_worker_stays_free(void **state) {
    struct rig rig;
    rig_start(&rig, stand_options(), 2, 1);
    struct job *jobs = jobs_new(&rig, 3, true);
    assert_true(pool_submit_read(rig.pool, &jobs[0].base));
    wait_for(&jobs[0].started);
    assert_true(pool_submit_read(rig.pool, &jobs[1].base)); /* has to wait although a worker is free */
    pool_submit_train(rig.pool, &jobs[2].base);
    wait_for(&jobs[2].started);
    assert_int_equal(rig.ran, 2);
    for (int i = 0; i < 3; i++) sem_post(&rig.gate);
    collect(&rig, 3);
    rig_stop(&rig);
    free(jobs);
}

static void pool_submit_read__when_the_queue_is_full__then_false(void **state) {
    struct rig rig;
    rig_start(&rig, stand_options(), 1, 0);
    struct job *jobs = jobs_new(&rig, 5, true);
    assert_true(pool_submit_read(rig.pool, &jobs[0].base));
    wait_for(&jobs[0].started);
    for (int i = 1; i <= 3; i++) assert_true(pool_submit_read(rig.pool, &jobs[i].base));
    assert_false(pool_submit_read(rig.pool, &jobs[4].base));
    for (int i = 0; i < 4; i++) sem_post(&rig.gate);
    collect(&rig, 4);
    rig_stop(&rig);
    free(jobs);
}

static void pool_stop__when_jobs_wait__then_they_are_run_first(void **state) {
    struct rig rig;
    rig_start(&rig, stand_options(), 2, 1);
    struct job *jobs = jobs_new(&rig, 10, false);
    for (int i = 0; i < 7; i++) pool_submit_train(rig.pool, &jobs[i].base);
    for (int i = 7; i < 10; i++) assert_true(pool_submit_read(rig.pool, &jobs[i].base));
    rig_stop(&rig);
    assert_int_equal(rig.done, 10);
    for (int i = 0; i < 10; i++) MUST(jobs[i].r);
    free(jobs);
}

static void pool__when_a_job_breaks_its_connection__then_the_next_gets_a_new_one(void **state) {
    struct stand *stand = *state;
    struct rig rig;
    rig_start(&rig, stand_options(), 1, 0);
    struct job *jobs = jobs_new(&rig, 3, false);
    MUST(run_one(&rig, &jobs[0]));
    stand_run(stand->db, "KILL %llu", (unsigned long long)jobs[0].connection_id);
    MUST_FAIL(STORE_LOST, run_one(&rig, &jobs[1])); /* used a moment ago: taken to be alive */
    MUST(run_one(&rig, &jobs[2]));
    assert_int_not_equal(jobs[0].connection_id, jobs[2].connection_id);
    rig_stop(&rig);
    free(jobs);
}

static void pool__when_an_idle_connection_died__then_no_job_fails(void **state) {
    struct stand *stand = *state;
    struct rig rig;
    rig_start(&rig, stand_options(), 1, 0);
    struct job *jobs = jobs_new(&rig, 2, false);
    MUST(run_one(&rig, &jobs[0]));
    stand_run(stand->db, "KILL %llu", (unsigned long long)jobs[0].connection_id);
    pass_idle_time();
    MUST(run_one(&rig, &jobs[1]));
    rig_stop(&rig);
    free(jobs);
}

/* Polls with a deadline until the pool says what is wanted. */
static void wait_until_down(struct rig *rig, bool down) {
    int64_t until = clock_mono_ms() + DEADLINE_S * 1000;
    while (pool_is_down(rig->pool) != down) {
        if (clock_mono_ms() > until) fail_msg("still %s", down ? "up" : "down");
        poll(NULL, 0, 5);
    }
}

static void pool__when_the_server_goes_and_comes_back__then_fails_at_once_and_recovers_by_itself(void **state) {
    struct rig rig;
    struct relay relay;
    struct db_options server = stand_options(), through = server;
    assert_true(relay_start(&relay, &server, 0));
    snprintf(through.host, sizeof through.host, "127.0.0.1");
    through.socket[0] = '\0';
    through.port = relay.port;
    rig_start(&rig, through, 2, 0);
    struct job *jobs = jobs_new(&rig, 20, false);
    MUST(run_one(&rig, &jobs[0]));
    assert_false(pool_is_down(rig.pool));

    relay_stop(&relay);
    pass_idle_time();
    MUST_FAIL(STORE_DOWN, run_one(&rig, &jobs[1]));
    assert_true(pool_is_down(rig.pool));
    assert_int_equal(metric_get(METRIC_MYSQL_UP, 0), 0);
    int64_t begun_ms = clock_mono_ms();
    for (int i = 2; i < 10; i++) MUST_FAIL(STORE_DOWN, run_one(&rig, &jobs[i]));
    assert_true(clock_mono_ms() - begun_ms < 1000);

    assert_true(relay_start(&relay, &server, relay.port));
    wait_until_down(&rig, false); /* no job asked for it */
    MUST(run_one(&rig, &jobs[10]));
    assert_int_equal(metric_get(METRIC_MYSQL_UP, 0), 1);
    rig_stop(&rig);
    relay_stop(&relay);
    free(jobs);
}

static void pool_new__when_there_is_no_server__then_jobs_are_answered(void **state) {
    struct rig rig;
    struct db_options nowhere = stand_options();
    snprintf(nowhere.host, sizeof nowhere.host, "127.0.0.1");
    nowhere.socket[0] = '\0';
    nowhere.port = 1;
    rig_start(&rig, nowhere, 2, 1);
    struct job *jobs = jobs_new(&rig, 3, false);
    for (int i = 0; i < 3; i++) MUST_FAIL(STORE_DOWN, run_one(&rig, &jobs[i]));
    assert_int_equal(rig.ran, 0);
    rig_stop(&rig);
    free(jobs);
}

static struct result connected;

static void connect_second(struct db_job *base, struct db *db) {
    struct job *job = CONTAINER_OF(base, struct job, base);
    struct db *second = NULL;
    connected = pool_connect(job->rig->pool, &second);
    if (!failed(connected) && db_connection_id(second) == db_connection_id(db)) connected = FAILURE(INTERNAL, 0);
    db_close(second);
}

static void pool_connect__when_called_by_a_job__then_another_connection(void **state) {
    struct rig rig;
    rig_start(&rig, stand_options(), 1, 0);
    struct job *jobs = jobs_new(&rig, 1, false);
    jobs[0].base.run = connect_second;
    MUST(run_one(&rig, &jobs[0]));
    MUST(connected);
    rig_stop(&rig);
    free(jobs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STAND_TEST(pool_submit__when_jobs_wait__then_trains_before_reads),
        STAND_TEST(pool_submit_read__when_reads_are_many__then_the_reserved_worker_stays_free),
        STAND_TEST(pool_submit_read__when_the_queue_is_full__then_false),
        STAND_TEST(pool_stop__when_jobs_wait__then_they_are_run_first),
        STAND_TEST(pool__when_a_job_breaks_its_connection__then_the_next_gets_a_new_one),
        STAND_TEST(pool__when_an_idle_connection_died__then_no_job_fails),
        STAND_TEST(pool__when_the_server_goes_and_comes_back__then_fails_at_once_and_recovers_by_itself),
        STAND_TEST(pool_new__when_there_is_no_server__then_jobs_are_answered),
        STAND_TEST(pool_connect__when_called_by_a_job__then_another_connection),
    };
    return cmocka_run_group_tests(tests, stand_setup, stand_teardown);
}
