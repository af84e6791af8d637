/* One `lockstock run`, from its arguments to its exit status. Private to run/.

        TAKING ──granted──▶ KEEPING ──group empty──▶ RELEASING ──▶ OVER
          │  └──── not had, refused, signal ──────────▲              ▲
          └───────────────────────────────── nothing to release ─────┘
   Everything but the HTTP calls happens on one thread, which waits in one poll(2) for signals, answers and time. Each
   phase is a file with three entries: begin, on an answer, on time. */
#pragma once

#include "run/child.h"
#include "run/courier.h"
#include "run/guard.h"
#include "run/lease.h"
#include "run/options.h"
#include "run/signals.h"

#define RUN_STATUS_USAGE 64
#define RUN_STATUS_NOT_HAD 69
#define RUN_STATUS_LOST 70
#define RUN_STATUS_SYSTEM 71
#define RUN_STATUS_FORBIDDEN 77

#define RUN_TOKEN_BYTES 16

enum phase { PHASE_TAKING, PHASE_KEEPING, PHASE_RELEASING, PHASE_OVER };

/* Why the command's group is being ended. */
enum ending { ENDING_NOT, ENDING_EXITED, ENDING_LOST };

struct run {
    const struct run_options *options;
    struct lease_terms terms;
    struct signals signals;
    struct guard guard;
    struct courier *courier;
    int tick; /* timer of the next thing that is due */
    char token[2 * RUN_TOKEN_BYTES + 1];
    char owner[129];

    enum phase phase;
    int status;
    bool in_flight;     /* the newest call has not come back */
    int64_t call_at;    /* when the next one is due */
    int64_t give_up_at; /* of taking, of releasing */
    unsigned failures;  /* calls in a row that told nothing */

    bool granted; /* TAKING: the lock is ours, but its lease must be fresh before the command starts */
    bool unsure;  /* TAKING: a call may have got the lock without our knowing */
    int64_t fence;
    struct lease lease;
    struct child child;
    enum ending ending;
    int64_t kill_at; /* once ending */
};

/* A line on standard error that names the lock. */
void run_say(const struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sends a call and notes it; the body must be in it. */
void run_send(struct run *run, struct letter *letter);
/* The next call comes after a pause. */
void run_pause(struct run *run, int64_t hint_ms, int64_t now_ms);
/* What the service said, or why it said nothing, in words. reply may be NULL. */
const char *run_trouble(const struct letter *letter, const struct lock_reply *reply, char out[320]);
/* Ends without another call. */
void run_over(struct run *run, int status);

/* taking.c */
void taking_begin(struct run *run);
void taking_answer(struct run *run, const struct letter *letter, const struct lock_reply *reply);
void taking_time(struct run *run, int64_t now_ms);
int64_t taking_due(const struct run *run);
void taking_signal(struct run *run, int number);

/* keeping.c: call has told the grant. */
void keeping_begin(struct run *run);
void keeping_answer(struct run *run, const struct letter *letter, const struct lock_reply *reply);
void keeping_time(struct run *run, int64_t now_ms);
int64_t keeping_due(const struct run *run);
void keeping_signal(struct run *run, int number);
/* Takes over the lease a call has brought. */
void keeping_note_lease(struct run *run, const struct letter *letter, const struct lock_reply *reply);

/* releasing.c: status is the exit status when all goes well. */
void releasing_begin(struct run *run, int status);
void releasing_answer(struct run *run, const struct letter *letter, const struct lock_reply *reply);
void releasing_time(struct run *run, int64_t now_ms);
int64_t releasing_due(const struct run *run);
void releasing_signal(struct run *run, int number);
