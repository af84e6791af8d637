/* The embedded scripts are the sources, whole. */
#include "redis/scripts.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void script_text__when_asked__then_the_whole_source(void **state) {
    static const struct {
        enum redis_script script;
        const char *has;
    } cases[] = {
        {SCRIPT_TRAIN_ACQUIRE, "HINCRBY"},
        {SCRIPT_TRAIN_RENEW, "PEXPIRE"},
        {SCRIPT_TRAIN_RELEASE, "redisson_lock__channel:"},
    };
    assert_int_equal(sizeof cases / sizeof cases[0], SCRIPT_COUNT);
    for (size_t i = 0; i < SCRIPT_COUNT; i++) {
        const char *text = script_text(cases[i].script);
        assert_non_null(strstr(text, cases[i].has));
        assert_int_equal(strncmp(text, "-- ", 3), 0);
        assert_string_equal(text + strlen(text) - strlen("return reply\n"), "return reply\n");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(script_text__when_asked__then_the_whole_source)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
