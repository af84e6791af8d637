/* The replica connection: asks whether replicas have what the primary has answered. WAIT holds up the connection it is
   sent on, so it has one of its own. WAIT tells of the writes of its own connection; replication is one stream in the
   order of the primary, so a write made here after an answer was read there stands behind it, and whoever acknowledged
   this one has that one too. All that ask while a WAIT is on its way share the next. Loop thread. */
#pragma once

#include "loop/loop.h"
#include "redis/redis.h"
#include "redis/redis_url.h"

struct replicas;

/* Not connected yet. url is borrowed for the life of it. count: how many must acknowledge, within wait_ms. */
struct replicas *replicas_new(struct loop *loop, const struct redis_url *url, const struct redis_options *options);
/* Whoever waits is told no. Takes NULL, returns NULL. */
struct replicas *replicas_free(struct replicas *replicas);
/* Connects to a numeric address, where the process with this run id must answer, and stays connected until
   replicas_stop. run_id is borrowed until then. */
void replicas_start(struct replicas *replicas, const char *address, const char *run_id);
/* Whoever waits is told no. */
void replicas_stop(struct replicas *replicas);
/* See redis_await_replicas. */
void replicas_await(struct replicas *replicas, redis_replicated_fn fn, void *arg);
