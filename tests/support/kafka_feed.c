/* kafka_feed BROKERS : writes lines of stdin, "topic<tab>key<tab>traceparent or nothing<tab>value", to Kafka, in their
   order. Answers each line with "ok" or why not, when the cluster has it. */
#include <librdkafka/rdkafka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REASON_SIZE = 512, WAIT_MS = 10000 };

static const char *reported;

static void on_report(rd_kafka_t *kafka, const rd_kafka_message_t *message, void *opaque) {
    (void)kafka, (void)opaque;
    reported = message->err == RD_KAFKA_RESP_ERR_NO_ERROR ? "ok" : rd_kafka_err2str(message->err);
}

static rd_kafka_t *connect_to(const char *brokers) {
    char reason[REASON_SIZE];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (rd_kafka_conf_set(conf, "bootstrap.servers", brokers, reason, sizeof reason) != RD_KAFKA_CONF_OK ||
        rd_kafka_conf_set(conf, "log_level", "0", reason, sizeof reason) != RD_KAFKA_CONF_OK ||
        rd_kafka_conf_set(conf, "linger.ms", "0", reason, sizeof reason) != RD_KAFKA_CONF_OK)
        exit(2);
    rd_kafka_conf_set_dr_msg_cb(conf, on_report);
    rd_kafka_t *kafka = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
    if (kafka == NULL) exit(1);
    return kafka;
}

static const char *feed(rd_kafka_t *kafka, char *line) {
    char *topic = strsep(&line, "\t"), *key = strsep(&line, "\t"), *trace = strsep(&line, "\t");
    if (line == NULL) return "not four fields";
    rd_kafka_headers_t *headers = rd_kafka_headers_new(1);
    if (trace[0] != '\0') (void)rd_kafka_header_add(headers, "traceparent", -1, trace, -1);
    reported = NULL;
    rd_kafka_resp_err_t error = rd_kafka_producev(
        kafka, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_KEY(key, strlen(key)), RD_KAFKA_V_VALUE(line, strlen(line)),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return rd_kafka_err2str(error);
    while (reported == NULL && rd_kafka_poll(kafka, WAIT_MS) > 0) {
    }
    return reported != NULL ? reported : "no report";
}

int main(int argc, char **argv) {
    char *line = NULL;
    size_t size = 0;
    if (argc != 2) return 2;
    rd_kafka_t *kafka = connect_to(argv[1]);
    for (ssize_t len; (len = getline(&line, &size, stdin)) > 0;) {
        line[len - 1] = '\0';
        puts(feed(kafka, line));
        (void)fflush(stdout);
    }
    free(line);
    rd_kafka_destroy(kafka);
    return 0;
}
