/* The subscriber connection: who listens to which channel, kept through reconnects. One SUBSCRIBE on the wire for any
   number of owners of a channel. redis_unsubscribe and redis_subscription_is_live of redis.h live here. Loop thread. */
#pragma once

#include "loop/loop.h"
#include "redis/redis.h"
#include "redis/redis_url.h"

struct subscriber;

/* Whom a subscription calls. */
struct listener {
    redis_message_fn fn;
    void (*ready)(void *arg); /* may be NULL */
    void *arg;
};

/* Not connected yet. url is borrowed for the life of the subscriber. */
struct subscriber *subscriber_new(struct loop *loop, const struct redis_url *url, int64_t timeout_ms);
/* Subscriptions still there end with it. Takes NULL, returns NULL. Not from a subscription's callback. */
struct subscriber *subscriber_free(struct subscriber *subscriber);
/* Connects to a numeric address and stays connected, by reconnecting, until subscriber_stop. */
void subscriber_start(struct subscriber *subscriber, const char *address);
/* Nothing is live any more; the subscriptions wait for the next start. */
void subscriber_stop(struct subscriber *subscriber);
/* See redis_subscribe. */
struct redis_subscription *subscriber_add(struct subscriber *subscriber, const char *channel,
                                          const struct listener *listener);
