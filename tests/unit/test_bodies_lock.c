#include "unit.h"

#include "codec/bodies_lock.h"

#include <string.h>

static struct result read_body(const char *body, struct field_errors *errors, struct lock_body *ret) {
    return body_lock(body, strlen(body), errors, ret);
}

static void body_lock__when_absent_or_empty__then_defaults(void **state) {
    static const char *const bodies[] = {"", "{}", "{\"token\":null,\"metadata\":null}"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct field_errors errors = {0};
        struct lock_body body;
        assert_false(failed(read_body(bodies[i], &errors, &body)));
        assert_int_equal(body.ttl_ms, 30000);
        assert_int_equal(body.wait_ms, 0);
        assert_int_equal(body.when_down, LOCK_DOWN_DEFAULT);
        assert_string_equal(body.token, "");
        assert_string_equal(body.owner, "");
        assert_string_equal(text_str(&body.metadata), "");
        lock_body_done(&body);
    }
}

static void body_lock__when_everything_is_given__then_taken(void **state) {
    struct field_errors errors = {0};
    struct lock_body body;
    assert_false(failed(read_body("{\"ttlMs\":100,\"waitMs\":600000,\"token\":\"aaaaaaaaaaaaaaaa\",\"owner\":\"o\","
                                  "\"kind\":\"lock\",\"mode\":\"exclusive\",\"store\":\"redis\","
                                  "\"onRedisDown\":\"open\",\"metadata\":{\"a\" : [1, \"\xc3\xa4\"]}}",
                                  &errors, &body)));
    assert_int_equal(body.ttl_ms, 100);
    assert_int_equal(body.wait_ms, 600000);
    assert_int_equal(body.when_down, LOCK_DOWN_OPEN);
    assert_int_equal(body.kind, LOCK_KIND_LOCK);
    assert_string_equal(body.token, "aaaaaaaaaaaaaaaa");
    assert_string_equal(body.owner, "o");
    assert_string_equal(text_str(&body.metadata), "{\"a\":[1,\"\xc3\xa4\"]}");
    lock_body_done(&body);
}

static void body_lock__when_fair__then_so_and_no_set(void **state) {
    static const char set[] = "{\"names\":[\"a\"],\"kind\":\"fair\"}";
    struct field_errors errors = {0};
    struct lock_body body;
    struct lock_set_body bodies;
    assert_false(failed(read_body("{\"kind\":\"fair\"}", &errors, &body)));
    assert_int_equal(body.kind, LOCK_KIND_FAIR);
    lock_body_done(&body);
    assert_int_equal(body_lock_set(set, strlen(set), &errors, &bodies).code, ERROR_INVALID_REQUEST);
    assert_string_equal(errors.list[0].pointer, "/kind");
}

static void body_lock__when_rw__then_with_a_mode(void **state) {
    static const struct {
        const char *body;
        enum lock_mode mode;
    } cases[] = {{"{\"kind\":\"rw\"}", LOCK_MODE_EXCLUSIVE},
                 {"{\"kind\":\"rw\",\"mode\":\"exclusive\"}", LOCK_MODE_EXCLUSIVE},
                 {"{\"mode\":\"shared\",\"kind\":\"rw\"}", LOCK_MODE_SHARED}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct field_errors errors = {0};
        struct lock_body body;
        assert_false(failed(read_body(cases[i].body, &errors, &body)));
        assert_int_equal(body.kind, LOCK_KIND_RW);
        assert_int_equal(body.mode, cases[i].mode);
        lock_body_done(&body);
    }
}

static void body_lock__when_wrong__then_the_field_is_named(void **state) {
    static const struct {
        const char *body, *pointer;
    } cases[] = {
        {"{\"ttlMs\":99}", "/ttlMs"},
        {"{\"ttlMs\":86400001}", "/ttlMs"},
        {"{\"ttlMs\":\"1s\"}", "/ttlMs"},
        {"{\"waitMs\":-1}", "/waitMs"},
        {"{\"waitMs\":600001}", "/waitMs"},
        {"{\"token\":\"aaaaaaaaaaaaaaa\"}", "/token"},
        {"{\"token\":\"aaaaaaaaaaaaaaa!\"}", "/token"},
        {"{\"owner\":\"\"}", "/owner"},
        {"{\"kind\":\"other\"}", "/kind"},
        {"{\"mode\":\"none\"}", "/mode"},
        {"{\"mode\":\"shared\"}", "/mode"},
        {"{\"kind\":\"rw\",\"store\":\"database\"}", "/kind"},
        {"{\"store\":\"disk\"}", "/store"},
        {"{\"onRedisDown\":1}", "/onRedisDown"},
        {"{\"metadata\":[]}", "/metadata"},
        {"{\"ttl\":100}", "/ttl"},
        {"[]", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct field_errors errors = {0};
        struct lock_body body;
        assert_int_equal(read_body(cases[i].body, &errors, &body).code, ERROR_INVALID_REQUEST);
        assert_int_equal(errors.count, 1);
        assert_string_equal(errors.list[0].pointer, cases[i].pointer);
    }
}

static void body_lock__when_metadata_has_2048_bytes__then_taken_and_with_one_more_refused(void **state) {
    for (int extra = 0; extra < 2; extra++) {
        struct field_errors errors = {0};
        struct lock_body body;
        AUTO_TEXT text = text_new(0);
        text_add_str(&text, "{\"metadata\":{\"a\":\"");
        for (int i = 0; i < LOCK_METADATA_MAX - 8 + extra; i++) text_add_char(&text, 'x');
        text_add_str(&text, "\"}}");
        struct result result = read_body(text_str(&text), &errors, &body);
        assert_int_equal(failed(result), extra);
        if (failed(result)) continue;
        assert_int_equal(body.metadata.len, LOCK_METADATA_MAX);
        lock_body_done(&body);
    }
}

static void body_lock_set__when_names_are_right__then_taken_in_their_order(void **state) {
    static const char text[] = "{\"names\":[\"b\",\"a\",\"\"],\"ttlMs\":200}";
    struct field_errors errors = {0};
    struct lock_set_body set;
    assert_false(failed(body_lock_set(text, strlen(text), &errors, &set)));
    assert_int_equal(set.count, 3);
    assert_string_equal(set.names[0], "b");
    assert_string_equal(set.names[1], "a");
    assert_string_equal(set.names[2], "");
    assert_int_equal(set.terms.ttl_ms, 200);
    lock_set_body_done(&set);
}

static void body_lock_set__when_names_are_wrong__then_the_place_is_named(void **state) {
    static const struct {
        const char *body, *pointer;
    } cases[] = {
        {"{\"names\":[]}", "/names"},
        {"{\"names\":\"a\"}", "/names"},
        {"{}", "/names"},
        {"{\"names\":[\"a\",1]}", "/names/1"},
        {"{\"names\":[\"a\",\"b\",\"a\"]}", "/names/2"},
        {"{\"names\":[\"a\"],\"name\":\"a\"}", "/name"},
        {"{\"names\":[\"a\"],\"token\":\"aaaaaaaaaaaaaaa!\"}", "/token"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct field_errors errors = {0};
        struct lock_set_body set;
        assert_true(failed(body_lock_set(cases[i].body, strlen(cases[i].body), &errors, &set)));
        assert_string_equal(errors.list[0].pointer, cases[i].pointer);
    }
}

static void body_lock_set__when_more_than_64_names__then_refused(void **state) {
    for (int count = LOCK_SET_MAX; count <= LOCK_SET_MAX + 1; count++) {
        struct field_errors errors = {0};
        struct lock_set_body set;
        AUTO_TEXT text = text_new(0);
        text_add_str(&text, "{\"names\":[");
        for (int i = 0; i < count; i++) text_addf(&text, "%s\"n%d\"", i == 0 ? "" : ",", i);
        text_add_str(&text, "]}");
        struct result result = body_lock_set(text_str(&text), text.len, &errors, &set);
        assert_int_equal(failed(result), count > LOCK_SET_MAX);
        if (!failed(result)) lock_set_body_done(&set);
    }
}

static void body_lock__when_kept_in_the_database__then_so_and_no_set(void **state) {
    static const char set[] = "{\"names\":[\"a\"],\"store\":\"database\"}";
    struct field_errors errors = {0};
    struct lock_body body;
    struct lock_set_body bodies;
    assert_false(failed(read_body("{\"store\":\"database\"}", &errors, &body)));
    assert_int_equal(body.kind, LOCK_KIND_DATABASE);
    lock_body_done(&body);
    assert_int_equal(body_lock_set(set, strlen(set), &errors, &bodies).code, ERROR_INVALID_REQUEST);
    assert_string_equal(errors.list[0].pointer, "/store");
}

static struct result read_semaphore(const char *body, struct field_errors *errors, struct lock_body *ret) {
    return body_semaphore(body, strlen(body), errors, ret);
}

static void body_semaphore__when_given_or_not__then_permits_and_limit(void **state) {
    static const struct {
        const char *body;
        int64_t permits, limit, ttl_ms;
    } cases[] = {
        {"", 1, 0, 30000},
        {"{}", 1, 0, 30000},
        {"{\"permits\":3}", 3, 0, 30000},
        {"{\"limit\":10}", 1, 10, 30000},
        {"{\"permits\":1000,\"limit\":10000,\"ttlMs\":100,\"metadata\":{}}", 1000, 10000, 100},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct field_errors errors = {0};
        struct lock_body body;
        assert_false(failed(read_semaphore(cases[i].body, &errors, &body)));
        assert_int_equal(body.kind, LOCK_KIND_SEMAPHORE);
        assert_int_equal(body.permits, cases[i].permits);
        assert_int_equal(body.limit, cases[i].limit);
        assert_int_equal(body.ttl_ms, cases[i].ttl_ms);
        lock_body_done(&body);
    }
}

static void body_semaphore__when_wrong__then_the_field_is_named(void **state) {
    static const struct {
        const char *body, *pointer;
    } cases[] = {
        {"{\"permits\":0}", "/permits"},
        {"{\"permits\":1001}", "/permits"},
        {"{\"limit\":0}", "/limit"},
        {"{\"limit\":10001}", "/limit"},
        {"{\"limit\":2,\"permits\":3}", "/permits"},
        {"{\"limit\":2,\"kind\":\"lock\"}", "/kind"},
        {"{\"limit\":2,\"names\":[]}", "/names"},
        {"{\"limit\":2,\"token\":\"aaaaaaaaaaaaaaa!\"}", "/token"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct field_errors errors = {0};
        struct lock_body body;
        assert_int_equal(read_semaphore(cases[i].body, &errors, &body).code, ERROR_INVALID_REQUEST);
        assert_string_equal(errors.list[0].pointer, cases[i].pointer);
    }
}

static void body_semaphore_change__when_a_lease_or_a_limit__then_one_of_them(void **state) {
    struct field_errors errors = {0};
    int64_t ttl_ms, limit;
    assert_false(failed(body_semaphore_change("", 0, &errors, &ttl_ms, &limit)));
    assert_int_equal(ttl_ms, 30000);
    assert_int_equal(limit, 0);
    assert_false(failed(body_semaphore_change("{\"limit\":7}", 11, &errors, &ttl_ms, &limit)));
    assert_int_equal(limit, 7);
    assert_true(failed(body_semaphore_change("{\"limit\":7,\"ttlMs\":500}", 23, &errors, &ttl_ms, &limit)));
    assert_string_equal(errors.list[0].pointer, "/limit");
    assert_true(failed(body_semaphore_change("{\"limit\":0}", 11, &errors, &ttl_ms, &limit)));
}

static void body_lock_renewal__when_given_or_not__then_ttl(void **state) {
    struct field_errors errors = {0};
    int64_t ttl_ms = 0;
    assert_false(failed(body_lock_renewal("", 0, &errors, &ttl_ms)));
    assert_int_equal(ttl_ms, 30000);
    assert_false(failed(body_lock_renewal("{\"ttlMs\":500}", 13, &errors, &ttl_ms)));
    assert_int_equal(ttl_ms, 500);
    assert_true(failed(body_lock_renewal("{\"ttlMs\":5}", 11, &errors, &ttl_ms)));
    assert_true(failed(body_lock_renewal("{\"waitMs\":5}", 12, &errors, &ttl_ms)));
}

static void body_fence__when_out_of_range__then_refused(void **state) {
    struct field_errors errors = {0};
    int64_t fence = 0;
    assert_false(failed(body_fence("{\"fence\":9007199254740991}", 26, &errors, &fence)));
    assert_int_equal(fence, INT64_C(9007199254740991));
    assert_true(failed(body_fence("{\"fence\":0}", 11, &errors, &fence)));
    assert_true(failed(body_fence("{\"fence\":9007199254740992}", 26, &errors, &fence)));
    assert_true(failed(body_fence("{}", 2, &errors, &fence)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(body_lock__when_absent_or_empty__then_defaults),
        cmocka_unit_test(body_lock__when_everything_is_given__then_taken),
        cmocka_unit_test(body_lock__when_fair__then_so_and_no_set),
        cmocka_unit_test(body_lock__when_rw__then_with_a_mode),
        cmocka_unit_test(body_lock__when_wrong__then_the_field_is_named),
        cmocka_unit_test(body_lock__when_metadata_has_2048_bytes__then_taken_and_with_one_more_refused),
        cmocka_unit_test(body_lock_set__when_names_are_right__then_taken_in_their_order),
        cmocka_unit_test(body_lock_set__when_names_are_wrong__then_the_place_is_named),
        cmocka_unit_test(body_lock_set__when_more_than_64_names__then_refused),
        cmocka_unit_test(body_lock__when_kept_in_the_database__then_so_and_no_set),
        cmocka_unit_test(body_semaphore__when_given_or_not__then_permits_and_limit),
        cmocka_unit_test(body_semaphore__when_wrong__then_the_field_is_named),
        cmocka_unit_test(body_semaphore_change__when_a_lease_or_a_limit__then_one_of_them),
        cmocka_unit_test(body_lock_renewal__when_given_or_not__then_ttl),
        cmocka_unit_test(body_fence__when_out_of_range__then_refused),
    };
    json_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
