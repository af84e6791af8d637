/* The guard: a process of its own that kills the command's process group when the lease ends or when `lockstock run`
   itself dies, stopped or not. Forked before any thread; in a session of its own, so that no terminal reaches it. */
#pragma once

#include "base/result.h"

#include <stdint.h>
#include <sys/types.h>

struct guard {
    pid_t pid;
    int life;            /* our end of a pipe: closed by our death and by nothing else */
    int timer;           /* shared: we arm it, the guard watches it */
    volatile int *group; /* shared: the command's process group, 0 = none */
};

/* INTERNAL with errno. Owned until guard_end. */
RESULT guard_start(struct guard *guard);
/* When the group must be dead; LEASE_NEVER = no longer. */
void guard_arm(struct guard *guard, int64_t kill_at_ms);
/* Whom to kill; 0 = nobody. Async-signal-safe: the command's own process says it too, before it becomes the command. */
void guard_watch(struct guard *guard, pid_t group);
/* The guard is gone when this returns. Harmless on a zeroed or half-started one. */
void guard_end(struct guard *guard);
