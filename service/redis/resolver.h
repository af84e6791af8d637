/* Looks a host name up without blocking the loop: one thread per question, gone with its answer. Loop thread. */
#pragma once

#include "loop/loop.h"

struct resolver;

/* Numeric IPv4 or IPv6: needs no look-up. */
bool resolver_is_numeric(const char *host);

/* fn gets a numeric address, or NULL when there is none; once, on a later turn. The name's address number
 * `attempt` modulo their count, so that repeated attempts go round all of them. NULL when out of descriptors. */
struct resolver *resolver_start(struct loop *loop, const char *host, unsigned attempt,
                                void (*fn)(void *arg, const char *address), void *arg);
/* An answer still on its way is dropped. Takes NULL, returns NULL; safe in fn. */
struct resolver *resolver_free(struct resolver *resolver);
