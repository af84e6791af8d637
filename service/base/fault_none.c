/* The shipped answer: no mechanism can be switched off. */
#include "base/fault.h"

void fault_start(void) {}

bool fault_on(enum fault fault) {
    (void)fault;
    return false;
}

int64_t fault_value(enum fault fault) {
    (void)fault;
    return 0;
}
