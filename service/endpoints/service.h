/* What endpoints reach from a request: the composition root fills it in. Loop thread. */
#pragma once

#include "config/config.h"
#include "facade/facade.h"
#include "http/server.h"
#include "locks/locks.h"
#include "redis/redis.h"
#include "store/pool.h"

struct service {
    const struct config *config;
    struct loop *loop;
    struct pool *pool;
    struct redis *redis;
    struct facade *facade;
    struct locks *locks;
    struct http *http;
    bool schema_fits; /* seen once; readiness rests on it */
    bool draining;
};

static inline struct service *service_of(const struct request *request) { return request_app(request); }

/* The route table of all endpoints. */
extern const struct route service_routes[];
extern const size_t service_route_count;
