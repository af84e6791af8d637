/* Standard Webhooks 1.0.0: signed anew at each attempt, since receivers refuse what was signed five minutes ago. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "codec/signature.h"
#include "events/deliverer_internal.h"
#include "metrics/metrics.h"

#include <string.h>

#define CONNECT_MS_MAX 5000
#define ANSWER_MAX 4096 /* nobody reads it; more is not waited for */

/* The label of lockstock_webhook_attempts_total. */
enum outcome { OUTCOME_DELIVERED, OUTCOME_AGAIN, OUTCOME_FAILED, OUTCOME_GONE, OUTCOME_BROKEN_OFF };

struct message {
    char id[80], timestamp[48], signature[32 + SIGNATURE_SIZE], traceparent[96];
    const char *headers[5];
    size_t count;
};

/* False: the secret in the row is none. */
static bool write_message(const struct attempt_terms *terms, struct message *ret) {
    const struct delivery_claim *claim = terms->claim;
    struct signed_message message = {claim->delivery.event_id, clock_wall_ms() / 1000, claim->body, claim->body_len};
    char signature[SIGNATURE_SIZE];
    if (fault_on(FAULT_STALE_SIGNATURE)) message.sent_at_s = claim->delivery.created_at_ms / 1000;
    if (!signature_make(terms->webhook->secret, &message, signature)) return false;
    (void)text_format(ret->id, sizeof ret->id, "webhook-id: %s", message.id);
    (void)text_format(ret->timestamp, sizeof ret->timestamp, "webhook-timestamp: %lld", (long long)message.sent_at_s);
    (void)text_format(ret->signature, sizeof ret->signature, "webhook-signature: %s", signature);
    (void)text_format(ret->traceparent, sizeof ret->traceparent, "traceparent: %s", claim->traceparent);
    ret->headers[0] = "Content-Type: application/json";
    ret->headers[1] = ret->id;
    ret->headers[2] = ret->timestamp;
    ret->headers[3] = ret->signature;
    ret->headers[4] = ret->traceparent;
    ret->count = claim->traceparent[0] != '\0' ? 5 : 4;
    return true;
}

static void judge(const struct attempt_terms *terms, const struct client_answer *answer, struct attempt_report *ret) {
    int attempt = (int)terms->claim->delivery.attempts + 1;
    enum webhook_verdict verdict = webhook_judge(answer->status);
    int64_t retry_in_ms = webhook_retry_in_ms(attempt, answer->retry_after_ms, (uint32_t)clock_mono_us());
    if (answer->status > 0)
        (void)text_format(ret->error, sizeof ret->error, "HTTP %d", answer->status);
    else
        (void)text_copy(ret->error, sizeof ret->error, answer->trouble);
    ret->known = true;
    ret->well = verdict != WEBHOOK_NOT_NOW;
    ret->is_gone = verdict == WEBHOOK_GONE;
    ret->end = (struct delivery_end){.status = answer->status, .error = ret->error, .retry_in_ms = retry_in_ms};
    ret->end.fate = verdict == WEBHOOK_TAKEN                     ? DELIVERY_DONE
                    : verdict == WEBHOOK_GONE || retry_in_ms < 0 ? DELIVERY_FAILED
                                                                 : DELIVERY_AGAIN;
    if (ret->end.fate == DELIVERY_DONE) ret->end.error = "";
}

static void tell(const struct attempt_terms *terms, const struct attempt_report *report) {
    static const enum outcome outcomes[] = {[DELIVERY_DONE] = OUTCOME_DELIVERED,
                                            [DELIVERY_AGAIN] = OUTCOME_AGAIN,
                                            [DELIVERY_FAILED] = OUTCOME_FAILED,
                                            [DELIVERY_BACK] = OUTCOME_BROKEN_OFF};
    enum outcome outcome = report->is_gone ? OUTCOME_GONE : outcomes[report->end.fate];
    metric_add(METRIC_WEBHOOK_ATTEMPTS, outcome, 1);
    if (outcome == OUTCOME_DELIVERED || outcome == OUTCOME_BROKEN_OFF) return;
    const char *event = outcome == OUTCOME_AGAIN ? "webhook.again"
                        : report->is_gone        ? "webhook.gone"
                                                 : "webhook.failed";
    LOG(outcome == OUTCOME_AGAIN ? LOG_INFO : LOG_WARN, event, LOGS("webhook", terms->webhook->id),
        LOGI("delivery", terms->claim->delivery.id), LOGS("eventId", terms->claim->delivery.event_id),
        LOGI("attempt", terms->claim->delivery.attempts + 1), LOGS("detail", report->error));
}

static void send_message(struct client *client, const struct attempt_terms *terms, const struct message *message,
                         struct attempt_report *ret) {
    struct client_request request = {.method = "POST",
                                     .url = terms->webhook->url,
                                     .headers = message->headers,
                                     .header_count = message->count,
                                     .body = terms->claim->body,
                                     .body_len = terms->claim->body_len,
                                     .connect_ms = CONNECT_MS_MAX,
                                     .total_ms = terms->timeout_ms,
                                     .answer_max = ANSWER_MAX,
                                     .wake_fd = terms->stop_fd};
    struct client_answer answer;
    int64_t began_us = clock_mono_us();
    client_send(client, &request, &answer);
    metric_observe(METRIC_WEBHOOK_SECONDS, 0, clock_mono_us() - began_us);
    if (answer.end != CLIENT_BROKEN_OFF) judge(terms, &answer, ret);
    client_answer_done(&answer);
}

void attempt_make(struct client *client, const struct attempt_terms *terms, struct attempt_report *ret) {
    struct message message;
    *ret = (struct attempt_report){.end = {.fate = DELIVERY_BACK, .error = ""}};
    if (write_message(terms, &message)) {
        send_message(client, terms, &message, ret);
    } else {
        (void)text_copy(ret->error, sizeof ret->error, "its secret cannot sign");
        ret->end = (struct delivery_end){.fate = DELIVERY_FAILED, .error = ret->error};
        ret->known = true;
    }
    tell(terms, ret);
}
