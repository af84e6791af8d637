#include "run/signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int passed_on[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};

static bool is_ignored(int number) {
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void choose(sigset_t *watched) {
    sigemptyset(watched);
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++)
        if (!is_ignored(passed_on[i])) sigaddset(watched, passed_on[i]);
    sigaddset(watched, SIGCHLD);
}

RESULT signals_open(struct signals *signals) {
    sigset_t blocked;
    /* An ignored SIGCHLD would have the kernel throw exit statuses away. */
    struct sigaction heard = {.sa_handler = SIG_DFL};
    if (sigaction(SIGCHLD, &heard, NULL) != 0) FAIL(INTERNAL, errno);
    choose(&signals->watched);
    blocked = signals->watched;
    sigaddset(&blocked, SIGPIPE); /* a closed socket is an error of its call, not our end */
    sigaddset(&blocked, SIGTTOU); /* taking the terminal back happens in the background */
    if (sigprocmask(SIG_BLOCK, &blocked, &signals->before) != 0) FAIL(INTERNAL, errno);
    signals->fd = signalfd(-1, &signals->watched, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals->fd < 0) FAIL(INTERNAL, errno);
    return OK;
}

int signals_next(const struct signals *signals) {
    struct signalfd_siginfo info;
    return read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

void signals_stop_self(void) {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    (void)raise(SIGTSTP); /* pending, so that it stops us at the unblocking and nowhere else */
    (void)sigprocmask(SIG_UNBLOCK, &stop, NULL);
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
}
