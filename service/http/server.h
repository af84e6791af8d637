/* libmicrohttpd in external-epoll mode inside the loop: sole user of <microhttpd.h>, with its neighbours in http/. Loop
   thread. What it must honour: design.md §3 (never answer or suspend in the first call, run again while MHD_get_timeout
   is 0, resume in batches with one MHD_run after, 8 KiB connection memory, raw-target routing, hang-ups of parked
   requests by polling). */
#pragma once

#include "http/access.h"
#include "http/request.h"
#include "loop/loop.h"

#include <stddef.h>

typedef void (*endpoint_fn)(struct request *request);

enum route_flags {
    ROUTE_OPEN = 1,       /* no token needed */
    ROUTE_ADMIN_PORT = 2, /* where there is an admin listener, answered by it alone, and it answers nothing else */
    ROUTE_QUERY =
        4 /* its endpoint reads the query; others take none, open ones ignore it (probes add what they like) */
};

/* One row per method and path. pattern: "/v1/orders/{id}/cancel"; segments in braces match one segment. GET rows answer
 * HEAD as well. */
struct route {
    enum http_method method;
    const char *pattern;
    endpoint_fn fn;
    uint32_t scopes; /* any of them; GET rows: SCOPE_READ is enough too */
    uint32_t flags;
};

#define HTTP_BATCH 16

struct http;
struct http_options {
    const char *listen;       /* "127.0.0.1:8080", "[::1]:8080", "0.0.0.0:8080" */
    const char *admin_listen; /* "" = none */
    bool reuse_port;          /* several loops on one port */
    const struct route *routes;
    size_t route_count;
    struct access *access;
    void *app;
    void (*batch)(void *app); /* may be NULL: called after every HTTP_BATCH requests that were parked, so that what they
                                 asked for can be sent while more are read. May answer parked requests */
    unsigned connections_max;
    int idle_timeout_s;      /* for a request line to come whole, and for a reply to be taken up */
    int64_t body_timeout_ms; /* from the request line to the body's last byte; longer is cut off with the connection */
};

/* Binds and starts serving. UNAVAILABLE with errno in native when the address is taken. */
RESULT http_new(struct loop *loop, const struct http_options *options, struct http **ret);
/* Stops accepting; answers carry Connection: close from now on. */
void http_quiesce(struct http *http);
/* Requests begun and not yet answered completely. */
size_t http_active(const struct http *http);
/* Quiesces, tells the endpoints of parked requests that these are gone (on_gone), closes all connections. Before
 * loop_free; not from a turn callback. Takes NULL, returns NULL. */
struct http *http_free(struct http *http);
/* The port in use (listen may say 0); not the admin listener's. */
uint16_t http_port(const struct http *http);
