/* Starts everything in one order (descriptors, signals, guard, HTTP thread), turns the loop, ends in the reverse. */
#include "run/run.h"

#include "base/clock.h"
#include "base/fault.h"
#include "run/internal.h"
#include "run/timer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024

/* -- what the phases share */

void run_say(const struct run *run, const char *format, ...) {
    AUTO_TEXT line = text_new(LINE_MAX_BYTES);
    char words[LINE_MAX_BYTES / 2];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(words, sizeof words, format, args);
    va_end(args);
    text_addf(&line, "lockstock run: %s: %s\n", run->options->name, words);
    (void)!write(STDERR_FILENO, text_str(&line), line.len);
}

void run_send(struct run *run, struct letter *letter) {
    letter->sent_ms = clock_boot_ms(); /* before the thread has it: what it waits for counts too */
    run->in_flight = true;
    run->call_at = LEASE_NEVER;
    courier_send(run->courier, letter);
}

void run_pause(struct run *run, int64_t hint_ms, int64_t now_ms) {
    run->failures++;
    run->call_at = now_ms + pause_ms(run->failures, hint_ms, &run->terms);
}

const char *run_trouble(const struct letter *letter, const struct lock_reply *reply, char out[320]) {
    const size_t size = 320;
    if (letter->status == 0)
        (void)text_format(out, size, "%s", letter->trouble);
    else if (letter->status == 423 && reply != NULL && reply->holder[0] != '\0')
        (void)text_format(out, size, "held by %s", reply->holder);
    else if (reply != NULL && reply->code[0] != '\0')
        (void)text_format(out, size, "%d %s: %s", letter->status, reply->code, reply->detail);
    else
        (void)text_format(out, size, "answer %d of %s", letter->status, "something else than Lockstock");
    return out;
}

void run_over(struct run *run, int status) {
    run->status = status;
    run->phase = PHASE_OVER;
}

/* -- one turn */

static const struct phase_entries {
    void (*answer)(struct run *run, const struct letter *letter, const struct lock_reply *reply);
    void (*time)(struct run *run, int64_t now_ms);
    int64_t (*due)(const struct run *run);
    void (*signal)(struct run *run, int number);
} phases[] = {
    [PHASE_TAKING] = {taking_answer, taking_time, taking_due, taking_signal},
    [PHASE_KEEPING] = {keeping_answer, keeping_time, keeping_due, keeping_signal},
    [PHASE_RELEASING] = {releasing_answer, releasing_time, releasing_due, releasing_signal},
};

static void take_signals(struct run *run) {
    int number;
    while (run->phase != PHASE_OVER && (number = signals_next(&run->signals)) != 0)
        phases[run->phase].signal(run, number);
}

static void take_answer(struct run *run, struct letter *letter) {
    struct lock_reply reply;
    bool readable = lock_reply_read(text_str(&letter->reply), letter->reply.len, &reply);
    run->in_flight = false;
    phases[run->phase].answer(run, letter, readable ? &reply : NULL);
}

static void take_answers(struct run *run) {
    struct letter *letter;
    while (run->phase != PHASE_OVER && (letter = courier_take(run->courier)) != NULL) {
        if (!letter->dropped) take_answer(run, letter);
        letter_free(letter);
    }
}

/* Time comes last: an answer that has just come may have moved what is due. */
static void turn(struct run *run) {
    struct pollfd fds[] = {{.fd = run->signals.fd, .events = POLLIN},
                           {.fd = courier_fd(run->courier), .events = POLLIN},
                           {.fd = run->tick, .events = POLLIN}};
    timer_arm(run->tick, phases[run->phase].due(run));
    (void)poll(fds, sizeof fds / sizeof fds[0], -1);
    take_signals(run);
    take_answers(run);
    if (run->phase != PHASE_OVER) phases[run->phase].time(run, clock_boot_ms());
}

/* -- start and end */

/* Descriptors 0 to 2 exist, or one of ours would become the command's standard error. */
static void fill_standard_streams(void) {
    int fd;
    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= STDERR_FILENO) continue;
    if (fd > STDERR_FILENO) (void)close(fd);
}

static void name_owner(struct run *run) {
    char host[96] = "";
    if (run->options->owner != NULL) {
        (void)text_format(run->owner, sizeof run->owner, "%s", run->options->owner);
        return;
    }
    (void)gethostname(host, sizeof host - 1);
    (void)text_format(run->owner, sizeof run->owner, "%s:%d", host[0] != '\0' ? host : "unknown", (int)getpid());
}

static RESULT start(struct run *run) {
    const struct run_options *options = run->options;
    struct courier_terms terms = {.url = options->url,
                                  .name = options->name,
                                  .token = run->token,
                                  .semaphore = options->weight > 0,
                                  .token_file = options->token_file,
                                  .ca_file = options->ca_file};
    TRY(signals_open(&run->signals));
    TRY(guard_start(&run->guard));
    TRY(timer_open(&run->tick));
    return courier_new(&terms, &run->courier);
}

/* A thread that hangs in the library must not meet its own tear-down at exit(3). */
static void finish(struct run *run) {
    guard_end(&run->guard);
    if (run->courier != NULL && !courier_end(run->courier)) _exit(run->status);
    if (run->tick > 0) (void)close(run->tick);
    if (run->signals.fd > 0) (void)close(run->signals.fd);
}

static int run_under_lock(const struct run_options *options) {
    struct run run = {.options = options, .terms = {options->ttl_ms, options->grace_ms}};
    text_random_hex(RUN_TOKEN_BYTES, run.token);
    name_owner(&run);
    struct result started = start(&run);
    if (failed(started)) {
        run_say(&run, "cannot start: error %d at %s", (int)started.native, started.where);
        run.status = RUN_STATUS_SYSTEM;
    } else {
        taking_begin(&run);
        while (run.phase != PHASE_OVER) turn(&run);
    }
    finish(&run);
    return run.status;
}

int run_main(int argc, char **argv) {
    struct run_options options;
    char error[256];
    fill_standard_streams();
    if (!run_options_read(argc, argv, getenv("LOCKSTOCK_URL"), getenv("LOCKSTOCK_TOKEN_FILE"), &options, error)) {
        fprintf(stderr, "lockstock run: %s (lockstock run --help)\n", error);
        return RUN_STATUS_USAGE;
    }
    if (options.help) {
        fputs(run_help, stdout);
        return 0;
    }
    fault_start();
    json_start();
    return run_under_lock(&options);
}
