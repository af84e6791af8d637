/* Invariants:
   1. The command runs only before lease.kill_at. This file watches it and so does the guard, by a timer each; neither
      asks the HTTP thread.
   2. lease.kill_at moves only when an answer has told a new lease, and counts from when that request was sent.
   3. The command is ended once, with all below it, for the first reason; the loss of the lock wins over an ordinary
   end.
   4. While the group is stopped by the terminal we are stopped too; it goes on only after a look at the clock. */
#include "run/internal.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/memory.h"
#include "run/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOST_GRACE_MS 500 /* from TERM to KILL when somebody else may hold the lock already */
#define ENDING_POLL_MS 20 /* nothing tells when a group is empty */

/* -- the command's environment */

enum { OWN_COUNT = 3, OWN_SIZE = 256 };
static const char *const own_names[OWN_COUNT] = {"LOCKSTOCK_NAME=", "LOCKSTOCK_FENCE=", "LOCKSTOCK_TOKEN="};

static bool is_own(const char *entry) {
    for (int i = 0; i < OWN_COUNT; i++)
        if (strncmp(entry, own_names[i], strlen(own_names[i])) == 0) return true;
    return false;
}

/* Ours first, then what we were given. The array is the caller's, its texts are not. */
static char **environment(const struct run *run, char own[OWN_COUNT][OWN_SIZE]) {
    size_t count = 0, kept = OWN_COUNT;
    while (environ[count] != NULL) count++;
    char **env = mem_array(count + OWN_COUNT + 1, sizeof *env);
    (void)text_format(own[0], OWN_SIZE, "%s%s", own_names[0], run->options->name);
    (void)text_format(own[1], OWN_SIZE, "%s%lld", own_names[1], (long long)run->fence);
    (void)text_format(own[2], OWN_SIZE, "%s%s", own_names[2], run->token);
    for (int i = 0; i < OWN_COUNT; i++) env[i] = own[i];
    for (size_t i = 0; i < count; i++)
        if (!is_own(environ[i])) env[kept++] = environ[i];
    return env;
}

/* -- the lease */

void keeping_note_lease(struct run *run, const struct letter *letter, const struct lock_reply *reply) {
    run->lease = lease_of(&run->terms, letter->sent_ms, reply->safe_for_ms);
    if (fault_on(FAULT_NO_RUN_DEADLINE)) run->lease.term_at = run->lease.kill_at = LEASE_NEVER;
    run->call_at = run->lease.renew_at;
    run->failures = 0;
}

void keeping_begin(struct run *run) {
    char own[OWN_COUNT][OWN_SIZE];
    AUTO_FREE char **env = environment(run, own);
    struct child_terms terms = {
        .command = run->options->command, .env = env, .mask = &run->signals.before, .guard = &run->guard};
    run->phase = PHASE_KEEPING;
    guard_arm(&run->guard, run->lease.kill_at); /* before there is anybody to kill */
    struct result started = child_start(&run->child, &terms);
    if (!failed(started)) return;
    run_say(run, "no process for the command: error %d", (int)started.native);
    releasing_begin(run, RUN_STATUS_SYSTEM);
}

/* -- the end of the group */

/* A stopped group hears TERM only when it goes on. */
static void begin_to_end(struct run *run, enum ending why, int64_t kill_at) {
    run->ending = why;
    run->kill_at = kill_at < run->lease.kill_at ? kill_at : run->lease.kill_at;
    child_signal_all(&run->child, SIGTERM);
    child_signal_all(&run->child, SIGCONT);
}

static void lose(struct run *run, int64_t kill_at) {
    if (run->ending == ENDING_LOST) return;
    begin_to_end(run, ENDING_LOST, kill_at);
    guard_arm(&run->guard, run->kill_at);
}

static void finish(struct run *run) {
    guard_watch(&run->guard, 0);
    guard_arm(&run->guard, LEASE_NEVER);
    if (run->child.has_terminal) terminal_take(run->child.group);
    if (run->ending == ENDING_LOST)
        run_over(run, RUN_STATUS_LOST);
    else
        releasing_begin(run, exit_status_of(run->child.wait_status));
}

static void go_on_ending(struct run *run, int64_t now_ms) {
    if (run->child.ended && !child_any_lives(&run->child))
        finish(run);
    else if (now_ms >= run->kill_at)
        child_signal_all(&run->child, SIGKILL);
}

/* -- answers and time */

static void note_failure(struct run *run, const struct letter *letter, const struct lock_reply *reply) {
    char words[320];
    int64_t now_ms = clock_boot_ms();
    if (run->failures == 0)
        run_say(run, "not renewed: %s; trying again for %lld ms", run_trouble(letter, reply, words),
                (long long)(run->lease.term_at - now_ms));
    run_pause(run, letter->retry_after_ms, now_ms);
}

void keeping_answer(struct run *run, const struct letter *letter, const struct lock_reply *reply) {
    if (run->ending == ENDING_LOST) return;
    switch (verdict_on_renewal(letter->status, reply, &run->terms)) {
    case VERDICT_HELD:
        if (run->failures > 0) run_say(run, "renewed");
        keeping_note_lease(run, letter, reply);
        guard_arm(&run->guard, run->lease.kill_at);
        break;
    case VERDICT_LOST:
        run_say(run, "lost (%s): ending the command",
                reply != NULL && reply->reason[0] != '\0' ? reply->reason : "410");
        lose(run, clock_boot_ms() + (run->terms.grace_ms < LOST_GRACE_MS ? run->terms.grace_ms : LOST_GRACE_MS));
        break;
    default:
        note_failure(run, letter, reply);
        break;
    }
}

static void renew(struct run *run) {
    struct letter *letter = letter_new(LETTER_PATCH, run->fence, renewal_timeout_ms(&run->terms));
    document_lock_renewal(&letter->body, run->terms.ttl_ms);
    run_send(run, letter);
}

void keeping_time(struct run *run, int64_t now_ms) {
    if (run->ending != ENDING_LOST && now_ms >= run->lease.term_at) {
        run_say(run, "lost: the lease ends and could not be renewed; ending the command");
        lose(run, run->lease.kill_at);
    }
    if (run->ending == ENDING_NOT && run->child.ended) begin_to_end(run, ENDING_EXITED, now_ms + run->terms.grace_ms);
    if (run->ending != ENDING_NOT) go_on_ending(run, now_ms);
    if (run->phase != PHASE_KEEPING || run->ending == ENDING_LOST) return;
    if (!run->in_flight && now_ms >= run->call_at) renew(run);
}

int64_t keeping_due(const struct run *run) {
    if (run->ending != ENDING_NOT) return clock_boot_ms() + ENDING_POLL_MS;
    int64_t call_at = run->in_flight ? LEASE_NEVER : run->call_at;
    return call_at < run->lease.term_at ? call_at : run->lease.term_at;
}

/* -- signals */

static void stop_job(struct run *run) {
    child_signal_group(&run->child, SIGSTOP); /* those too that do not care for Ctrl-Z */
    if (run->child.has_terminal) terminal_take(run->child.group);
    signals_stop_self();
    run->child.stopped_by = 0;
    if (clock_boot_ms() >= run->lease.term_at) return; /* keeping_time ends it */
    if (run->child.has_terminal && terminal_is_ours()) terminal_give(run->child.group);
    child_signal_group(&run->child, SIGCONT);
}

static void on_children(struct run *run) {
    child_reap(&run->child);
    int by = run->child.stopped_by;
    if (by == SIGTSTP || by == SIGTTIN || by == SIGTTOU) stop_job(run);
}

void keeping_signal(struct run *run, int number) {
    switch (number) {
    case SIGCHLD:
        on_children(run);
        break;
    case SIGUSR1: /* a terminal never sends these: they are meant for the command and may end its helpers */
    case SIGUSR2:
        child_signal_leader(&run->child, number);
        break;
    default:
        child_signal_group(&run->child, number);
        break;
    }
}
