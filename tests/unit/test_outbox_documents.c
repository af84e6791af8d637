#include "unit.h"

#include "codec/outbox_documents.h"

#include <string.h>

static void document_outbox_event__when_whole__then_payload_and_failures(void **state) {
    AUTO_TEXT out = text_new(0);
    struct outbox_event event = {.event_id = "e",
                                 .event_type = "t",
                                 .aggregate_type = "order",
                                 .aggregate_id = "1",
                                 .status = "FAILED",
                                 .payload = "{}",
                                 .payload_len = 2};
    struct sink_failure failure = {.sink = "kafka", .status = "FAILED", .attempts = 5, .error = "no"};
    document_outbox_event_begin(&out, &event);
    document_outbox_failure(&out, &failure);
    failure.error[0] = '\0';
    document_outbox_failure(&out, &failure);
    document_outbox_event_end(&out);
    assert_string_equal(
        text_str(&out),
        "{\"eventId\":\"e\",\"eventType\":\"t\",\"aggregateType\":\"order\",\"aggregateId\":\"1\","
        "\"aggregateVersion\":0,\"status\":\"FAILED\",\"retryCount\":0,\"createdAt\":null,"
        "\"publishedAt\":null,\"payload\":{},\"failures\":["
        "{\"sink\":\"kafka\",\"status\":\"FAILED\",\"attempts\":5,\"availableAt\":null,\"error\":\"no\"},"
        "{\"sink\":\"kafka\",\"status\":\"FAILED\",\"attempts\":5,\"availableAt\":null,\"error\":null}]}");
}

static void body_outbox_replay__when_not_failed__then_refused(void **state) {
    static const char *const bodies[] = {"", "{}", "{\"status\":\"PENDING\"}", "{\"status\":1}",
                                         "{\"status\":\"FAILED\",\"x\":1}"};
    struct field_errors errors;
    assert_false(failed(body_outbox_replay("{\"status\":\"FAILED\"}", 19, &errors)));
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        assert_int_equal(body_outbox_replay(bodies[i], strlen(bodies[i]), &errors).code, ERROR_INVALID_REQUEST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document_outbox_event__when_whole__then_payload_and_failures),
        cmocka_unit_test(body_outbox_replay__when_not_failed__then_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
