/* One hiredis async connection on our loop: its socket watched by the loop, its calls counted and aged. It knows no
   breaker and never reconnects; its owner makes a new one. Loop thread. */
#pragma once

#include "base/text.h"
#include "loop/loop.h"
#include "redis/redis.h"

struct connection;

struct connection_events {
    void (*up)(void *arg); /* the socket is connected; must not close */
    /* Lost: refused, closed by the other side, or a call (or connecting) unanswered for timeout_ms. Called once, before
       the pending calls are answered, so that the owner's state is right when they are; the owner must call
       connection_close in it. reason is valid during the call. */
    void (*gone)(void *arg, const char *reason);
    void (*push)(void *arg, const struct redis_value *value); /* answers to subscriptions, messages; may be NULL */
    void *arg;
};

/* address is numeric; hiredis would look names up on this thread. Never NULL: what fails at once is told by `gone` on
   a later turn. */
struct connection *connection_open(struct loop *loop, const char *address, int port, int64_t timeout_ms,
                                   const struct connection_events *events);
/* Answers all pending calls with NULL, then drops the socket. No event comes after. Takes NULL, returns NULL. Fine in
   every callback but `up`. */
struct connection *connection_close(struct connection *connection);

/* Sends a finished command. fn is called exactly once; at once, with NULL and not sent, when the connection is gone or
   CONNECTION_CALLS_MAX calls wait. */
#define CONNECTION_CALLS_MAX 16384
void connection_send(struct connection *connection, const struct text *command, redis_fn fn, void *arg);

/* Writes what is queued now instead of when the loop polls next. Nothing inside a callback of this connection. */
void connection_flush(struct connection *connection);
/* Answers and messages come as `push`. After the first, connection_send is no longer allowed on this connection. */
void connection_subscribe(struct connection *connection, const char *channel);
void connection_unsubscribe(struct connection *connection, const char *channel);
