/* The subscriber connection.

   Invariants
   1. A channel is in the table while it has subscriptions, is subscribed on the wire, or has confirmations to come.
   2. on_wire: the last thing sent for it on this connection was SUBSCRIBE. pending: SUBSCRIBEs not yet confirmed. It is
      live when on_wire and pending is 0: a confirmation of an earlier SUBSCRIBE, followed on the wire by an
      UNSUBSCRIBE, makes nothing live.
   3. While owners are called (calling > 0) no subscription is taken out of its channel, so the walk stands; those given
      up meanwhile are marked gone, are called no more, and go after the outermost walk (sweep).
   4. What comes from hiredis is matched by channel name, never by a pointer given to hiredis.

   The link is watched by subscribing again and again to a channel of our own: Redis confirms each time. (hiredis 0.14
   cannot match the answer of a PING on a subscribed connection and would keep a record of each for ever. The channel
   also keeps hiredis in subscribe mode when the last owner has gone.) */
#include "redis/subscriber.h"

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "redis/connection.h"
#include "redis/probe.h"

#include <stdlib.h>
#include <string.h>

#define BEAT_CHANNEL "lockstock:subscriber-beat"
enum { BEAT_MS = 5000, RETRY_MS_MIN = 50, RETRY_MS_MAX = 1000, BUCKETS = 1024, ADDRESS_SIZE = 64 };

struct subscriber {
    struct loop *loop;
    const struct redis_url *url;
    int64_t timeout_ms;
    char address[ADDRESS_SIZE]; /* "" = stopped */
    struct connection *connection;
    struct loop_timer *timer; /* connected: the beat; else the next attempt */
    struct loop_timer *fresh_timer;
    struct list fresh;   /* joined a channel that was live: to be told on the next turn */
    struct list garbage; /* gone while owners were called */
    int64_t retry_ms;
    int calling;
    bool up;   /* the socket is connected: SUBSCRIBE may be sent */
    bool beat; /* the last beat was answered */
    bool told_lost;
    struct list buckets[BUCKETS];
};

struct channel {
    struct list node; /* in its bucket */
    struct list subscriptions;
    size_t wanted; /* subscriptions not gone */
    unsigned pending;
    bool on_wire;
    char name[];
};

struct redis_subscription {
    struct list node; /* in channel->subscriptions */
    struct list side; /* in fresh or garbage or alone */
    struct subscriber *subscriber;
    struct channel *channel;
    struct listener listener;
    bool told; /* ready was called for this connection */
    bool gone;
};

/* ---- the table ---- */

static struct list *bucket_of(struct subscriber *subscriber, const char *name) {
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++) hash = (hash ^ *c) * 16777619U;
    return &subscriber->buckets[hash % BUCKETS];
}

static struct channel *find(struct subscriber *subscriber, const char *name) {
    struct list *bucket = bucket_of(subscriber, name);
    LIST_FOR(node, bucket) {
        struct channel *channel = CONTAINER_OF(node, struct channel, node);
        if (strcmp(channel->name, name) == 0) return channel;
    }
    return NULL;
}

static struct channel *find_or_add(struct subscriber *subscriber, const char *name) {
    struct channel *channel = find(subscriber, name);
    if (channel != NULL) return channel;
    size_t size = strlen(name) + 1;
    channel = mem_new(sizeof *channel + size);
    memcpy(channel->name, name, size);
    list_init(&channel->subscriptions);
    list_push(bucket_of(subscriber, name), &channel->node);
    return channel;
}

static bool is_live(const struct channel *channel) { return channel->on_wire && channel->pending == 0; }

/* Brings the wire in line with what is wanted; the channel may be gone when this returns. */
static void settle(struct subscriber *subscriber, struct channel *channel) {
    bool wanted = channel->wanted > 0;
    if (subscriber->up && wanted != channel->on_wire) {
        channel->on_wire = wanted;
        if (wanted) channel->pending++;
        (wanted ? connection_subscribe : connection_unsubscribe)(subscriber->connection, channel->name);
    }
    if (wanted || channel->on_wire || channel->pending > 0 || !list_empty(&channel->subscriptions)) return;
    list_remove(&channel->node);
    free(channel);
}

/* fn may free the channel it is given. */
static void for_each_channel(struct subscriber *subscriber, void (*fn)(struct subscriber *, struct channel *)) {
    for (size_t i = 0; i < BUCKETS; i++)
        LIST_FOR_SAFE(node, &subscriber->buckets[i]) fn(subscriber, CONTAINER_OF(node, struct channel, node));
}

/* ---- calling owners ---- */

struct message {
    const char *channel;
    const char *payload;
    size_t len;
};

static void end_subscription(struct redis_subscription *subscription) {
    struct subscriber *subscriber = subscription->subscriber;
    struct channel *channel = subscription->channel;
    list_remove(&subscription->side);
    list_remove(&subscription->node);
    free(subscription);
    settle(subscriber, channel);
}

static void sweep(struct subscriber *subscriber) {
    if (subscriber->calling > 0) return;
    for (struct list *node; (node = list_pop(&subscriber->garbage)) != NULL;)
        end_subscription(CONTAINER_OF(node, struct redis_subscription, side));
}

static void tell_ready(struct redis_subscription *subscription, const struct message *unused) {
    (void)unused;
    if (subscription->told) return;
    subscription->told = true;
    list_remove(&subscription->side);
    if (subscription->listener.ready != NULL) subscription->listener.ready(subscription->listener.arg);
}

static void tell_message(struct redis_subscription *subscription, const struct message *message) {
    subscription->listener.fn(subscription->listener.arg, message->channel, message->payload, message->len);
}

/* Calls fn for those subscribed when this began and not given up meanwhile. The channel may be gone after. */
static void visit(struct subscriber *subscriber, struct channel *channel,
                  void (*fn)(struct redis_subscription *, const struct message *), const struct message *message) {
    if (list_empty(&channel->subscriptions)) return;
    const struct list *last = channel->subscriptions.prev;
    struct list *node = &channel->subscriptions;
    subscriber->calling++;
    do {
        node = node->next;
        struct redis_subscription *subscription = CONTAINER_OF(node, struct redis_subscription, node);
        if (!subscription->gone) fn(subscription, message);
    } while (node != last);
    subscriber->calling--;
    sweep(subscriber);
}

static void on_fresh(void *arg) {
    struct subscriber *subscriber = arg;
    struct list now;
    list_init(&now);
    list_move_all(&now, &subscriber->fresh);
    subscriber->calling++;
    for (struct list *node; (node = list_pop(&now)) != NULL;) {
        struct redis_subscription *subscription = CONTAINER_OF(node, struct redis_subscription, side);
        if (is_live(subscription->channel)) tell_ready(subscription, NULL);
    }
    subscriber->calling--;
    sweep(subscriber);
}

/* ---- what Redis says ---- */

static void on_confirmed(struct subscriber *subscriber, const char *name) {
    if (strcmp(name, BEAT_CHANNEL) == 0) {
        subscriber->beat = true;
        subscriber->told_lost = false;
        subscriber->retry_ms = RETRY_MS_MIN;
        return;
    }
    struct channel *channel = find(subscriber, name);
    if (channel == NULL) return;
    if (channel->pending > 0) channel->pending--;
    if (is_live(channel))
        visit(subscriber, channel, tell_ready, NULL);
    else
        settle(subscriber, channel);
}

static void on_message(struct subscriber *subscriber, const char *name, const struct redis_value *payload) {
    struct channel *channel = find(subscriber, name);
    if (channel == NULL) return;
    struct message message = {.channel = channel->name};
    message.payload = redis_str(payload, &message.len);
    visit(subscriber, channel, tell_message, &message);
}

static void on_push(void *arg, const struct redis_value *value) {
    const char *verb = redis_str(redis_at(value, 0), NULL);
    const char *name = redis_str(redis_at(value, 1), NULL);
    if (strcmp(verb, "message") == 0) on_message(arg, name, redis_at(value, 2));
    if (strcmp(verb, "subscribe") == 0) on_confirmed(arg, name);
}

/* ---- the connection ---- */

static void forget_wire(struct subscriber *subscriber, struct channel *channel) {
    channel->on_wire = false;
    channel->pending = 0;
    LIST_FOR(node, &channel->subscriptions) CONTAINER_OF(node, struct redis_subscription, node)->told = false;
    settle(subscriber, channel);
}

static void drop(struct subscriber *subscriber) {
    subscriber->up = false;
    subscriber->connection = connection_close(subscriber->connection);
    for_each_channel(subscriber, forget_wire);
}

static void on_gone(void *arg, const char *reason) {
    struct subscriber *subscriber = arg;
    if (!subscriber->told_lost) LOG(LOG_WARN, "redis.subscriber.lost", LOGS("reason", reason));
    subscriber->told_lost = true;
    drop(subscriber);
    loop_timer_start(subscriber->timer, subscriber->retry_ms, 0);
    subscriber->retry_ms = subscriber->retry_ms * 2 < RETRY_MS_MAX ? subscriber->retry_ms * 2 : RETRY_MS_MAX;
}

static void send_beat(struct subscriber *subscriber) {
    subscriber->beat = false;
    connection_subscribe(subscriber->connection, BEAT_CHANNEL);
    loop_timer_start(subscriber->timer, BEAT_MS, 0);
}

static void on_auth(void *arg, const struct redis_value *value, bool sent) {
    (void)sent;
    if (redis_type_of(value) == REDIS_ERROR) on_gone(arg, redis_str(value, NULL));
}

static void on_up(void *arg) {
    struct subscriber *subscriber = arg;
    subscriber->up = true;
    AUTO_TEXT auth = text_new(0);
    if (probe_write_auth(subscriber->url, &auth)) connection_send(subscriber->connection, &auth, on_auth, subscriber);
    send_beat(subscriber);
    for_each_channel(subscriber, settle);
}

static void connect_now(struct subscriber *subscriber) {
    const struct connection_events events = {.up = on_up, .gone = on_gone, .push = on_push, .arg = subscriber};
    subscriber->connection =
        connection_open(subscriber->loop, subscriber->address, subscriber->url->port, subscriber->timeout_ms, &events);
}

static void on_timer(void *arg) {
    struct subscriber *subscriber = arg;
    if (subscriber->connection == NULL)
        connect_now(subscriber);
    else if (!subscriber->beat)
        on_gone(subscriber, "beat unanswered");
    else
        send_beat(subscriber);
}

/* ---- from outside ---- */

struct subscriber *subscriber_new(struct loop *loop, const struct redis_url *url, int64_t timeout_ms) {
    struct subscriber *subscriber = mem_new(sizeof *subscriber);
    subscriber->loop = loop;
    subscriber->url = url;
    subscriber->timeout_ms = timeout_ms;
    subscriber->timer = loop_timer_new(loop, on_timer, subscriber);
    subscriber->fresh_timer = loop_timer_new(loop, on_fresh, subscriber);
    list_init(&subscriber->fresh);
    list_init(&subscriber->garbage);
    for (size_t i = 0; i < BUCKETS; i++) list_init(&subscriber->buckets[i]);
    return subscriber;
}

void subscriber_start(struct subscriber *subscriber, const char *address) {
    subscriber_stop(subscriber);
    (void)text_copy(subscriber->address, sizeof subscriber->address, address);
    subscriber->retry_ms = RETRY_MS_MIN;
    subscriber->told_lost = false;
    connect_now(subscriber);
}

void subscriber_stop(struct subscriber *subscriber) {
    loop_timer_stop(subscriber->timer);
    subscriber->address[0] = '\0';
    drop(subscriber);
}

static void end_channel(struct subscriber *subscriber, struct channel *channel) {
    (void)subscriber;
    for (struct list *node; (node = list_pop(&channel->subscriptions)) != NULL;)
        free(CONTAINER_OF(node, struct redis_subscription, node));
    free(channel);
}

struct subscriber *subscriber_free(struct subscriber *subscriber) {
    if (subscriber == NULL) return NULL;
    subscriber_stop(subscriber);
    for_each_channel(subscriber, end_channel);
    loop_timer_free(subscriber->timer);
    loop_timer_free(subscriber->fresh_timer);
    free(subscriber);
    return NULL;
}

struct redis_subscription *subscriber_add(struct subscriber *subscriber, const char *name,
                                          const struct listener *listener) {
    struct channel *channel = find_or_add(subscriber, name);
    struct redis_subscription *subscription = mem_new(sizeof *subscription);
    *subscription = (struct redis_subscription){.subscriber = subscriber, .channel = channel, .listener = *listener};
    list_init(&subscription->side);
    list_push(&channel->subscriptions, &subscription->node);
    channel->wanted++;
    if (is_live(channel)) {
        list_push(&subscriber->fresh, &subscription->side);
        loop_timer_start(subscriber->fresh_timer, 0, 0);
    }
    settle(subscriber, channel);
    return subscription;
}

struct redis_subscription *redis_unsubscribe(struct redis_subscription *subscription) {
    if (subscription == NULL || subscription->gone) return NULL;
    struct subscriber *subscriber = subscription->subscriber;
    subscription->gone = true;
    subscription->channel->wanted--;
    list_remove(&subscription->side);
    if (subscriber->calling == 0) {
        end_subscription(subscription);
    } else {
        list_push(&subscriber->garbage, &subscription->side);
        settle(subscriber, subscription->channel);
    }
    return NULL;
}

bool redis_subscription_is_live(const struct redis_subscription *subscription) {
    return !subscription->gone && is_live(subscription->channel);
}
