/* Kafka, read as a consumer group. Offsets are committed by ack alone, up to the first message that is not done; a
   consumer that died, or lost its partitions, leaves the rest to whoever has them next. */
#include "base/memory.h"
#include "base/text.h"
#include "events/kafka.h"
#include "events/source.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX "kafka:"
#define SOCKET_TIMEOUT "4000" /* milliseconds a commit may take, within SOURCE_MS_MAX */
#define POLL_INTERVAL_MAX                                                                                              \
    "600000"                    /* a batch with its retries takes 36 s; an outage may take longer, then others try     \
                                 */
#define SESSION_TIMEOUT "10000" /* then a consumer that died, or is frozen, loses its partitions */
#define ERROR_SIZE 256

struct kafka_source {
    rd_kafka_t *consumer;
    const struct config *config;
    char topics[SOURCE_TOPICS_MAX][DEAD_LETTER_TOPIC_MAX + 1];
    size_t topic_count;
    struct {
        char topic[DEAD_LETTER_TOPIC_MAX + 1];
        int32_t partition;
        int64_t offset;
    } taken[SOURCE_BATCH];
    size_t count;
    bool is_down; /* no broker answers, as was heard since the last read */
    char down_reason[SOURCE_TROUBLE_SIZE];
};

/* -- the consumer */

static RESULT subscribe(struct kafka_source *kafka, struct source *source) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)kafka->topic_count);
    for (size_t i = 0; i < kafka->topic_count; i++)
        (void)rd_kafka_topic_partition_list_add(list, kafka->topics[i], RD_KAFKA_PARTITION_UA);
    (void)rd_kafka_poll_set_consumer(kafka->consumer);
    rd_kafka_resp_err_t error = rd_kafka_subscribe(kafka->consumer, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return OK;
    (void)text_copy(source->trouble, sizeof source->trouble, rd_kafka_err2str(error));
    FAIL(UNAVAILABLE, 0);
}

/* A poll says nothing of brokers that are away; this does, each time the last one goes. */
static void on_error(rd_kafka_t *consumer, int error, const char *reason, void *opaque) {
    struct kafka_source *kafka = opaque;
    if (error != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) return;
    kafka->is_down = true;
    (void)text_copy(kafka->down_reason, sizeof kafka->down_reason, reason);
}

static RESULT make_consumer(struct kafka_source *kafka, struct source *source) {
    rd_kafka_conf_t *conf;
    char text[ERROR_SIZE];
    TRY(kafka_conf_new(kafka->config, &conf, source->trouble, sizeof source->trouble));
    kafka_conf_set(conf, "group.id", kafka->config->inbox_group);
    kafka_conf_set(conf, "enable.auto.commit", "false");
    kafka_conf_set(conf, "enable.auto.offset.store", "false");
    kafka_conf_set(conf, "auto.offset.reset", "earliest");
    kafka_conf_set(conf, "socket.timeout.ms", SOCKET_TIMEOUT);
    kafka_conf_set(conf, "session.timeout.ms", SESSION_TIMEOUT);
    kafka_conf_set(conf, "max.poll.interval.ms", POLL_INTERVAL_MAX);
    kafka_conf_set(conf, "queued.max.messages.kbytes", "4096"); /* for each partition */
    rd_kafka_conf_set_opaque(conf, kafka);
    rd_kafka_conf_set_error_cb(conf, on_error);
    kafka->consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
    if (kafka->consumer == NULL) {
        rd_kafka_conf_destroy(conf);
        (void)text_copy(source->trouble, sizeof source->trouble, text);
        FAIL(UNAVAILABLE, 0);
    }
    return subscribe(kafka, source);
}

/* -- reading */

static void take_traceparent(const rd_kafka_message_t *message, struct source_message *out) {
    rd_kafka_headers_t *headers;
    const void *value;
    size_t len;
    if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
    if (rd_kafka_header_get_last(headers, "traceparent", &value, &len) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
    if (value == NULL || len >= sizeof out->traceparent || !text_is_printable_utf8(value, len)) return;
    memcpy(out->traceparent, value, len);
    out->traceparent[len] = '\0';
}

static void take(struct kafka_source *kafka, const rd_kafka_message_t *message, struct source_message *out) {
    const char *topic = rd_kafka_topic_name(message->rkt);
    *out = (struct source_message){.body = mem_copy(message->payload != NULL ? message->payload : "", message->len),
                                   .body_len = message->len};
    (void)text_copy(out->topic, sizeof out->topic, topic);
    (void)text_format(out->position, sizeof out->position, "%s/%d@%lld", topic, (int)message->partition,
                      (long long)message->offset);
    take_traceparent(message, out);
    (void)text_copy(kafka->taken[kafka->count].topic, sizeof kafka->taken[0].topic, topic);
    kafka->taken[kafka->count].partition = message->partition;
    kafka->taken[kafka->count].offset = message->offset;
    kafka->count++;
}

/* A topic that is not there yet is no trouble: it may come to be. */
static bool is_trouble(rd_kafka_resp_err_t error) {
    return error != RD_KAFKA_RESP_ERR__PARTITION_EOF && error != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART &&
           error != RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC && error != RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED;
}

/* NULL: nothing more for now, or an error, which stands in trouble then. */
static rd_kafka_message_t *poll_one(struct kafka_source *kafka, struct source *source, int wait_ms) {
    rd_kafka_message_t *message = rd_kafka_consumer_poll(kafka->consumer, wait_ms);
    if (message == NULL || message->err == RD_KAFKA_RESP_ERR_NO_ERROR) return message;
    if (is_trouble(message->err))
        (void)text_copy(source->trouble, sizeof source->trouble, rd_kafka_err2str(message->err));
    rd_kafka_message_destroy(message);
    return NULL;
}

static struct result read_batch(struct source *source, struct source_message *messages, size_t *ret_count,
                                int64_t wait_ms) {
    struct kafka_source *kafka = source->self;
    rd_kafka_message_t *message;
    kafka->count = *ret_count = 0;
    source->trouble[0] = '\0';
    if (kafka->consumer == NULL) TRY(make_consumer(kafka, source));
    for (int ms = (int)wait_ms; kafka->count < SOURCE_BATCH; ms = 0) {
        message = poll_one(kafka, source, ms);
        if (message == NULL) break;
        take(kafka, message, &messages[kafka->count]);
        rd_kafka_message_destroy(message);
    }
    *ret_count = kafka->count;
    if (kafka->is_down) (void)text_copy(source->trouble, sizeof source->trouble, kafka->down_reason);
    kafka->is_down = false;
    if (kafka->count == 0 && source->trouble[0] != '\0') FAIL(UNAVAILABLE, 0);
    return OK;
}

/* -- committing */

/* The offset from which the partition of message i has to be read again: of its first that is not done, or behind its
 * last. */
static int64_t next_offset(const struct kafka_source *kafka, const bool *done, size_t at) {
    int64_t next = -1, undone = -1;
    for (size_t i = 0; i < kafka->count; i++) {
        if (kafka->taken[i].partition != kafka->taken[at].partition ||
            strcmp(kafka->taken[i].topic, kafka->taken[at].topic) != 0)
            continue;
        int64_t offset = kafka->taken[i].offset;
        if (!done[i] && (undone < 0 || offset < undone)) undone = offset;
        if (offset + 1 > next) next = offset + 1;
    }
    return undone >= 0 ? undone : next;
}

static struct result ack(struct source *source, const bool *done) {
    struct kafka_source *kafka = source->self;
    if (kafka->count == 0) return OK;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)kafka->count);
    for (size_t i = 0; i < kafka->count; i++) {
        const char *topic = kafka->taken[i].topic;
        int32_t partition = kafka->taken[i].partition;
        if (rd_kafka_topic_partition_list_find(list, topic, partition) != NULL) continue;
        rd_kafka_topic_partition_list_add(list, topic, partition)->offset = next_offset(kafka, done, i);
    }
    rd_kafka_resp_err_t error = rd_kafka_commit(kafka->consumer, list, 0);
    rd_kafka_topic_partition_list_destroy(list);
    kafka->count = 0;
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return OK;
    (void)text_copy(source->trouble, sizeof source->trouble, rd_kafka_err2str(error));
    FAIL(UNAVAILABLE, 0);
}

static void free_source(struct source *source) {
    struct kafka_source *kafka = source->self;
    if (kafka->consumer != NULL) {
        (void)rd_kafka_consumer_close(kafka->consumer);
        rd_kafka_destroy(kafka->consumer);
    }
    free(kafka);
}

RESULT source_kafka_new(const struct config *config, struct source *ret) {
    *ret = (struct source){.name = "kafka", .read = read_batch, .ack = ack, .free = free_source};
    struct kafka_source *kafka = mem_new(sizeof *kafka);
    kafka->config = config;
    kafka->topic_count = source_topics(config, PREFIX, kafka->topics);
    if (kafka->topic_count > 0)
        ret->self = kafka;
    else
        free(kafka);
    return OK;
}

RESULT source_kafka_check(const struct config *config, char *error_text, size_t error_size) {
    char topics[SOURCE_TOPICS_MAX][DEAD_LETTER_TOPIC_MAX + 1];
    rd_kafka_conf_t *conf;
    if (source_topics(config, PREFIX, topics) == 0) return OK;
    TRY(kafka_conf_new(config, &conf, error_text, error_size));
    rd_kafka_conf_destroy(conf);
    return OK;
}
