/* Signals as values to read: those that `lockstock run` passes on, and the news of its children. */
#pragma once

#include "base/result.h"

#include <signal.h>

struct signals {
    int fd;           /* readable when signals_next has one */
    sigset_t watched; /* blocked in every thread */
    sigset_t before;  /* the mask we were started with: the command's */
};

/* Before the first thread. Those that were ignored at the start stay ignored (nohup, jobs of a plain shell). INTERNAL.
 */
RESULT signals_open(struct signals *signals);
/* The number of the next one, 0 = none. */
int signals_next(const struct signals *signals);
/* Stops this process as Ctrl-Z does; returns when it goes on. Where nobody could continue it the kernel does not stop
   it at all (orphaned process groups). */
void signals_stop_self(void);
