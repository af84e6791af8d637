#include "run/terminal.h"

#include <unistd.h>

/* Output that goes elsewhere goes to a pager, as often as not, which reads the keyboard itself. */
bool terminal_is_ours(void) {
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void terminal_give(pid_t group) { (void)tcsetpgrp(STDIN_FILENO, group); }

void terminal_take(pid_t group) {
    if (tcgetpgrp(STDIN_FILENO) == group) terminal_give(getpgrp());
}
