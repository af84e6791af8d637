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
        {SCRIPT_LOCK_ACQUIRE, "'granted'"},
        {SCRIPT_LOCK_RENEW, "'superseded'"},
        {SCRIPT_LOCK_RELEASE, "NUMSUB"},
        {SCRIPT_LOCK_STATUS, "'free'"},
        {SCRIPT_LOCK_WATCH, "rw_fate_of"},
        {SCRIPT_LOCK_FENCE, "run_id"},
        {SCRIPT_LOCK_NAMES, "ZRANGEBYLEX"},
        {SCRIPT_LOCK_LIST, "'sweep'"},
        {SCRIPT_LOCK_FORCE, "'forced'"},
        {SCRIPT_LOCK_BIND, "'bound'"},
        {SCRIPT_LOCK_WAIT, "'suspect'"},
        {SCRIPT_RW_ACQUIRE, "'own'"},
        {SCRIPT_RW_REARM, "rearm_holds"},
        {SCRIPT_FAIR_ACQUIRE, "'queued'"},
        {SCRIPT_FAIR_BEAT, "go_through"},
        {SCRIPT_FAIR_LEAVE, "give_up(name, holder)"},
        {SCRIPT_SEMAPHORE_ACQUIRE, "take_back(name, now)"},
        {SCRIPT_SEMAPHORE_RENEW, "'XX'"},
        {SCRIPT_SEMAPHORE_RELEASE, "redisson_sc:"},
        {SCRIPT_SEMAPHORE_LIMIT, "INCRBY"},
        {SCRIPT_SEMAPHORE_FORCE, "'forced:'"},
        {SCRIPT_SEMAPHORE_STATUS, "ZCOUNT"},
    };
    assert_int_equal(sizeof cases / sizeof cases[0], SCRIPT_COUNT);
    for (size_t i = 0; i < SCRIPT_COUNT; i++) {
        const char *text = script_text(cases[i].script);
        assert_non_null(strstr(text, cases[i].has));
        assert_int_equal(strncmp(text, "-- ", 3), 0);
        assert_string_equal(text + strlen(text) - strlen("return reply\n"), "return reply\n");
    }
}

static void script_text__when_of_locks__then_what_they_share_stands_before_it(void **state) {
    const char *text = script_text(SCRIPT_LOCK_RENEW);
    assert_true(strstr(text, "local function look_at") < strstr(text, "local function renew"));
    assert_null(strstr(script_text(SCRIPT_TRAIN_RENEW), "look_at"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(script_text__when_asked__then_the_whole_source),
        cmocka_unit_test(script_text__when_of_locks__then_what_they_share_stands_before_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
