/* The lock is asked for with a token of our own, so that an answer that got lost is asked for again and is the same
   grant. A grant that waited in a queue, or whose answer was long under way, is renewed before the command starts: its
   lease counts from the granting, and all we know is when we asked. */
#include "run/internal.h"

#include "base/clock.h"

#define WAIT_MS_MAX 600000 /* of one request, api/openapi.yaml */
#define HANG_MS 2000       /* beyond the time-out of a call: then nobody waits for it any more */

static void send_put(struct run *run, int64_t now_ms) {
    int64_t left_ms = run->give_up_at > now_ms ? run->give_up_at - now_ms : 0;
    struct lock_request request = {.token = run->token,
                                   .owner = run->owner,
                                   .kind = run->options->kind,
                                   .mode = run->options->mode != NULL ? run->options->mode : "exclusive",
                                   .permits = run->options->weight,
                                   .limit = run->options->limit,
                                   .ttl_ms = run->terms.ttl_ms,
                                   .wait_ms = left_ms < WAIT_MS_MAX ? left_ms : WAIT_MS_MAX};
    struct letter *letter = letter_new(LETTER_PUT, 0, put_timeout_ms(left_ms));
    document_lock_request(&letter->body, &request);
    run_send(run, letter);
}

static void send_patch(struct run *run) {
    struct letter *letter = letter_new(LETTER_PATCH, run->fence, renewal_timeout_ms(&run->terms));
    document_lock_renewal(&letter->body, run->terms.ttl_ms);
    run_send(run, letter);
}

void taking_begin(struct run *run) {
    int64_t now_ms = clock_boot_ms();
    run->phase = PHASE_TAKING;
    run->give_up_at = now_ms + run->options->wait_ms;
    run->call_at = now_ms;
}

static void give_up(struct run *run, int status) {
    if (run->granted || run->unsure)
        releasing_begin(run, status);
    else
        run_over(run, status);
}

static void ask_again(struct run *run, const struct letter *letter, const struct lock_reply *reply) {
    char words[320];
    int64_t now_ms = clock_boot_ms();
    if (now_ms >= run->give_up_at) {
        run_say(run, "not had in time: %s", run_trouble(letter, reply, words));
        give_up(run, RUN_STATUS_NOT_HAD);
        return;
    }
    if (run->failures == 0 && letter->status != 423)
        run_say(run, "%s; trying again", run_trouble(letter, reply, words));
    run_pause(run, reply != NULL && reply->retry_after_ms >= 0 ? reply->retry_after_ms : letter->retry_after_ms,
              now_ms);
    if (run->call_at > run->give_up_at) run->call_at = run->give_up_at;
}

static void accept(struct run *run, const struct letter *letter, const struct lock_reply *reply) {
    run->granted = true;
    run->fence = reply->fence;
    keeping_note_lease(run, letter, reply);
    int64_t now_ms = clock_boot_ms();
    int64_t must_start_before = letter->method == LETTER_PATCH ? run->lease.term_at : run->lease.renew_at;
    if (now_ms < must_start_before)
        keeping_begin(run);
    else if (letter->method == LETTER_PUT)
        run->call_at = now_ms;
    else
        ask_again(run, letter, NULL); /* the answer takes longer than the lease */
}

static void refuse(struct run *run, const struct letter *letter, const struct lock_reply *reply, int status) {
    char words[320];
    run_say(run, "refused: %s", run_trouble(letter, reply, words));
    give_up(run, status);
}

void taking_answer(struct run *run, const struct letter *letter, const struct lock_reply *reply) {
    bool was_put = letter->method == LETTER_PUT;
    enum verdict verdict = was_put ? verdict_on_put(letter->status, reply, &run->terms)
                                   : verdict_on_renewal(letter->status, reply, &run->terms);
    if (was_put) run->unsure = verdict == VERDICT_QUEUED || (verdict == VERDICT_AGAIN && letter->status != 423);
    switch (verdict) {
    case VERDICT_HELD:
        accept(run, letter, reply);
        break;
    case VERDICT_QUEUED:
        run->failures = 0;
        run->call_at = clock_boot_ms();
        break;
    case VERDICT_LOST:
        run->granted = false; /* ended while we were about to renew it: another try, if there is time */
        ask_again(run, letter, reply);
        break;
    case VERDICT_AGAIN:
        ask_again(run, letter, reply);
        break;
    case VERDICT_FORBIDDEN:
        refuse(run, letter, reply, RUN_STATUS_FORBIDDEN);
        break;
    case VERDICT_REFUSED:
        refuse(run, letter, reply, RUN_STATUS_USAGE);
        break;
    }
}

static int64_t hopeless_at(const struct run *run) { return run->give_up_at + put_timeout_ms(0) + HANG_MS; }

void taking_time(struct run *run, int64_t now_ms) {
    if (!run->in_flight && now_ms >= run->call_at) {
        if (run->granted)
            send_patch(run);
        else
            send_put(run, now_ms);
    } else if (run->in_flight && now_ms >= hopeless_at(run)) {
        run_say(run, "not had in time: no answer");
        run->unsure = true;
        give_up(run, RUN_STATUS_NOT_HAD);
    }
}

int64_t taking_due(const struct run *run) { return run->in_flight ? hopeless_at(run) : run->call_at; }

void taking_signal(struct run *run, int number) {
    switch (number) {
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
    case SIGQUIT:
        run->unsure = run->unsure || run->in_flight;
        give_up(run, 128 + number);
        break;
    case SIGTSTP:
        signals_stop_self();
        break;
    default: /* there is no command yet that could hear it */
        break;
    }
}
