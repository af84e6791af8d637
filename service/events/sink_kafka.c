/* Kafka: topic = event type, key = aggregate id, value = the envelope; headers eventId, source and, when there is one,
   traceparent. Idempotent producer, acks=all.

   Invariants
   1. An event is SENT only when its delivery report says so.
   2. A call ends with no message on its way. What was not reported in time is purged, and may have arrived all the
      same: it is AWAY, and sent again.
   3. Order (in_order of sink.h). Events of one aggregate and type go into one partition, whose order the producer keeps
      while it lives: no message times out by itself, and a gap ends the producer (enable.gapless.guarantee). After a
      call in which anything went wrong a new one is made. What follows a refused event is not given to it. */
#include "base/clock.h"
#include "base/memory.h"
#include "codec/event_envelope.h"
#include "events/kafka.h"
#include "events/keys.h"
#include "events/sinks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_MS 3000           /* of all reports of a call */
#define MESSAGE_TIMEOUT "300000" /* never by itself: we purge long before */
#define PURGE_MS 500             /* purged messages are reported at once */
#define HEADERS 3

static_assert(REPORT_MS + PURGE_MS <= SINK_SEND_MS_MAX, "a call ends in time");

struct kafka_sink {
    rd_kafka_conf_t *conf; /* of the next producer */
    rd_kafka_t *producer;  /* NULL = to be made */
    size_t pending;        /* reports to come */
    bool broken;           /* something of this call was not acknowledged */
    struct keys refused;   /* aggregate ids of events that were not given to the producer */
    char reason[SINK_REASON_SIZE];
};

/* Of this message, not of the cluster: sending it again will not help. */
static bool is_refusal(rd_kafka_resp_err_t error) {
    switch (error) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
        return true;
    default:
        return false;
    }
}

static void note(struct sink_event *event, rd_kafka_resp_err_t error) {
    event->outcome = error == RD_KAFKA_RESP_ERR_NO_ERROR ? SINK_SENT : is_refusal(error) ? SINK_REFUSED : SINK_AWAY;
    if (event->outcome != SINK_SENT) (void)text_copy(event->reason, sizeof event->reason, rd_kafka_err2str(error));
}

static void on_report(rd_kafka_t *producer, const rd_kafka_message_t *message, void *opaque) {
    struct kafka_sink *sink = opaque;
    note(message->_private, message->err);
    sink->pending--;
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) sink->broken = true;
}

/* What the client says of its brokers is a better reason than "timed out". */
static void on_error(rd_kafka_t *producer, int error, const char *reason, void *opaque) {
    struct kafka_sink *sink = opaque;
    (void)text_copy(sink->reason, sizeof sink->reason, reason);
}

static void produce(struct kafka_sink *sink, struct sink_event *event) {
    if (keys_find(&sink->refused, event->aggregate_id) != NULL) return;
    bool traced = event->traceparent[0] != '\0';
    rd_kafka_headers_t *headers = rd_kafka_headers_new(HEADERS);
    (void)rd_kafka_header_add(headers, "eventId", -1, event->event_id, -1);
    (void)rd_kafka_header_add(headers, "source", -1, EVENT_SOURCE, -1);
    if (traced) (void)rd_kafka_header_add(headers, "traceparent", -1, event->traceparent, -1);
    rd_kafka_resp_err_t error = rd_kafka_producev(
        sink->producer, RD_KAFKA_V_TOPIC(event->type), RD_KAFKA_V_KEY(event->aggregate_id, strlen(event->aggregate_id)),
        RD_KAFKA_V_VALUE((void *)event->body, event->body_len), RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(event),
        RD_KAFKA_V_END);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
        sink->pending++;
        return;
    }
    rd_kafka_headers_destroy(headers); /* not taken over */
    note(event, error);
    (void)keys_add(&sink->refused, event->aggregate_id);
}

static void await_reports(struct kafka_sink *sink, int64_t patience_ms) {
    int64_t until_ms = clock_mono_ms() + patience_ms;
    for (int64_t left = patience_ms; sink->pending > 0 && left > 0; left = until_ms - clock_mono_ms())
        (void)rd_kafka_poll(sink->producer, (int)left);
}

static void explain(const struct kafka_sink *sink, struct sink_event *const *events, size_t count) {
    if (sink->reason[0] == '\0') return;
    for (size_t i = 0; i < count; i++)
        if (events[i]->outcome == SINK_AWAY) (void)text_copy(events[i]->reason, sizeof events[i]->reason, sink->reason);
}

/* What is still pending would be reported into the next call. */
static void drop_if_broken(struct kafka_sink *sink) {
    if (!sink->broken && sink->pending == 0) return;
    rd_kafka_destroy(sink->producer);
    sink->producer = NULL;
    sink->pending = 0;
}

static bool make_producer(struct kafka_sink *sink) {
    if (sink->producer != NULL) return true;
    rd_kafka_conf_t *conf = rd_kafka_conf_dup(sink->conf);
    sink->producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, sink->reason, sizeof sink->reason);
    if (sink->producer == NULL) rd_kafka_conf_destroy(conf);
    return sink->producer != NULL;
}

static void send_events(void *self, struct db *db, struct sink_event *const *events, size_t count) {
    struct kafka_sink *sink = self;
    sink->reason[0] = '\0';
    sink->broken = false;
    keys_clear(&sink->refused);
    for (size_t i = 0; i < count; i++) events[i]->outcome = SINK_AWAY;
    if (make_producer(sink)) {
        for (size_t i = 0; i < count; i++) produce(sink, events[i]);
        await_reports(sink, REPORT_MS);
        if (sink->pending > 0) {
            (void)rd_kafka_purge(sink->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
            await_reports(sink, PURGE_MS);
        }
        drop_if_broken(sink);
    }
    explain(sink, events, count);
}

static void free_sink(void *self) {
    struct kafka_sink *sink = self;
    if (sink->producer != NULL) rd_kafka_destroy(sink->producer);
    rd_kafka_conf_destroy(sink->conf);
    keys_done(&sink->refused);
    free(sink);
}

RESULT sink_kafka_new(const struct config *config, struct sink *ret) {
    char reason[SINK_REASON_SIZE];
    rd_kafka_conf_t *conf;
    TRY(kafka_conf_new(config, &conf, reason, sizeof reason));
    struct kafka_sink *sink = mem_new(sizeof *sink);
    kafka_conf_set(conf, "enable.idempotence", "true");
    kafka_conf_set(conf, "acks", "all");
    kafka_conf_set(conf, "enable.gapless.guarantee", "true");
    kafka_conf_set(conf, "message.timeout.ms", MESSAGE_TIMEOUT);
    rd_kafka_conf_set_dr_msg_cb(conf, on_report);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_opaque(conf, sink);
    sink->conf = conf;
    *ret = (struct sink){.in_order = true, .self = sink, .send = send_events, .free = free_sink};
    return OK;
}
