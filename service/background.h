/* The threads of the process beside its loops: what works on the database by itself, once for each process.
   Started when every instance stands; asked to stop when the drain begins, while the loops still answer them; joined
   when the loops have ended and before anything they use is freed. */
#pragma once

#include "config/config.h"
#include "facade/facade.h"
#include "store/db.h"

struct background;

struct background_options {
    const struct config *config;
    struct db_options db;  /* each thread opens a connection of its own */
    struct facade *facade; /* of the first instance: commands ride its trains */
};

/* Starts the threads. Works without MySQL and Redis: each thread tries again by itself. */
struct background *background_new(const struct background_options *options);
/* Asks all of them to stop; does not wait. Takes NULL. Any thread. */
void background_stop(struct background *background);
/* All have ended: nothing comes from them any more. True for NULL. */
bool background_is_over(const struct background *background);
/* A train has committed: whoever waits for work looks. Takes NULL. Any thread. */
void background_committed(struct background *background);
/* Joins. Takes NULL, returns NULL. */
struct background *background_free(struct background *background);
