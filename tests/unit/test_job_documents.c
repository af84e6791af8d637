#include "unit.h"

#include "codec/job_documents.h"

static struct queued_job ready(void) {
    struct queued_job job = {.id = 7, .queue = "q\"", .max_attempts = 3, .created_at_ms = 1000, .due_at_ms = 2000};
    return job;
}

static void document_job__when_ready__then_from_when_and_nulls(void **state) {
    AUTO_TEXT out = text_new(0);
    struct queued_job job = ready();
    document_job(&out, &job);
    assert_string_equal(text_str(&out),
                        "{\"id\":7,\"queue\":\"q\\\"\",\"status\":\"READY\",\"attempts\":0,\"maxAttempts\":3,"
                        "\"dedupeKey\":null,\"owner\":null,\"fence\":0,\"lastResult\":null,"
                        "\"createdAt\":\"1970-01-01T00:00:01.000Z\",\"availableAt\":\"1970-01-01T00:00:02.000Z\","
                        "\"leaseUntil\":null,\"doneAt\":null}");
}

static void document_job__when_claimed__then_payload_and_lease(void **state) {
    AUTO_TEXT out = text_new(0);
    struct queued_job job = ready();
    job.status = JOB_CLAIMED;
    job.lease_until_ms = 3000;
    job.payload = text_new(0);
    text_add_str(&job.payload, "{\"a\":1}");
    document_job(&out, &job);
    text_done(&job.payload);
    assert_string_equal(text_str(&out),
                        "{\"id\":7,\"queue\":\"q\\\"\",\"status\":\"CLAIMED\",\"payload\":{\"a\":1},\"attempts\":0,"
                        "\"maxAttempts\":3,\"dedupeKey\":null,\"owner\":null,\"fence\":0,\"lastResult\":null,"
                        "\"createdAt\":\"1970-01-01T00:00:01.000Z\",\"availableAt\":null,"
                        "\"leaseUntil\":\"1970-01-01T00:00:03.000Z\",\"doneAt\":null}");
}

static void document_claimed_job__then_what_a_worker_needs(void **state) {
    AUTO_TEXT out = text_new(0);
    struct queued_job job = ready();
    job.attempts = 2;
    job.fence = 5;
    job.lease_until_ms = 3000;
    job.payload = text_new(0);
    text_add_str(&job.payload, "{}");
    document_claimed_job(&out, &job, "5.x", 1000);
    text_done(&job.payload);
    assert_string_equal(text_str(&out), "{\"id\":7,\"payload\":{},\"attempts\":2,\"fence\":5,\"claimToken\":\"5.x\","
                                        "\"leaseUntil\":\"1970-01-01T00:00:03.000Z\",\"leaseMs\":1000}");
}

static void document_queue__then_its_depths(void **state) {
    AUTO_TEXT out = text_new(0);
    document_queue(&out, &(struct queue_view){"q", 3, 2, 1});
    assert_string_equal(text_str(&out), "{\"queue\":\"q\",\"ready\":3,\"claimed\":2,\"dead\":1}");
}

static void members_claim_lost__then_how_the_job_stands(void **state) {
    AUTO_TEXT out = text_new(0);
    members_claim_lost(&out, JOB_DONE);
    assert_string_equal(text_str(&out), "\"jobStatus\":\"DONE\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document_job__when_ready__then_from_when_and_nulls),
        cmocka_unit_test(document_job__when_claimed__then_payload_and_lease),
        cmocka_unit_test(document_claimed_job__then_what_a_worker_needs),
        cmocka_unit_test(document_queue__then_its_depths),
        cmocka_unit_test(members_claim_lost__then_how_the_job_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
