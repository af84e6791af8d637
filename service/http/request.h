/* One HTTP request as endpoints see it. Loop thread only. An endpoint either replies before it returns or parks and
   replies later; exactly one reply. Everything reachable from the request dies with it. */
#pragma once

#include "base/list.h"
#include "base/result.h"
#include "base/text.h"
#include "http/access.h"

#include <stddef.h>

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE, HTTP_OTHER };

#define REQUEST_ID_SIZE 65
#define ROUTE_PARAMS_MAX 3
struct request; /* the fields stand in http/internal.h; endpoints use the functions below */

/* -- what came */
enum http_method request_method(const struct request *request);
void *request_app(const struct request *request); /* http_options.app */
const char *request_param(const struct request *request,
                          unsigned index); /* decoded path segment {…}, NUL-free, by position */
const char *request_query(const struct request *request,
                          const char *name); /* decoded; NULL when absent; "" when empty */
const char *request_query_name(const struct request *request,
                               unsigned index); /* names as sent, in order; NULL after the last */
const char *request_header(const struct request *request, const char *name); /* NULL when absent */
unsigned request_header_count(const struct request *request, const char *name);
const char *request_body(const struct request *request, size_t *ret_len);
const struct credential *request_credential(const struct request *request); /* never NULL */
const char *request_id(const struct request *request);
const char *request_traceparent(const struct request *request); /* "" when none or malformed */
const char *request_route(const struct request *request);       /* "POST /v1/orders/{id}/cancel" */
int64_t request_received_ms(const struct request *request);     /* monotonic */
#define REQUEST_PEER_SIZE 48
/* Numeric address of the client, without the port; "" when it is not known. */
void request_peer(const struct request *request, char out[REQUEST_PEER_SIZE]);
/* The client has not hung up, as far as the kernel knows now. Costs a system call once the endpoint has returned. */
bool request_is_here(const struct request *request);

/* -- the answer */
#define REPLY_LOCATION_SIZE 640 /* a name of a lock or queue has 200 bytes, each three when percent-encoded */
struct reply {
    int status;
    struct text body;          /* moved into the reply; empty for 204 */
    const char *content_type;  /* NULL = application/json */
    const char *cache_control; /* NULL = no-store */
    char location[REPLY_LOCATION_SIZE], etag[40], allow[64];
    char lock_token[65]; /* Lock-Token; "" = none */
    int retry_after_s;   /* -1 = no header */
    bool replayed;       /* Idempotency-Replayed: true */
    bool degraded;       /* Lockstock-Degraded: redis */
};
/* Zeroed, status set, no Retry-After. */
struct reply reply_new(int status);
/* Takes the reply's body. */
void request_reply(struct request *request, struct reply reply);
/* Problem document of a public or inner error. detail may be NULL; extras is JSON members without braces, e.g.
   "\"productId\":1", or NULL. Retry-After: the error's default (503 and IDM-003: 1) unless retry_after_s ≥ 0. */
void request_problem(struct request *request, enum error error, const char *detail, const char *extras);
void request_problem_after(struct request *request, enum error error, const char *detail, const char *extras,
                           int retry_after_s);
/* Builds the same document as a reply, for answers that are stored or changed before they go. */
struct reply problem_reply(const struct request *request, enum error error, const char *detail, const char *extras);

/* -- parking: the reply comes later. on_gone (may be NULL) is called at most once, when the client hung up before the
   reply (noticed within about 100 ms) or the server is freed; the request dies after it returns, so forget it there; no
   reply then. A client that only ends its sending side counts as gone. */
void request_park(struct request *request, void (*on_gone)(void *arg), void *arg);
/* Just before the reply: fn is called once, when the reply was written whole (true), or when it is sure that it never
   will be (false). Written means taken by the kernel; a client may still not read it. */
void request_on_sent(struct request *request, void (*fn)(void *arg, bool whole), void *arg);
