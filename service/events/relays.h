/* All relays of the process: one for each configured sink. */
#pragma once

#include "config/config.h"
#include "store/db.h"

struct relays;

/* Before the first thread: can the configured sinks be used? INVALID_REQUEST with a sentence. */
RESULT relays_check(const struct config *config, char *error_text, size_t error_size);
/* Starts them. config stays. */
struct relays *relays_new(const struct config *config, const struct db_options *db);
/* Asks them to stop: they give their parts back. Takes NULL. Any thread. */
void relays_stop(struct relays *relays);
bool relays_are_over(const struct relays *relays);
/* Joins. Takes NULL, returns NULL. */
struct relays *relays_free(struct relays *relays);
/* Something was committed. Takes NULL. Any thread. */
void relays_wake(struct relays *relays);
