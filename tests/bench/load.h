/* The load driver: one thread, closed loop, keep-alive HTTP/1.1 or commands to Redis. load.c reads the options and
   prints, load_run.c drives the connections, load_request.c and steps.c write the requests. */
#pragma once

#include "base/text.h"
#include "bench/latency.h"
#include "bench/steps.h"

#include <netinet/in.h>

#define LOAD_CONNECTIONS_MAX 20000
#define LOAD_STATUS_MAX 600
#define LOAD_REQUEST_MAX 65536 /* bytes of one request */

struct load_options {
    struct sockaddr_in address;
    char host[300]; /* the Host header */
    const char *method, *path, *body, *header;
    struct steps steps; /* none: one request always, as above says */
    int64_t connections, warmup_s, seconds, products, quantity;
    int64_t requests;   /* stop after so many replies; 0 = by time */
    int64_t seed;       /* of the product ids and keys */
    int64_t backoff_ms; /* rest of a connection after a 429 or 503 */
    int64_t timeout_ms; /* a request without a reply counts as an error, and its connection is replaced */
    bool keyed;         /* a fresh Idempotency-Key per request */
};

enum load_error { LOAD_CONNECT, LOAD_CLOSED, LOAD_PROTOCOL, LOAD_TIMEOUT, LOAD_ERRORS };

struct load_result {
    uint64_t statuses[LOAD_STATUS_MAX]; /* replies inside the measured window */
    uint64_t total[LOAD_STATUS_MAX];    /* all replies: what the database must account for */
    uint64_t errors[LOAD_ERRORS];
    uint64_t reconnects;                     /* after Connection: close */
    struct latency all, by_class[6], cycles; /* cycles: from a first step's sending to the last one's reply */
    double seconds, cpu_seconds;
};

/* One request as text: of this step (NULL: of the options), with its marks replaced. Appends to out; false when it
   would pass LOAD_REQUEST_MAX. */
bool load_request(const struct load_options *options, const struct step *step, const struct step_values *values,
                  struct text *out);

/* Runs the whole load; false, with a line on stderr, when it could not start. */
bool load_run(const struct load_options *options, struct load_result *ret);
