#include "body_cases.h"

#include "codec/bodies_schedule.h"

static struct result decode(const char *body, size_t len, struct field_errors *errors) {
    struct schedule_body ignored;
    return body_schedule(body, len, errors, &ignored);
}

static void read_good(const char *body, struct schedule_body *ret) {
    struct field_errors errors = {0};
    if (failed(body_schedule(body, strlen(body), &errors, ret)))
        fail_msg("%s: %s %s", body, errors.list[0].pointer, errors.list[0].detail);
}

static void body_schedule__when_everything_is_given__then_taken(void **state) {
    struct schedule_body body;
    read_good("{\"lockAtMostFor\":\"PT10M\",\"lockAtLeastFor\":\"PT30S\",\"lockedBy\":\"pod-1\"}", &body);
    assert_int_equal(body.at_most_ms, 600000);
    assert_int_equal(body.at_least_ms, 30000);
    assert_string_equal(body.by, "pod-1");
}

static void body_schedule__when_only_the_most__then_no_least_and_nobody(void **state) {
    struct schedule_body body;
    read_good("{\"lockAtMostFor\":\"PT0.001S\",\"lockAtLeastFor\":null,\"lockedBy\":null}", &body);
    assert_int_equal(body.at_most_ms, 1);
    assert_int_equal(body.at_least_ms, 0);
    assert_string_equal(body.by, "");
}

static void body_schedule__when_at_its_bounds__then_taken(void **state) {
    struct schedule_body body;
    read_good("{\"lockAtMostFor\":\"P1D\",\"lockAtLeastFor\":\"PT24H\"}", &body);
    assert_int_equal(body.at_most_ms, 86400000);
    assert_int_equal(body.at_least_ms, 86400000);
}

static void body_schedule__when_wrong__then_says_what(void **state) {
    static const struct refusal rows[] = {
        {"{}", "/lockAtMostFor", "required"},
        {"{\"lockAtMostFor\":\"PT0S\"}", "/lockAtMostFor", "from PT0.001S to PT24H"},
        {"{\"lockAtMostFor\":\"PT24H0.001S\"}", "/lockAtMostFor", "from PT0.001S to PT24H"},
        {"{\"lockAtMostFor\":\"10m\"}", "/lockAtMostFor", "ISO-8601"},
        {"{\"lockAtMostFor\":\"PT0.0001S\"}", "/lockAtMostFor", "ISO-8601"},
        {"{\"lockAtMostFor\":600000}", "/lockAtMostFor", "string"},
        {"{\"lockAtMostFor\":\"PT1S\",\"lockAtLeastFor\":\"-PT1S\"}", "/lockAtLeastFor", "from PT0S to PT24H"},
        {"{\"lockAtMostFor\":\"PT1S\",\"lockAtLeastFor\":\"PT1.001S\"}", "/lockAtLeastFor", "longer"},
        {"{\"lockAtMostFor\":\"PT1S\",\"lockedBy\":\"\xc3\xa4\"}", "/lockedBy", "ASCII"},
        {"{\"lockAtMostFor\":\"PT1S\",\"lockedBy\":\" a\"}", "/lockedBy", "space"},
        {"{\"lockAtMostFor\":\"PT1S\",\"ttlMs\":1}", "/ttlMs", "not a known field"},
    };
    CHECK_REFUSALS(decode, rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(body_schedule__when_everything_is_given__then_taken),
        cmocka_unit_test(body_schedule__when_only_the_most__then_no_least_and_nobody),
        cmocka_unit_test(body_schedule__when_at_its_bounds__then_taken),
        cmocka_unit_test(body_schedule__when_wrong__then_says_what),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
