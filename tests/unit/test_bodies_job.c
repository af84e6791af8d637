#include "codec/bodies_job.h"

#include "body_cases.h"

static struct result decode_job(const char *body, size_t len, struct field_errors *errors) {
    struct queued_job_body value = {0};
    const struct result result = body_job(body, len, errors, &value);
    text_done(&value.payload);
    return result;
}
static struct result decode_claims(const char *body, size_t len, struct field_errors *errors) {
    struct claims_body value;
    return body_claims(body, len, errors, &value);
}
static struct result decode_complete(const char *body, size_t len, struct field_errors *errors) {
    struct settle_body value;
    return body_complete(body, len, errors, &value);
}
static struct result decode_retry(const char *body, size_t len, struct field_errors *errors) {
    struct settle_body value;
    return body_retry(body, len, errors, &value);
}
static struct result decode_renewal(const char *body, size_t len, struct field_errors *errors) {
    struct settle_body value;
    return body_claim_renewal(body, len, errors, &value);
}

static struct queued_job_body job_of_body(const char *body) {
    struct queued_job_body value = {0};
    struct field_errors errors;
    assert_false(failed(body_job(body, strlen(body), &errors, &value)));
    return value;
}

static void body_job__when_right__then_values(void **state) {
    static const char *const empty[] = {"", "{}", "{\"payload\":null,\"delayMs\":null}"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        struct queued_job_body value = job_of_body(empty[i]);
        assert_string_equal(text_str(&value.payload), "{}");
        assert_string_equal(value.dedupe_key, "");
        assert_int_equal(value.delay_ms, 0);
        assert_int_equal(value.max_attempts, 10);
        text_done(&value.payload);
    }
    struct queued_job_body value = job_of_body(
        "{\"maxAttempts\":1000,\"payload\":{ \"b\":1.5, \"a\":[null]},\"delayMs\":2592000000,\"dedupeKey\":\"d\"}");
    assert_string_equal(text_str(&value.payload), "{\"b\":1.5,\"a\":[null]}");
    assert_string_equal(value.dedupe_key, "d");
    assert_int_equal(value.delay_ms, JOB_DELAY_MS_MAX);
    assert_int_equal(value.max_attempts, 1000);
    text_done(&value.payload);
}

static void body_job__when_numbers_have_decimals__then_they_read_as_they_were_sent(void **state) {
    static const char *const payloads[] = {"{\"a\":0.1,\"b\":[1.1,-19.99,0.0]}", "{\"a\":3.141592653589793}",
                                           "{\"a\":1e300,\"b\":9007199254740993}", "{\"a\":0.30000000000000004}"};
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++) {
        AUTO_TEXT body = text_new(0);
        text_addf(&body, "{\"payload\":%s}", payloads[i]);
        struct queued_job_body value = job_of_body(text_str(&body));
        assert_string_equal(text_str(&value.payload), payloads[i]);
        text_done(&value.payload);
    }
}

static void body_job__when_wrong__then_refused(void **state) {
    static const struct refusal rows[] = {
        {"[]", "", "must be an object"},
        {"{\"payload\":[]}", "/payload", "object of at most 65536 bytes"},
        {"{\"payload\":\"x\"}", "/payload", "object of at most 65536 bytes"},
        {"{\"delayMs\":-1}", "/delayMs", "from 0 to 2592000000"},
        {"{\"maxAttempts\":0}", "/maxAttempts", "from 1 to 1000"},
        {"{\"dedupeKey\":\"\"}", "/dedupeKey", "1 to 200 bytes"},
        {"{\"dedupeKey\":\" a\"}", "/dedupeKey", "must not begin or end with a space"},
        {"{\"queue\":\"a\"}", "/queue", "not a known field"},
    };
    CHECK_REFUSALS(decode_job, rows);
}

static void body_claims__when_absent__then_defaults(void **state) {
    struct claims_body value;
    struct field_errors errors;
    assert_false(failed(body_claims("", 0, &errors, &value)));
    assert_int_equal(value.limit, 10);
    assert_int_equal(value.lease_ms, 30000);
    assert_string_equal(value.owner, "");
}

static void body_claims__when_wrong__then_refused(void **state) {
    static const struct refusal rows[] = {
        {"{\"limit\":0}", "/limit", "from 1 to 100"},
        {"{\"limit\":101}", "/limit", "from 1 to 100"},
        {"{\"leaseMs\":99}", "/leaseMs", "from 100 to 86400000"},
        {"{\"owner\":\"\"}", "/owner", "1 to 128 bytes"},
        {"{\"waitMs\":1}", "/waitMs", "not a known field"},
    };
    CHECK_REFUSALS(decode_claims, rows);
}

/* Each end takes its own fields and no others. */
static void bodies_of_ends__when_wrong__then_refused(void **state) {
    static const struct refusal complete[] = {
        {"", "", "a JSON object is required"},
        {"{}", "/claimToken", "is required"},
        {"{\"claimToken\":\"\"}", "/claimToken", "1 to 200 bytes"},
        {"{\"claimToken\":\"x\",\"delayMs\":1}", "/delayMs", "not a known field"},
        {"{\"claimToken\":\"x\",\"leaseMs\":1000}", "/leaseMs", "not a known field"},
        {"{\"claimToken\":\"x\",\"lastResult\":\"a\\nb\"}", "/lastResult", "without control characters"},
    };
    static const struct refusal retry[] = {
        {"{\"claimToken\":\"x\",\"delayMs\":2592000001}", "/delayMs", "from 0 to 2592000000"},
        {"{\"claimToken\":\"x\",\"leaseMs\":1000}", "/leaseMs", "not a known field"},
    };
    static const struct refusal renewal[] = {
        {"{\"claimToken\":\"x\",\"leaseMs\":86400001}", "/leaseMs", "from 100 to 86400000"},
        {"{\"claimToken\":\"x\",\"lastResult\":\"r\"}", "/lastResult", "not a known field"},
    };
    CHECK_REFUSALS(decode_complete, complete);
    CHECK_REFUSALS(decode_retry, retry);
    CHECK_REFUSALS(decode_renewal, renewal);
}

static void body_retry__when_right__then_values(void **state) {
    static const char body[] = "{\"claimToken\":\"1.x\",\"delayMs\":5,\"lastResult\":\"r\"}";
    struct settle_body value;
    struct field_errors errors;
    assert_false(failed(body_retry(body, strlen(body), &errors, &value)));
    assert_string_equal(value.token, "1.x");
    assert_string_equal(value.result, "r");
    assert_int_equal(value.delay_ms, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(body_job__when_right__then_values),
        cmocka_unit_test(body_job__when_numbers_have_decimals__then_they_read_as_they_were_sent),
        cmocka_unit_test(body_job__when_wrong__then_refused),
        cmocka_unit_test(body_claims__when_absent__then_defaults),
        cmocka_unit_test(body_claims__when_wrong__then_refused),
        cmocka_unit_test(bodies_of_ends__when_wrong__then_refused),
        cmocka_unit_test(body_retry__when_right__then_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
