/* HTTP requests of ours to others, one at a time and blocking: sole user of <curl/curl.h>.

   A request has a bound on everything: connecting, the whole of it, the answer's size. Redirects are not followed.
   Connections are kept and used again, except after a request without an answer.
   A client whose reach is not REACH_ANY opens no socket to an address outside it (client/address.h), asks no proxy, and
   speaks http and https alone. */
#pragma once

#include "base/result.h"
#include "base/text.h"
#include "client/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client_options {
    enum reach reach;
    const char *agent;   /* User-Agent; static storage */
    const char *ca_file; /* NULL = the system's; borrowed as long as the client lives */
};
/* One client belongs to one thread at a time. */
struct client;
/* Takes NULL, returns NULL. */
struct client *client_free(struct client *client);
/* INTERNAL: the library refuses. */
RESULT client_new(const struct client_options *options, struct client **ret);

struct client_request {
    const char *method; /* "GET", "POST", … */
    const char *url;
    const char *const *headers; /* "Name: value", without line ends */
    size_t header_count;
    const char *body; /* NULL = none */
    size_t body_len;
    int64_t connect_ms, total_ms; /* at least 1; looking up the name belongs to connecting */
    size_t answer_max;            /* bytes of its body */
    int wake_fd;                  /* once it is readable the request is broken off; -1 = none */
};

enum client_end {
    CLIENT_ANSWERED,  /* status is set; the body is whole */
    CLIENT_CUT,       /* status is set; the body was larger than answer_max and is cut */
    CLIENT_REFUSED,   /* nothing was sent: the address or the URL may not be asked */
    CLIENT_NO_ANSWER, /* whether it was heard is not known */
    CLIENT_BROKEN_OFF /* by wake_fd; whether it was heard is not known */
};

struct client_answer {
    enum client_end end;
    int status;             /* 0 = none */
    int64_t retry_after_ms; /* of the header; -1 = none */
    struct text body;
    char trouble[256]; /* why there is no answer; "" = there is one */
};
void client_answer_done(struct client_answer *answer);

/* Sends and waits. ret is always filled in; the caller frees it with client_answer_done. */
void client_send(struct client *client, const struct client_request *request, struct client_answer *ret);

/* Adds a path segment, percent-encoded. */
void client_add_segment(struct text *url, const char *segment);

/* NULL, or a sentence that says why a request to this URL would be refused without asking any name server: not http or
   https, no host, a user or password in it, a literal address outside `reach`, a name of this machine. */
const char *client_url_problem(const char *url, enum reach reach);
