/* Faults by name from the environment; anything unreadable ends the process. */
#include "base/fault.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void start_with(const char *list) {
    setenv("LOCKSTOCK_FAULTS", list, 1);
    fault_start();
}

static int exit_code_with(const char *list) {
    pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        start_with(list);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void fault_on__when_nothing_is_set__then_all_off(void **state) {
    unsetenv("LOCKSTOCK_FAULTS");
    fault_start();
    for (int i = 0; i < FAULT_COUNT; i++) assert_false(fault_on((enum fault)i));
    start_with("");
    for (int i = 0; i < FAULT_COUNT; i++) assert_false(fault_on((enum fault)i));
}

static void fault_on__when_named__then_that_one_alone(void **state) {
    static const char *const names[FAULT_COUNT] = {
        "no-redis-lock",      "no-row-lock",      "no-version-check",  "no-renewal",        "unlock-before-commit",
        "hold-before-commit", "no-yield",         "no-not-after",      "no-idempotency",    "no-processed-events",
        "stale-timeout",      "no-tombstone",     "no-run-deadline",   "no-handover",       "no-cycle-search",
        "no-cycle-confirm",   "no-replica-wait",  "no-new-epoch",      "no-give-back",      "blind-give-back",
        "no-repeat",          "no-holder-check",  "no-fence-check",    "no-lease-check",    "no-run-id",
        "no-hangup-watch",    "no-claim-update",  "no-claim-token",    "no-claim-fence",    "blind-payments",
        "no-claim-lease",     "no-schedule-lock", "no-round-check",    "wall-clock-rounds", "no-min-hold",
        "no-job-renewal",     "no-zone-check",    "no-schedule-guard", "job-phase",         "job-work",
        "job-batch",          "job-at-most",      "job-at-least",      "no-watch-poll",     "no-delivery-order",
        "stale-signature",    "no-address-guard", "no-holes",          "no-relay-mark",     "no-part-claim",
        "no-parking",         "no-look-ahead",    "ack-first",         "no-receiver-limit",
    };
    for (int i = 0; i < FAULT_COUNT; i++) {
        start_with(names[i]);
        for (int j = 0; j < FAULT_COUNT; j++) assert_int_equal(fault_on((enum fault)j), i == j);
    }
}

static void fault_value__when_given__then_the_number(void **state) {
    start_with("no-row-lock,hold-before-commit=250,no-yield");
    assert_true(fault_on(FAULT_NO_ROW_LOCK) && fault_on(FAULT_HOLD_BEFORE_COMMIT) && fault_on(FAULT_NO_YIELD));
    assert_int_equal(fault_value(FAULT_HOLD_BEFORE_COMMIT), 250);
    assert_int_equal(fault_value(FAULT_NO_ROW_LOCK), 0);
}

static void fault_start__when_unreadable__then_the_process_ends(void **state) {
    static const char *const lists[] = {
        "no-such-fault",         "no-yield,", ",no-yield", "no-yield;no-renewal", "hold-before-commit=",
        "hold-before-commit=1x", "no-yiel"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) assert_int_equal(exit_code_with(lists[i]), 2);
    assert_int_equal(exit_code_with("no-yield"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fault_on__when_nothing_is_set__then_all_off),
        cmocka_unit_test(fault_on__when_named__then_that_one_alone),
        cmocka_unit_test(fault_value__when_given__then_the_number),
        cmocka_unit_test(fault_start__when_unreadable__then_the_process_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
