/* kafka_tail BROKERS TOPIC…: everything in these topics from their beginning, and what comes, one line each until it is
   ended: topic TAB partition TAB offset TAB key TAB headers (name=value, comma-separated) TAB value. */
#include <librdkafka/rdkafka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { POLL_MS = 100, ASK_MS = 500, TOPICS_MAX = 32 };

static void print_headers(const rd_kafka_message_t *message) {
    rd_kafka_headers_t *headers;
    const char *name;
    const void *value;
    size_t len;
    if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
    for (size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &len) == RD_KAFKA_RESP_ERR_NO_ERROR; i++)
        printf("%s%s=%.*s", i > 0 ? "," : "", name, (int)len, (const char *)value);
}

static void print_message(const rd_kafka_message_t *message) {
    printf("%s\t%d\t%lld\t%.*s\t", rd_kafka_topic_name(message->rkt), message->partition, (long long)message->offset,
           (int)message->key_len, (const char *)message->key);
    print_headers(message);
    printf("\t%.*s\n", (int)message->len, (const char *)message->payload);
    (void)fflush(stdout);
}

static rd_kafka_t *consumer(const char *brokers) {
    static const char *const properties[][2] = {{"log_level", "0"},
                                                {"auto.offset.reset", "earliest"},
                                                {"enable.auto.commit", "false"},
                                                {"allow.auto.create.topics", "true"},
                                                {"reconnect.backoff.max.ms", "500"},
                                                {"topic.metadata.refresh.interval.ms", "500"}};
    char reason[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (rd_kafka_conf_set(conf, "bootstrap.servers", brokers, reason, sizeof reason) != RD_KAFKA_CONF_OK) exit(2);
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++)
        if (rd_kafka_conf_set(conf, properties[i][0], properties[i][1], reason, sizeof reason) != RD_KAFKA_CONF_OK)
            exit(2);
    return rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof reason);
}

/* Begins with the partitions of a topic once the brokers have it; the question makes them create it. No group: what a
   test sees must not wait for a rebalance. */
static bool begin(rd_kafka_t *kafka, rd_kafka_topic_t *topic, rd_kafka_queue_t *queue) {
    const struct rd_kafka_metadata *metadata;
    if (rd_kafka_metadata(kafka, 0, topic, &metadata, ASK_MS) != RD_KAFKA_RESP_ERR_NO_ERROR) return false;
    int partitions = metadata->topic_cnt == 1 && metadata->topics[0].err == RD_KAFKA_RESP_ERR_NO_ERROR
                         ? metadata->topics[0].partition_cnt
                         : 0;
    rd_kafka_metadata_destroy(metadata);
    for (int i = 0; i < partitions; i++) (void)rd_kafka_consume_start_queue(topic, i, RD_KAFKA_OFFSET_BEGINNING, queue);
    return partitions > 0;
}

int main(int argc, char **argv) {
    rd_kafka_topic_t *topics[TOPICS_MAX];
    bool begun[TOPICS_MAX] = {false};
    int count = argc - 2;
    if (count < 1 || count > TOPICS_MAX) return 2;
    rd_kafka_t *kafka = consumer(argv[1]);
    if (kafka == NULL) return 1;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(kafka);
    for (int i = 0; i < count; i++) topics[i] = rd_kafka_topic_new(kafka, argv[i + 2], NULL);
    for (;;) {
        for (int i = 0; i < count; i++) begun[i] = begun[i] || begin(kafka, topics[i], queue);
        rd_kafka_message_t *message = rd_kafka_consume_queue(queue, POLL_MS);
        if (message == NULL) continue;
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) print_message(message);
        rd_kafka_message_destroy(message);
    }
}
