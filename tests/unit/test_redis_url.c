/* Every part of a Redis url, and every way it can be wrong. */
#include "redis/redis_url.h"

#include "base/text.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void redis_url_parse__when_well_formed__then_parts(void **state) {
    static const struct {
        const char *url;
        struct redis_url wanted;
    } cases[] = {
        {"redis://localhost", {"localhost", 6379, "", "", 0}},
        {"redis://localhost/", {"localhost", 6379, "", "", 0}},
        {"redis://10.0.0.1:7000/3", {"10.0.0.1", 7000, "", "", 3}},
        {"redis://h:1/65535", {"h", 1, "", "", 65535}},
        {"redis://h:65535", {"h", 65535, "", "", 0}},
        {"redis://:secret@h", {"h", 6379, "", "secret", 0}},
        {"redis://ann:se:cret@h:5/1", {"h", 5, "ann", "se:cret", 1}},
        {"redis://a%40b:p%2Fq%25@h", {"h", 6379, "a@b", "p/q%", 0}},
        {"redis://[::1]", {"::1", 6379, "", "", 0}},
        {"redis://:pw@[fe80::2]:7001/2", {"fe80::2", 7001, "", "pw", 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct redis_url url;
        const char *problem = "unset";
        assert_false(failed(redis_url_parse(cases[i].url, &url, &problem)));
        assert_null(problem);
        assert_string_equal(url.host, cases[i].wanted.host);
        assert_int_equal(url.port, cases[i].wanted.port);
        assert_string_equal(url.user, cases[i].wanted.user);
        assert_string_equal(url.password, cases[i].wanted.password);
        assert_int_equal(url.database, cases[i].wanted.database);
    }
}

static void redis_url_parse__when_malformed__then_refused_with_a_reason(void **state) {
    static const struct {
        const char *url, *reason;
    } cases[] = {
        {"localhost:6379", "redis://"},
        {"http://h", "redis://"},
        {"rediss://h", "TLS"},
        {"redis+sentinel://h:1/m", "sentinel"},
        {"redis://", "host"},
        {"redis://:6379", "host"},
        {"redis:///1", "host"},
        {"redis://h h", "host"},
        {"redis://h?tls=1", "host"},
        {"redis://[::1", "brackets"},
        {"redis://[::1]6379", "brackets"},
        {"redis://[]", "host"},
        {"redis://h:", "port"},
        {"redis://h:0", "port"},
        {"redis://h:65536", "port"},
        {"redis://h:6x", "port"},
        {"redis://h:1:2", "port"},
        {"redis://h/x", "database"},
        {"redis://h/-1", "database"},
        {"redis://h/65536", "database"},
        {"redis://h/1/2", "database"},
        {"redis://ann@h", "password"},
        {"redis://ann:@h", "password"},
        {"redis://@h", "password"},
        {"redis://:a%4@h", "percent"},
        {"redis://:a%zz@h", "percent"},
        {"redis://:a%00b@h", "percent"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct redis_url url = {.port = 77};
        const char *problem = NULL;
        struct result parsed = redis_url_parse(cases[i].url, &url, &problem);
        assert_int_equal(parsed.code, ERROR_INVALID_REQUEST);
        assert_non_null(problem);
        assert_non_null(strstr(problem, cases[i].reason));
        assert_int_equal(url.port, 77);
    }
}

static void redis_url_parse__when_parts_are_too_long__then_refused(void **state) {
    static const char *const formats[] = {"redis://%s", "redis://:%s@h", "redis://%s:pw@h"};
    char filler[REDIS_CREDENTIAL_SIZE + 1];
    memset(filler, 'a', sizeof filler - 1);
    filler[sizeof filler - 1] = '\0';
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        char url[REDIS_CREDENTIAL_SIZE + 32];
        const char *rest = strstr(formats[i], "%s");
        assert_true(text_format(url, sizeof url, "%.*s%s%s", (int)(rest - formats[i]), formats[i], filler, rest + 2));
        struct redis_url parsed;
        const char *problem = NULL;
        assert_true(failed(redis_url_parse(url, &parsed, &problem)));
        assert_non_null(problem);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(redis_url_parse__when_well_formed__then_parts),
        cmocka_unit_test(redis_url_parse__when_malformed__then_refused_with_a_reason),
        cmocka_unit_test(redis_url_parse__when_parts_are_too_long__then_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
