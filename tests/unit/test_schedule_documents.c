#include "unit.h"

#include "codec/schedule_documents.h"

#include <string.h>

#define T0 INT64_C(1796009400000) /* 2026-11-30T03:30:00.000Z */

static void document_schedule_grant__when_written__then_all_of_it(void **state) {
    const struct schedule_grant_view view = {.name = "nightly",
                                             .token = "t-30000",
                                             .by = "pod \"1\"",
                                             .locked_at_ms = T0,
                                             .lock_until_ms = T0 + 600000,
                                             .safe_for_ms = 593990};
    AUTO_TEXT out = text_new(0);
    document_schedule_grant(&out, &view);
    assert_string_equal(text_str(&out), "{\"name\":\"nightly\",\"token\":\"t-30000\",\"lockedBy\":\"pod \\\"1\\\"\","
                                        "\"lockedAt\":\"2026-11-30T03:30:00.000Z\","
                                        "\"lockUntil\":\"2026-11-30T03:40:00.000Z\",\"safeForMs\":593990}");
}

static void document_schedule__when_never_used__then_nulls(void **state) {
    const struct schedule_view view = {.name = "n", .by = ""};
    AUTO_TEXT out = text_new(0);
    document_schedule(&out, &view);
    assert_string_equal(text_str(&out), "{\"name\":\"n\",\"held\":false,\"lockedBy\":null,\"lockedAt\":null,"
                                        "\"lockUntil\":null,\"leftMs\":0}");
}

static void document_schedule__when_a_job_of_ours__then_what_this_process_did(void **state) {
    struct schedule_job_view job = {.every_ms = 60000, .at_most_ms = 600000, .at_least_ms = 30000, .runs = 3};
    const struct schedule_view view = {
        .name = "n", .held = true, .by = "a", .locked_at_ms = T0, .lock_until_ms = T0 + 1, .left_ms = 1, .job = &job};
    AUTO_TEXT out = text_new(0);
    document_schedule(&out, &view);
    assert_string_equal(text_str(&out),
                        "{\"name\":\"n\",\"held\":true,\"lockedBy\":\"a\",\"lockedAt\":\"2026-11-30T03:30:00.000Z\","
                        "\"lockUntil\":\"2026-11-30T03:30:00.001Z\",\"leftMs\":1,\"job\":{\"every\":\"PT1M\","
                        "\"lockAtMostFor\":\"PT10M\",\"lockAtLeastFor\":\"PT30S\",\"runs\":3,\"skips\":0,"
                        "\"failures\":0}}");
    job.every_ms = 0;
    text_clear(&out);
    document_schedule(&out, &view);
    assert_non_null(strstr(text_str(&out), "\"job\":{\"every\":null,"));
}

static void members_schedule_locked__when_written__then_who_and_how_long(void **state) {
    const struct schedule_view view = {.by = "pod-1", .lock_until_ms = T0, .left_ms = 700};
    AUTO_TEXT out = text_new(0);
    members_schedule_locked(&out, &view);
    assert_string_equal(text_str(&out), "\"lockedBy\":\"pod-1\",\"lockUntil\":\"2026-11-30T03:30:00.000Z\","
                                        "\"retryAfterMs\":700");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document_schedule_grant__when_written__then_all_of_it),
        cmocka_unit_test(document_schedule__when_never_used__then_nulls),
        cmocka_unit_test(document_schedule__when_a_job_of_ours__then_what_this_process_did),
        cmocka_unit_test(members_schedule_locked__when_written__then_who_and_how_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
