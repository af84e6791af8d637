/* The command: one process that leads a group of its own, and whatever it starts. We are the reaper of its orphans, so
   that an empty group is seen as empty. */
#pragma once

#include "base/result.h"
#include "run/guard.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t group;     /* the command's process id too; 0 = not started */
    bool ended;      /* the command itself */
    int wait_status; /* once ended */
    int stopped_by;  /* a signal number while it is stopped, else 0 */
    bool has_terminal;
};

struct child_terms {
    char *const *command;
    char *const *env;
    const sigset_t *mask;
    struct guard *guard;
};

/* Starts the command. When it cannot be run it ends by itself with 127 or 126 and says why. INTERNAL with errno. */
RESULT child_start(struct child *child, const struct child_terms *terms);
/* Collects what ended or stopped; call it on SIGCHLD. */
void child_reap(struct child *child);
/* Processes of the group are left. */
bool child_group_lives(const struct child *child);
/* Harmless when there is nobody. */
void child_signal_group(const struct child *child, int number);
void child_signal_leader(const struct child *child, int number);
