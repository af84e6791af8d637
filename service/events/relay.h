/* A relay: the thread that brings the events of the outbox to one sink. One for each sink and process; all relays of a
   sink, in whatever process, share its parts. */
#pragma once

#include "config/config.h"
#include "store/db.h"

struct relay;

struct relay_options {
    const struct config *config; /* stays */
    const char *sink;            /* a name of sinks_read; static storage */
    const char *const *sinks;    /* all of them, for the status of the rows; stays */
    size_t sink_count;
    struct db_options db; /* it opens a connection of its own */
};

/* Starts it. It works through every outage of MySQL and of the sink by itself. */
struct relay *relay_new(const struct relay_options *options);
/* Asks it to stop: it gives its parts back. Any thread. */
void relay_stop(struct relay *relay);
bool relay_is_stopped(const struct relay *relay);
/* Joins. Takes NULL, returns NULL. */
struct relay *relay_free(struct relay *relay);
/* Something was committed. Any thread; calls that come together are one. */
void relay_wake(struct relay *relay);
