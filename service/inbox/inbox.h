/* The inbox's threads: one for each kind of source that LOCKSTOCK_INBOX_TOPICS names. A batch is read, its events ride
   the trains of the first instance, what cannot have its effect becomes a dead letter, and only then the batch is
   acknowledged.

   Invariants
   1. An event's effect and the fact that it was processed are one transaction (facade/outside.h): what comes twice has
      its effect once.
   2. Nothing is acknowledged before its effect or its dead letter is durable.
   3. Events of one order are tried in their order within a batch: one that waits for its retry holds back those behind
      it. Between batches that is the source's business: a Redis stream gives them to any consumer.
   4. Outages and overload count as no attempt: an event is given up only for reasons of its own. */
#pragma once

#include "config/config.h"
#include "facade/facade.h"
#include "store/db.h"

struct inbox;

struct inbox_options {
    const struct config *config; /* stays */
    struct db_options db;        /* each thread opens a connection of its own, for dead letters */
    struct facade *facade;
};

/* Starts the threads, if there are topics. They work through every outage by themselves. */
struct inbox *inbox_new(const struct inbox_options *options);
/* Asks them to stop: what is not done comes again. Takes NULL. Any thread. */
void inbox_stop(struct inbox *inbox);
bool inbox_is_over(const struct inbox *inbox);
/* Joins. Takes NULL, returns NULL. */
struct inbox *inbox_free(struct inbox *inbox);
