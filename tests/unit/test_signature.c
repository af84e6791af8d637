/* The vector is the one of the Standard Webhooks libraries. */
#include "unit.h"

#include "codec/signature.h"

#include <string.h>

static const struct signed_message vector = {
    .id = "msg_p5jXN8AQM9LWM0D4loKWxJek", .sent_at_s = 1614265330, .body = "{\"test\": 2432232314}", .body_len = 20};

static void signature__when_of_the_vector__then_that_of_the_libraries(void **state) {
    char out[SIGNATURE_SIZE];
    assert_true(signature_make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", &vector, out));
    assert_string_equal(out, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

static void signature__when_another_moment__then_another(void **state) {
    char one[SIGNATURE_SIZE], two[SIGNATURE_SIZE];
    struct signed_message later = vector;
    later.sent_at_s++;
    assert_true(signature_make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", &vector, one));
    assert_true(signature_make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", &later, two));
    assert_string_not_equal(one, two);
}

static void secret__when_new__then_it_signs_and_is_another_each_time(void **state) {
    char one[SIGNATURE_SECRET_SIZE], two[SIGNATURE_SECRET_SIZE], out[SIGNATURE_SIZE];
    signature_new_secret(one);
    signature_new_secret(two);
    assert_int_equal(strlen(one), SIGNATURE_SECRET_SIZE - 1);
    assert_string_not_equal(one, two);
    assert_true(signature_make(one, &vector, out));
    assert_int_equal(strlen(out), SIGNATURE_SIZE - 1);
}

static void secret__when_malformed__then_no_signature(void **state) {
    static const char *const secrets[] = {
        "",
        "whsec_",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_MfKQ",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa!w",
        "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
    char out[SIGNATURE_SIZE] = "x";
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        assert_false(signature_make(secrets[i], &vector, out));
        assert_string_equal(out, "");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signature__when_of_the_vector__then_that_of_the_libraries),
        cmocka_unit_test(signature__when_another_moment__then_another),
        cmocka_unit_test(secret__when_new__then_it_signs_and_is_another_each_time),
        cmocka_unit_test(secret__when_malformed__then_no_signature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
