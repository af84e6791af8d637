/* Bodies a client sends are those the service reads; replies are read whatever is new in them. */
#include "unit.h"

#include "codec/bodies_lock.h"
#include "codec/lock_client.h"

#include <string.h>

static bool read_reply(const char *body, struct lock_reply *ret) { return lock_reply_read(body, strlen(body), ret); }

static void request__when_written__then_the_service_reads_the_same(void **state) {
    const struct lock_request request = {.token = "0123456789abcdef",
                                         .owner = "host \"7\"",
                                         .kind = "lock",
                                         .mode = "exclusive",
                                         .ttl_ms = 5000,
                                         .wait_ms = 70};
    struct field_errors errors;
    struct lock_body body;
    AUTO_TEXT out = text_new(0);
    document_lock_request(&out, &request);
    assert_false(failed(body_lock(out.data, out.len, &errors, &body)));
    assert_int_equal(body.ttl_ms, 5000);
    assert_int_equal(body.wait_ms, 70);
    assert_string_equal(body.token, request.token);
    assert_string_equal(body.owner, request.owner);
    assert_int_equal(body.when_down, LOCK_DOWN_CLOSED);
    lock_body_done(&body);
}

static void request__when_of_a_semaphore__then_the_service_reads_the_same(void **state) {
    struct lock_request request = {
        .token = "0123456789abcdef", .owner = "h", .kind = "semaphore", .ttl_ms = 5000, .permits = 2, .limit = 3};
    for (int64_t limit = 3; limit >= 0; limit -= 3) {
        struct field_errors errors;
        struct lock_body body;
        AUTO_TEXT out = text_new(0);
        request.limit = limit;
        document_lock_request(&out, &request);
        assert_false(failed(body_semaphore(out.data, out.len, &errors, &body)));
        assert_int_equal(body.permits, 2);
        assert_int_equal(body.limit, limit);
        lock_body_done(&body);
    }
}

static void renewal__when_written__then_the_service_reads_the_same(void **state) {
    struct field_errors errors;
    int64_t ttl_ms = 0;
    AUTO_TEXT out = text_new(0);
    document_lock_renewal(&out, 12345);
    assert_false(failed(body_lock_renewal(out.data, out.len, &errors, &ttl_ms)));
    assert_int_equal(ttl_ms, 12345);
}

static void reply__when_a_grant__then_fence_and_time(void **state) {
    struct lock_reply reply;
    assert_true(read_reply("{\"name\":\"n\",\"fence\":4294967297,\"safeForMs\":29690,\"safety\":\"redis\",\"new\":[1]}",
                           &reply));
    assert_true(reply.fence == INT64_C(4294967297));
    assert_int_equal(reply.safe_for_ms, 29690);
    assert_int_equal(reply.retry_after_ms, -1);
    assert_string_equal(reply.safety, "redis");
    assert_string_equal(reply.code, "");
}

static void reply__when_a_problem__then_code_reason_and_holder(void **state) {
    struct lock_reply reply;
    assert_true(read_reply(
        "{\"code\":\"LCK-001\",\"detail\":\"held\",\"holder\":{\"owner\":\"me\"},\"retryAfterMs\":5}", &reply));
    assert_string_equal(reply.code, "LCK-001");
    assert_string_equal(reply.detail, "held");
    assert_string_equal(reply.holder, "me");
    assert_int_equal(reply.retry_after_ms, 5);
    assert_true(read_reply("{\"code\":\"LCK-002\",\"reason\":\"forced\",\"holder\":null}", &reply));
    assert_string_equal(reply.reason, "forced");
    assert_string_equal(reply.holder, "");
}

static void reply__when_members_have_other_types__then_absent(void **state) {
    struct lock_reply reply;
    assert_true(read_reply(
        "{\"fence\":null,\"safeForMs\":\"29690\",\"safety\":1,\"code\":[],\"detail\":{},\"holder\":3}", &reply));
    assert_int_equal(reply.fence, 0);
    assert_int_equal(reply.safe_for_ms, -1);
    assert_string_equal(reply.safety, "");
    assert_string_equal(reply.code, "");
    assert_true(read_reply("{\"safeForMs\":29690.0}", &reply));
    assert_int_equal(reply.safe_for_ms, -1);
}

static void reply__when_no_object__then_unread(void **state) {
    static const char *const bodies[] = {"", "[]", "\"x\"", "{", "<html>", "{\"a\":1}x", "{\"a\":1,\"a\":2}", "null"};
    struct lock_reply reply;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) assert_false(read_reply(bodies[i], &reply));
}

static void reply__when_words_are_long__then_cut(void **state) {
    struct lock_reply reply;
    char body[1024];
    char word[900];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_true(text_format(body, sizeof body, "{\"detail\":\"%s\",\"reason\":\"\"}", word));
    assert_true(read_reply(body, &reply));
    assert_int_equal(strlen(reply.detail), sizeof reply.detail - 1);
}

static int setup(void **state) {
    json_start();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request__when_written__then_the_service_reads_the_same),
        cmocka_unit_test(request__when_of_a_semaphore__then_the_service_reads_the_same),
        cmocka_unit_test(renewal__when_written__then_the_service_reads_the_same),
        cmocka_unit_test(reply__when_a_grant__then_fence_and_time),
        cmocka_unit_test(reply__when_a_problem__then_code_reason_and_holder),
        cmocka_unit_test(reply__when_members_have_other_types__then_absent),
        cmocka_unit_test(reply__when_no_object__then_unread),
        cmocka_unit_test(reply__when_words_are_long__then_cut),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
