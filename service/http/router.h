/* Which endpoint a decoded target belongs to. Immutable once made; any thread. */
#pragma once

#include "base/result.h"
#include "http/server.h"
#include "http/target.h"

struct router;

struct router_match {
    const struct route *route; /* NULL when none */
    const char *label;         /* "POST /v1/orders/{id}/cancel"; never freed */
    const char *params[ROUTE_PARAMS_MAX];
    unsigned param_count;
    uint32_t allowed; /* with METHOD_NOT_ALLOWED: bits 1 << enum http_method of what the path takes */
};

/* Which rows of the table a listener answers. */
enum router_side { ROUTER_ALL, ROUTER_PUBLIC, ROUTER_ADMIN };

/* The table and its patterns must outlive the router. A pattern that is too deep, or has too many parameters, ends the
 * process: it is a fault of the program. */
struct router *router_new(const struct route *routes, size_t count, enum router_side side);
struct router *router_free(struct router *router);
/* NO_SUCH_PATH or METHOD_NOT_ALLOWED. A literal segment wins over a parameter; HEAD finds GET. */
RESULT router_find(const struct router *router, enum http_method method, const struct target *target,
                   struct router_match *ret);
/* "GET, HEAD, PUT" of router_match.allowed. */
void router_allow_text(uint32_t allowed, char *out, size_t size);
const char *http_method_name(enum http_method method);
