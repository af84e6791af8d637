#include "events/kafka.h"

#include "base/log.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 128
#define VALUE_SIZE 2048
#define REASON_SIZE 256

/* The promises of sink and inbox rest on these: a deployment may not set them. */
static const char *const kept[] = {
    "enable.idempotence",
    "enable.gapless.guarantee",
    "acks",
    "request.required.acks",
    "message.timeout.ms",
    "delivery.timeout.ms",
    "transactional.id",
    "group.id",
    "enable.auto.commit",
    "auto.offset.reset",
    "enable.auto.offset.store",
    "bootstrap.servers",
    "metadata.broker.list",
};

static bool is_kept(const char *name) {
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (strcmp(kept[i], name) == 0) return true;
    return false;
}

/* librdkafka's own lines would go to stderr; an outage is told once, by who meets it. */
static void on_log(const rd_kafka_t *kafka, int level, const char *facility, const char *text) {
    LOG(LOG_DEBUG, "kafka.client", LOGI("severity", level), LOGS("facility", facility), LOGS("detail", text));
}

void kafka_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value) {
    char reason[REASON_SIZE];
    if (rd_kafka_conf_set(conf, name, value, reason, sizeof reason) != RD_KAFKA_CONF_OK) abort();
}

/* "name=value" */
static bool set_property(rd_kafka_conf_t *conf, const char *item, size_t len, char *error_text, size_t error_size) {
    char name[NAME_SIZE], value[VALUE_SIZE], reason[REASON_SIZE];
    const char *equals = memchr(item, '=', len);
    size_t name_len = equals != NULL ? (size_t)(equals - item) : len;
    size_t value_len = equals != NULL ? len - name_len - 1 : 0;
    if (equals == NULL || name_len == 0 || name_len >= sizeof name || value_len >= sizeof value) {
        (void)text_format(error_text, error_size, "LOCKSTOCK_KAFKA_PROPERTIES must look like name=value;name=value");
        return false;
    }
    memcpy(name, item, name_len);
    name[name_len] = '\0';
    memcpy(value, equals + 1, value_len);
    value[value_len] = '\0';
    if (!is_kept(name) && rd_kafka_conf_set(conf, name, value, reason, sizeof reason) == RD_KAFKA_CONF_OK) return true;
    (void)text_format(error_text, error_size, "LOCKSTOCK_KAFKA_PROPERTIES: %s %s", name,
                      is_kept(name) ? "is set by the service" : "is unknown to librdkafka or has a value it refuses");
    return false;
}

static bool set_properties(rd_kafka_conf_t *conf, const char *list, char *error_text, size_t error_size) {
    while (*list != '\0') {
        size_t len = strcspn(list, ";\n");
        if (len > 0 && !set_property(conf, list, len, error_text, error_size)) return false;
        list += len;
        if (*list != '\0') list++;
    }
    return true;
}

RESULT kafka_conf_new(const struct config *config, rd_kafka_conf_t **ret, char *error_text, size_t error_size) {
    if (config->kafka_brokers[0] == '\0') {
        (void)text_format(error_text, error_size, "LOCKSTOCK_KAFKA_BROKERS is empty: host:port, comma-separated");
        FAIL(INVALID_REQUEST, 0);
    }
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    kafka_conf_set(conf, "client.id", "lockstock");
    kafka_conf_set(conf, "bootstrap.servers", config->kafka_brokers);
    kafka_conf_set(conf, "linger.ms", "1");
    kafka_conf_set(conf, "reconnect.backoff.max.ms", "1000");
    rd_kafka_conf_set_log_cb(conf, on_log);
    if (!set_properties(conf, config->kafka_properties, error_text, error_size)) {
        rd_kafka_conf_destroy(conf);
        FAIL(INVALID_REQUEST, 0);
    }
    *ret = conf;
    return OK;
}
