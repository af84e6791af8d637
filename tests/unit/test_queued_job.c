#include "unit.h"

#include "domain/queued_job.h"

#include <string.h>

static void job_status__when_named__then_read_back(void **state) {
    enum job_status status;
    for (int i = 0; i < JOB_STATUS_COUNT; i++) {
        assert_true(job_status_parse(job_status_name((enum job_status)i), &status));
        assert_int_equal(status, i);
    }
    assert_false(job_status_parse("ready", &status));
    assert_false(job_status_parse("", &status));
}

static void queue_name_fault__when_it_is_one__then_null(void **state) {
    char longest[QUEUE_NAME_MAX + 2];
    static const char *const good[] = {"a", "mails/eu", "a b", "{x}", "Gr\xc3\xb6\xc3\x9f\x65", "lockstock"};
    static const char *const bad[] = {"", " a", "a ", "a\n", "\xff", "lockstock:", "lockstock:payments"};
    memset(longest, 'x', sizeof longest);
    longest[QUEUE_NAME_MAX] = '\0';
    assert_null(queue_name_fault(longest));
    longest[QUEUE_NAME_MAX] = 'x';
    longest[QUEUE_NAME_MAX + 1] = '\0';
    assert_non_null(queue_name_fault(longest));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_null(queue_name_fault(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_non_null(queue_name_fault(bad[i]));
}

static void job_token__when_written__then_read_back(void **state) {
    char secret[JOB_SECRET_SIZE], read[JOB_SECRET_SIZE], token[JOB_TOKEN_SIZE];
    int64_t fence;
    text_random_hex(32, secret);
    job_token_write(INT64_MAX, secret, token);
    assert_true(job_token_read(token, &fence, read));
    assert_int_equal(fence, INT64_MAX);
    assert_string_equal(read, secret);
}

static void job_token_read__when_it_cannot_be_one__then_false(void **state) {
    char read[JOB_SECRET_SIZE];
    int64_t fence;
    static const char *const tokens[] = {
        "",
        "x",
        "1.",
        ".0123456789012345678901234567890123456789012345678901234567890123",
        "0.0123456789012345678901234567890123456789012345678901234567890123",
        "-1.0123456789012345678901234567890123456789012345678901234567890123",
        "01.0123456789012345678901234567890123456789012345678901234567890123",
        "1.012345678901234567890123456789012345678901234567890123456789012",
        "1.01234567890123456789012345678901234567890123456789012345678901234",
    };
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) assert_false(job_token_read(tokens[i], &fence, read));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_status__when_named__then_read_back),
        cmocka_unit_test(queue_name_fault__when_it_is_one__then_null),
        cmocka_unit_test(job_token__when_written__then_read_back),
        cmocka_unit_test(job_token_read__when_it_cannot_be_one__then_false),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
