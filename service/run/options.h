/* The command line of `lockstock run`. Pure but for the text of its help; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Shorter leases leave no time to renew, to end the command and to be sure that it is dead. */
#define RUN_TTL_MS_MIN 1000
#define RUN_TTL_MS_MAX 86400000
#define RUN_TTL_MS_DEFAULT 30000
#define RUN_WAIT_MS_MAX 86400000
#define RUN_PERMITS_MAX 10000     /* of a semaphore; the service judges what one command may have */
#define RUN_GRACE_MS_DEFAULT 5000 /* or a quarter of the lease, whichever is less */

/* Texts are borrowed from argv and the environment. */
struct run_options {
    const char *name;
    const char *kind, *mode; /* mode NULL = the kind's own */
    int64_t weight, limit;   /* kind semaphore: permits of the command (else 0), of all (0 = as it is) */
    const char *url;
    const char *owner;      /* NULL = host:pid */
    const char *token_file; /* bearer token; NULL = none */
    const char *ca_file;    /* NULL = the library's own */
    int64_t ttl_ms, wait_ms;
    int64_t grace_ms; /* between TERM and KILL; at most half of the lease */
    char *const *command;
    bool help;
};

/* argv[0..argc) is what follows "run", argv[argc] is NULL. url and token_file stand for options not given and may be
   NULL. False: error holds a sentence. */
bool run_options_read(int argc, char **argv, const char *url, const char *token_file, struct run_options *ret,
                      char error[256]);

/* Whole of text as milliseconds: "500", "500ms", "30s", "10m", "2h" or ISO-8601 ("PT30S"). */
bool run_duration_parse(const char *text, int64_t *ret_ms);

/* What --help prints. */
extern const char run_help[];
