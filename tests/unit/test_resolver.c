/* Names become addresses on another thread, and the loop goes on meanwhile. */
#include "redis/resolver.h"

#include "base/text.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct answer {
    struct loop *loop;
    bool came;
    bool found;
    char address[64];
};

static void on_answer(void *arg, const char *address) {
    struct answer *answer = arg;
    answer->came = true;
    answer->found = address != NULL;
    (void)text_format(answer->address, sizeof answer->address, "%s", address != NULL ? address : "");
    loop_stop(answer->loop);
}

static void on_deadline(void *arg) { loop_stop(arg); }

static struct answer look_up(const char *host, unsigned attempt) {
    struct answer answer = {.loop = loop_new()};
    struct loop_timer *deadline = loop_timer_new(answer.loop, on_deadline, answer.loop);
    loop_timer_start(deadline, 20000, 0);
    struct resolver *resolver = resolver_start(answer.loop, host, attempt, on_answer, &answer);
    assert_non_null(resolver);
    loop_run(answer.loop);
    resolver_free(resolver);
    loop_timer_free(deadline);
    loop_free(answer.loop);
    return answer;
}

static void resolver__when_name_is_known__then_numeric_address(void **state) {
    for (unsigned attempt = 0; attempt < 3; attempt++) {
        struct answer answer = look_up("localhost", attempt);
        assert_true(answer.came);
        assert_true(answer.found);
        assert_true(resolver_is_numeric(answer.address));
    }
}

static void resolver__when_name_is_malformed__then_none(void **state) {
    struct answer answer = look_up("no..such..host", 0);
    assert_true(answer.came);
    assert_false(answer.found);
}

static void resolver__when_freed_early__then_never_called(void **state) {
    struct answer answer = {.loop = loop_new()};
    resolver_free(resolver_start(answer.loop, "localhost", 0, on_answer, &answer));
    loop_free(answer.loop);
    assert_false(answer.came);
    assert_null(resolver_free(NULL));
}

static void resolver_is_numeric__when_asked__then_only_addresses(void **state) {
    assert_true(resolver_is_numeric("127.0.0.1"));
    assert_true(resolver_is_numeric("::1"));
    assert_false(resolver_is_numeric("localhost"));
    assert_false(resolver_is_numeric("127.0.0"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resolver__when_name_is_known__then_numeric_address),
        cmocka_unit_test(resolver__when_name_is_malformed__then_none),
        cmocka_unit_test(resolver__when_freed_early__then_never_called),
        cmocka_unit_test(resolver_is_numeric__when_asked__then_only_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
