/* Invariants:
   1. The guard holds no descriptor but the read end of the pipe and the timer: it keeps nobody's pipe open.
   2. It outlives `lockstock run`: the end of the pipe is what it waits for, and then it kills once more.
   3. It believes the shared page only when it is to kill. The page names the group from before the command's first
      instruction until the group is empty. */
#include "run/guard.h"

#include "run/timer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIFE_FD = 0, TIMER_FD = 1, FDS_KEPT = 2 };

static void kill_group(const struct guard *guard) {
    int group = *guard->group;
    if (group > 0) (void)kill(-group, SIGKILL);
}

/* One that was stopped with its command learns now that it is over. */
static void kill_at_deadline(const struct guard *guard, pid_t parent) {
    kill_group(guard);
    (void)kill(parent, SIGCONT);
}

static void watch(const struct guard *guard, pid_t parent) {
    struct pollfd fds[] = {{.fd = LIFE_FD, .events = POLLIN}, {.fd = TIMER_FD, .events = POLLIN}};
    nfds_t count = 2;
    while (fds[0].revents == 0) {
        if (poll(fds, count, -1) < 0) continue;
        if (count == 1 || fds[1].revents == 0) continue;
        kill_at_deadline(guard, parent);
        count = 1; /* it stays due: only the parent's end is still of interest */
    }
    kill_group(guard);
}

/* The two descriptors become 0 and 1 whatever they were, by way of numbers that collide with neither. */
static bool keep_only(int life, int timer) {
    int high_life = fcntl(life, F_DUPFD, FDS_KEPT), high_timer = fcntl(timer, F_DUPFD, FDS_KEPT);
    if (high_life < 0 || high_timer < 0) return false;
    if (dup2(high_life, LIFE_FD) < 0 || dup2(high_timer, TIMER_FD) < 0) return false;
    return close_range(FDS_KEPT, ~0U, 0) == 0;
}

static _Noreturn void guard_main(const struct guard *guard, int life, pid_t parent) {
    sigset_t all;
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "lockstock-guard");
    if (!keep_only(life, guard->timer)) _exit(EXIT_FAILURE);
    watch(guard, parent);
    _exit(EXIT_SUCCESS);
}

static RESULT share_page(struct guard *guard) {
    void *page = mmap(NULL, sizeof *guard->group, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) FAIL(INTERNAL, errno);
    guard->group = page;
    return OK;
}

RESULT guard_start(struct guard *guard) {
    int life[2];
    pid_t parent = getpid();
    TRY(share_page(guard));
    TRY(timer_open(&guard->timer));
    if (pipe2(life, O_CLOEXEC) != 0) FAIL(INTERNAL, errno);
    guard->life = life[1];
    guard->pid = fork();
    if (guard->pid == 0) guard_main(guard, life[0], parent);
    (void)close(life[0]);
    if (guard->pid < 0) FAIL(INTERNAL, errno);
    return OK;
}

void guard_arm(struct guard *guard, int64_t kill_at_ms) { timer_arm(guard->timer, kill_at_ms); }

void guard_watch(struct guard *guard, pid_t group) { *guard->group = group; }

void guard_end(struct guard *guard) {
    if (guard->life > 0) (void)close(guard->life);
    if (guard->pid > 0) (void)waitpid(guard->pid, NULL, 0);
    if (guard->timer > 0) (void)close(guard->timer);
    if (guard->group != NULL) (void)munmap((void *)(uintptr_t)guard->group, sizeof *guard->group);
    *guard = (struct guard){0};
}
