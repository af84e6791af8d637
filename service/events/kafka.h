/* What the Kafka sink and the Kafka inbox share: how to reach the brokers. Includes librdkafka's header, which stays in
   events/. */
#pragma once

#include "config/config.h"

#include <librdkafka/rdkafka.h>

/* bootstrap.servers, client.id, the log, and LOCKSTOCK_KAFKA_PROPERTIES; the caller owns it. INVALID_REQUEST with a
   sentence, without any value, when a property is unknown, malformed, or one of those that the promises rest on. */
RESULT kafka_conf_new(const struct config *config, rd_kafka_conf_t **ret, char *error_text, size_t error_size);
/* Sets a property of ours, which librdkafka knows. */
void kafka_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value);
