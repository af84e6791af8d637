/* The threads that bring deliveries to webhooks: claim one, sign it, send it, write down what came of it. Any number of
   processes do so side by side.

   Invariants
   1. A request is sent only under a claim whose COMMIT was answered; its lease is longer than the request can last.
   2. Each attempt is signed anew with its own time and carries the event's id, which never changes.
   3. No transaction is open while the network is asked. */
#pragma once

#include "client/address.h"
#include "config/config.h"
#include "store/db.h"

struct deliverer;

struct deliverer_options {
    const struct config *config; /* stays */
    struct db_options db;        /* each thread opens a connection of its own */
};

/* Starts the threads. They work through every outage of MySQL by themselves. */
struct deliverer *deliverer_new(const struct deliverer_options *options);
/* Asks them to stop and breaks off what is on its way; such attempts do not count. Takes NULL. Any thread. */
void deliverer_stop(struct deliverer *deliverer);
bool deliverer_is_over(const struct deliverer *deliverer);
/* Joins. Takes NULL, returns NULL. */
struct deliverer *deliverer_free(struct deliverer *deliverer);

/* Which addresses webhooks may have. */
enum reach deliverer_reach(const struct config *config);
