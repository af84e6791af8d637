#include "events/sinks.h"

#include "events/kafka.h"

#include <string.h>

struct kind {
    const char *name;
    RESULT (*make)(const struct config *config, struct sink *ret);
};

/* The order of the label of the metrics. */
static const struct kind kinds[] = {
    {"redis-stream", sink_redis_new},
    {"kafka", sink_kafka_new},
    {"webhook", sink_webhook_new},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const struct kind *kind_of(const char *name, size_t len) {
    for (size_t i = 0; i < KINDS; i++)
        if (strlen(kinds[i].name) == len && memcmp(kinds[i].name, name, len) == 0) return &kinds[i];
    return NULL;
}

/* Marks what the list names; false at a name that nobody has. */
static bool mark_named(const char *list, bool *named) {
    for (const char *item = list; *item != '\0';) {
        size_t len = strcspn(item, ",");
        const struct kind *kind = kind_of(item, len);
        if (kind == NULL) return false;
        named[kind - kinds] = true;
        item += len;
        if (*item == ',') item++;
    }
    return true;
}

static RESULT check_kafka(const struct config *config, char *error_text, size_t error_size) {
    rd_kafka_conf_t *conf;
    TRY(kafka_conf_new(config, &conf, error_text, error_size));
    rd_kafka_conf_destroy(conf);
    return OK;
}

RESULT sinks_read(const struct config *config, const char **names, size_t *ret_count, char *error_text,
                  size_t error_size) {
    bool named[KINDS] = {false};
    if (!mark_named(config->sinks, named)) {
        (void)text_format(error_text, error_size, "LOCKSTOCK_SINKS=%s: known are redis-stream, kafka and webhook",
                          config->sinks);
        FAIL(INVALID_REQUEST, 0);
    }
    if (config->redis_url[0] == '\0') named[0] = false;
    if (named[1]) TRY(check_kafka(config, error_text, error_size));
    *ret_count = 0;
    for (size_t i = 0; i < KINDS; i++)
        if (named[i]) names[(*ret_count)++] = kinds[i].name;
    return OK;
}

RESULT sink_new(const struct config *config, const char *name, struct sink *ret) {
    const struct kind *kind = kind_of(name, strlen(name));
    if (kind == NULL) FAIL(INTERNAL, 0);
    struct sink sink = {0};
    TRY(kind->make(config, &sink));
    sink.name = kind->name;
    sink.label = (unsigned)(kind - kinds);
    *ret = sink;
    return OK;
}

bool sinks_have(const struct config *config, const char *name) {
    bool named[KINDS] = {false};
    const struct kind *kind = kind_of(name, strlen(name));
    return kind != NULL && mark_named(config->sinks, named) && named[kind - kinds];
}
