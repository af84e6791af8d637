/* The shipped binary cannot be talked into a fault. */
#include "base/fault.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void fault_on__when_environment_asks__then_still_off(void **state) {
    setenv("LOCKSTOCK_FAULTS", "no-row-lock,hold-before-commit=250", 1);
    fault_start();
    for (int i = 0; i < FAULT_COUNT; i++) {
        assert_false(fault_on((enum fault)i));
        assert_int_equal(fault_value((enum fault)i), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fault_on__when_environment_asks__then_still_off)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
