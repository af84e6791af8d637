/* Invariants:
   1. Between fork and exec the new process calls nothing that may hold another thread's lock.
   2. The guard knows the group before the command's first instruction.
   3. The leader is reaped at once; while the group has members the kernel gives its number to nobody else. */
#include "run/child.h"

#include "run/terminal.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS_NOT_RUNNABLE 126
#define STATUS_NOT_FOUND 127

static void say(const char *text) { (void)!write(STDERR_FILENO, text, strlen(text)); }

static _Noreturn void report_and_exit(const char *command, int error) {
    bool missing = error == ENOENT || error == ENOTDIR;
    say("lockstock run: ");
    say(command);
    say(missing ? ": not found\n" : ": cannot be run\n");
    _exit(missing ? STATUS_NOT_FOUND : STATUS_NOT_RUNNABLE);
}

static _Noreturn void become(const struct child_terms *terms, pid_t parent, bool has_terminal) {
    (void)setpgid(0, 0);
    guard_watch(terms->guard, getpid());
    if (getppid() != parent) _exit(STATUS_NOT_RUNNABLE); /* it died before the guard could know of us */
    if (has_terminal) terminal_give(getpid());
    (void)sigprocmask(SIG_SETMASK, terms->mask, NULL);
    (void)execvpe(terms->command[0], terms->command, terms->env);
    report_and_exit(terms->command[0], errno);
}

RESULT child_start(struct child *child, const struct child_terms *terms) {
    pid_t parent = getpid();
    bool has_terminal = terminal_is_ours();
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) FAIL(INTERNAL, errno);
    pid_t pid = fork();
    if (pid < 0) FAIL(INTERNAL, errno);
    if (pid == 0) become(terms, parent, has_terminal);
    (void)setpgid(pid, pid); /* whoever of us is first: nobody may signal the group before it exists */
    *child = (struct child){.group = pid, .has_terminal = has_terminal};
    return OK;
}

static void note(struct child *child, int status) {
    child->stopped_by = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
    if (WIFSTOPPED(status) || WIFCONTINUED(status)) return;
    child->ended = true;
    child->wait_status = status;
}

void child_reap(struct child *child) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0)
        if (pid == child->group && !child->ended) note(child, status);
}

bool child_group_lives(const struct child *child) {
    return child->group > 0 && (kill(-child->group, 0) == 0 || errno == EPERM);
}

void child_signal_group(const struct child *child, int number) {
    if (child->group > 0) (void)kill(-child->group, number);
}

void child_signal_leader(const struct child *child, int number) {
    if (child->group > 0 && !child->ended) (void)kill(child->group, number);
}
