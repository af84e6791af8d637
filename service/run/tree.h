/* The processes below a process, as /proc tells: those too that went into process groups of their own, as timeout(1)
   and shells with job control do. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Sends number (0 = nothing) to each living descendant of root that is in this session, and returns how many there are.
   All are found before the first is signalled. One that has made a session of its own has left on purpose; so has what
   is below it. Where /proc cannot be read there is nobody. Not async-signal-safe. */
size_t tree_signal(pid_t root, pid_t session, int number);
