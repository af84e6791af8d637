/* The settings of the inbox. */
#include "base/text.h"
#include "events/source.h"

#include <string.h>

#define PREFIX_REDIS "redis-stream:"
#define PREFIX_KAFKA "kafka:"

static bool starts_with(const char *item, size_t len, const char *prefix) {
    return len > strlen(prefix) && strncmp(item, prefix, strlen(prefix)) == 0;
}

size_t source_topics(const struct config *config, const char *prefix, char (*topics)[DEAD_LETTER_TOPIC_MAX + 1]) {
    size_t count = 0;
    for (const char *item = config->inbox_topics; *item != '\0';) {
        size_t len = strcspn(item, ","), head = strlen(prefix);
        if (starts_with(item, len, prefix) && count < SOURCE_TOPICS_MAX)
            (void)text_format(topics[count++], DEAD_LETTER_TOPIC_MAX + 1, "%.*s", (int)(len - head), item + head);
        item += len + (item[len] == ',');
    }
    return count;
}

static bool is_known(const char *item, size_t len) {
    const char *prefix = starts_with(item, len, PREFIX_REDIS)   ? PREFIX_REDIS
                         : starts_with(item, len, PREFIX_KAFKA) ? PREFIX_KAFKA
                                                                : NULL;
    return prefix != NULL && len - strlen(prefix) <= DEAD_LETTER_TOPIC_MAX;
}

static RESULT check_topics(const struct config *config, char *error_text, size_t error_size) {
    size_t count = 0;
    for (const char *item = config->inbox_topics; *item != '\0'; count++) {
        size_t len = strcspn(item, ",");
        if (!is_known(item, len)) {
            (void)text_format(error_text, error_size,
                              "LOCKSTOCK_INBOX_TOPICS=%s: each must be redis-stream:KEY or kafka:TOPIC",
                              config->inbox_topics);
            FAIL(INVALID_REQUEST, 0);
        }
        item += len + (item[len] == ',');
    }
    if (count <= SOURCE_TOPICS_MAX) return OK;
    (void)text_format(error_text, error_size, "LOCKSTOCK_INBOX_TOPICS: at most %d topics", SOURCE_TOPICS_MAX);
    FAIL(INVALID_REQUEST, 0);
}

/* It stands in a column of ASCII, and a blank in it is a mistake. */
static RESULT check_group(const struct config *config, char *error_text, size_t error_size) {
    const char *c = config->inbox_group;
    while (*c > ' ' && *c <= '~') c++;
    if (*c == '\0' && c != config->inbox_group) return OK;
    (void)text_copy(error_text, error_size, "LOCKSTOCK_INBOX_GROUP must be printable ASCII without blanks");
    FAIL(INVALID_REQUEST, 0);
}

RESULT sources_check(const struct config *config, char *error_text, size_t error_size) {
    TRY(check_topics(config, error_text, error_size));
    TRY(source_kafka_check(config, error_text, error_size));
    return check_group(config, error_text, error_size);
}
