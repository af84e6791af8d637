/* The sinks of LOCKSTOCK_SINKS. */
#pragma once

#include "config/config.h"
#include "events/sink.h"

#define SINKS_MAX 3

/* Their names in the order of the table below; each at most once. redis-stream without a Redis is left out.
   INVALID_REQUEST with a sentence when a name is unknown or what a sink needs is missing. */
RESULT sinks_read(const struct config *config, const char **names, size_t *ret_count, char *error_text,
                  size_t error_size);
/* Made in the relay's thread. */
RESULT sink_new(const struct config *config, const char *name, struct sink *ret);

/* The setting names it. */
bool sinks_have(const struct config *config, const char *name);

RESULT sink_redis_new(const struct config *config, struct sink *ret);
RESULT sink_kafka_new(const struct config *config, struct sink *ret);
RESULT sink_webhook_new(const struct config *config, struct sink *ret);
