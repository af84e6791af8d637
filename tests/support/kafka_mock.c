/* A Kafka cluster that fits in a test: librdkafka's mock, one broker. Prints its address, then does what stdin says:
   "down", "up", "end"; answers each with a line. */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <stdio.h>
#include <string.h>

enum { LINE_SIZE = 64, BROKER = 1 };

static int serve(rd_kafka_mock_cluster_t *cluster) {
    char line[LINE_SIZE];
    printf("%s\n", rd_kafka_mock_cluster_bootstraps(cluster));
    (void)fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strcmp(line, "end\n") == 0) break;
        rd_kafka_resp_err_t error = strcmp(line, "down\n") == 0 ? rd_kafka_mock_broker_set_down(cluster, BROKER)
                                                                : rd_kafka_mock_broker_set_up(cluster, BROKER);
        printf("%s\n", rd_kafka_err2str(error));
        (void)fflush(stdout);
    }
    return 0;
}

int main(void) {
    char reason[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (rd_kafka_conf_set(conf, "log_level", "0", reason, sizeof reason) != RD_KAFKA_CONF_OK) return 2;
    rd_kafka_t *kafka = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
    rd_kafka_mock_cluster_t *cluster = kafka != NULL ? rd_kafka_mock_cluster_new(kafka, 1) : NULL;
    if (cluster == NULL) return 1;
    int status = serve(cluster);
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(kafka);
    return status;
}
