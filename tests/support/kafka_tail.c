/* kafka_tail BROKERS TOPIC…: everything in these topics from their beginning, and what comes, one line each until it is
   ended: topic TAB partition TAB offset TAB key TAB headers (name=value, comma-separated) TAB value. */
#include <librdkafka/rdkafka.h>

#include <stdio.h>
#include <stdlib.h>

enum { POLL_MS = 100 };

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
    static const char *const properties[][2] = {{"group.id", "tail"},
                                                {"log_level", "0"},
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

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    rd_kafka_t *kafka = consumer(argv[1]);
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(argc);
    for (int i = 2; i < argc; i++) (void)rd_kafka_topic_partition_list_add(topics, argv[i], RD_KAFKA_PARTITION_UA);
    if (kafka == NULL || rd_kafka_subscribe(kafka, topics) != RD_KAFKA_RESP_ERR_NO_ERROR) return 1;
    for (;;) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(kafka, POLL_MS);
        if (message == NULL) continue;
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) print_message(message);
        rd_kafka_message_destroy(message);
    }
}
