/* The HTTP side of `lockstock run`: one thread that carries one call at a time.

   A letter is one call with its answer. Letters go to the thread and come back by pipe; one belongs to one side at a
   time. Nothing here blocks the caller, whatever the network, a name server or a file of certificates does. */
#pragma once

#include "base/result.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum letter_method { LETTER_PUT, LETTER_PATCH, LETTER_DELETE };

struct letter {
    enum letter_method method;
    int64_t fence; /* ?fence=, 0 = none */
    int64_t timeout_ms;
    int64_t sent_ms; /* the sender's own */
    struct text body;
    /* -- filled in when it comes back */
    int status;             /* 0 = no answer; `trouble` says why */
    int64_t retry_after_ms; /* of the header; -1 = none */
    bool dropped;           /* a later call took its place: its answer will never be known */
    struct text reply;
    char trouble[256];
};
struct letter *letter_new(enum letter_method method, int64_t fence, int64_t timeout_ms);
/* Takes NULL. */
struct letter *letter_free(struct letter *letter);

struct courier_terms {
    const char *url, *name, *token;
    bool semaphore;                   /* the name is one's, not a lock's */
    const char *token_file, *ca_file; /* NULL = none */
};
struct courier;
/* All signals must be blocked that the thread must not see. INTERNAL. */
RESULT courier_new(const struct courier_terms *terms, struct courier **ret);
/* Takes the letter. One that is on its way is broken off and comes back dropped. */
void courier_send(struct courier *courier, struct letter *letter);
/* Readable when courier_take has something. */
int courier_fd(const struct courier *courier);
/* The caller's; NULL = nothing has come. */
struct letter *courier_take(struct courier *courier);
/* False: the thread hangs in the library and lives on; end the process with _exit. */
bool courier_end(struct courier *courier);
