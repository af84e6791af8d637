/* The command is dead, or never was: nothing is at risk any more. What cannot be released ends with its lease, so this
   does not take long. */
#include "run/internal.h"

#include "base/clock.h"

#define RELEASE_MS_MAX 5000

static void send_delete(struct run *run) { run_send(run, letter_new(LETTER_DELETE, run->fence, RELEASE_TIMEOUT_MS)); }

void releasing_begin(struct run *run, int status) {
    run->phase = PHASE_RELEASING;
    run->status = status;
    run->failures = 0;
    run->give_up_at = clock_boot_ms() + RELEASE_MS_MAX;
    send_delete(run); /* a call still under way is broken off by it */
}

/* Somebody took the lock away while the command ran, and no renewal came late enough to tell. */
static void note_loss(struct run *run, const struct lock_reply *reply) {
    if (run->child.group == 0) {
        run_over(run, run->status);
        return;
    }
    run_say(run, "lost before the command had ended (%s)", reply != NULL ? reply->reason : "410");
    run_over(run, RUN_STATUS_LOST);
}

void releasing_answer(struct run *run, const struct letter *letter, const struct lock_reply *reply) {
    char words[320];
    switch (verdict_on_release(letter->status)) {
    case VERDICT_HELD:
        run_over(run, run->status);
        break;
    case VERDICT_LOST:
        note_loss(run, reply);
        break;
    case VERDICT_AGAIN:
        run_pause(run, letter->retry_after_ms, clock_boot_ms());
        break;
    default:
        run_say(run, "not released: %s", run_trouble(letter, reply, words));
        run_over(run, run->status);
        break;
    }
}

void releasing_time(struct run *run, int64_t now_ms) {
    if (now_ms >= run->give_up_at) {
        run_say(run, "not released: no answer; it ends with its lease");
        run_over(run, run->status);
    } else if (!run->in_flight && now_ms >= run->call_at) {
        send_delete(run);
    }
}

int64_t releasing_due(const struct run *run) {
    return !run->in_flight && run->call_at < run->give_up_at ? run->call_at : run->give_up_at;
}

void releasing_signal(struct run *run, int number) {
    if (number == SIGTERM || number == SIGINT || number == SIGQUIT || number == SIGHUP) run_over(run, run->status);
}
