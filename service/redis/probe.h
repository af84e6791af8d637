/* The questions a new command connection is asked before it is used: AUTH, SELECT, INFO, TIME, SCRIPT LOAD. */
#pragma once

#include "redis/connection.h"
#include "redis/redis_url.h"
#include "redis/server_info.h"

#define SCRIPT_SHA_SIZE 41
#define PROBE_PROBLEM_SIZE 192

struct probe_findings {
    struct server_info info;
    char sha[SCRIPT_COUNT][SCRIPT_SHA_SIZE]; /* what EVALSHA calls the scripts */
    int64_t redis_ms;                        /* TIME */
    int64_t time_sent_ms;                    /* when TIME was sent, monotonic */
};

struct probe {
    struct connection *connection;
    const struct redis_url *url;
    void (*done)(void *arg, const char *problem);
    void *arg;
    int step;
    int64_t sent_ms;
    bool refused; /* the server answers, but is not one we use */
    struct probe_findings findings;
    char problem[PROBE_PROBLEM_SIZE];
};

/* Asks on a connection that is up. done comes once, with NULL and the findings, or with what is wrong; never when the
   connection is lost meanwhile, which its own `gone` tells. url and probe live until then. */
void probe_start(struct probe *probe, struct connection *connection, const struct redis_url *url,
                 void (*done)(void *arg, const char *problem), void *arg);
/* The AUTH command of the url; false when it has no password. */
bool probe_write_auth(const struct redis_url *url, struct text *out);
