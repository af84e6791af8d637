/* The table of jobs, and that settings and metrics know the same jobs. */
#include "unit.h"

#include "base/text.h"
#include "domain/schedule.h"
#include "metrics/metrics.h"
#include "schedule/job.h"

#include <string.h>
#include <unistd.h>

static void job_of__when_any__then_its_terms_can_be_kept(void **state) {
    static struct config config;
    char text[256];
    static char *nothing[] = {NULL};
    environ = nothing; /* the defaults, whatever the tests around it were told */
    assert_int_equal(config_read(&config, text, sizeof text).code, ERROR_NONE);
    for (int id = 0; id < JOB_COUNT; id++) {
        const struct job *job = job_of((enum job_id)id);
        int64_t every_ms = job_every_ms((enum job_id)id, &config);
        assert_true(schedule_name_is_good(job->name));
        assert_in_range(every_ms, SCHEDULE_EVERY_MS_MIN, 86400000);
        assert_in_range(job->at_most_ms, 1, SCHEDULE_AT_MOST_MS_MAX);
        assert_in_range(job->at_least_ms, 1, schedule_at_least_ms(job->at_least_ms, every_ms));
        assert_in_range(job->at_ms, 0, every_ms - 1);
        assert_int_equal(job_by_name(job->name), id);
    }
}

static void job_every_ms__when_switched_off__then_zero(void **state) {
    struct config config = {.jobs = true, .job_retention_every = 0, .job_outbox_polling_every = 5000};
    assert_int_equal(job_every_ms(JOB_retentionJob, &config), 0);
    assert_int_equal(job_every_ms(JOB_outboxPollingJob, &config), 5000);
    config.jobs = false;
    assert_int_equal(job_every_ms(JOB_outboxPollingJob, &config), 0);
}

static void job_by_name__when_not_ours__then_none(void **state) {
    assert_int_equal(job_by_name("retentionjob"), JOB_COUNT);
    assert_int_equal(job_by_name(""), JOB_COUNT);
}

/* A label is an index: one order in both tables. */
static void metrics__when_labelled_by_job__then_in_the_order_of_the_table(void **state) {
    static const enum metric by_job[] = {METRIC_JOB_RUNS, METRIC_JOB_SKIPS, METRIC_JOB_FAILURES, METRIC_JOB_LOST,
                                         METRIC_JOB_ITEMS};
    static const char *const names[] = {"runs_total", "skips_total", "failures_total", "lock_lost_total",
                                        "items_total"};
    for (size_t i = 0; i < sizeof by_job / sizeof by_job[0]; i++)
        for (int id = 0; id < JOB_COUNT; id++) metric_add(by_job[i], (unsigned)id, 1000 * (int64_t)(i + 1) + id);
    AUTO_TEXT page = text_new(0);
    metrics_write(&page);
    for (size_t i = 0; i < sizeof by_job / sizeof by_job[0]; i++)
        for (int id = 0; id < JOB_COUNT; id++) {
            char line[160];
            (void)text_format(line, sizeof line, "lockstock_job_%s{job=\"%s\"} %lld\n", names[i],
                              job_of((enum job_id)id)->name, 1000 * (long long)(i + 1) + id);
            if (strstr(text_str(&page), line) == NULL) fail_msg("no %s", line);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_of__when_any__then_its_terms_can_be_kept),
        cmocka_unit_test(job_every_ms__when_switched_off__then_zero),
        cmocka_unit_test(job_by_name__when_not_ours__then_none),
        cmocka_unit_test(metrics__when_labelled_by_job__then_in_the_order_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
