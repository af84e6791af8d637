#include "unit.h"

#include "codec/event_envelope.h"

static void document_envelope__when_written__then_members_in_order_and_payload_as_it_is(void **state) {
    AUTO_TEXT out = text_new(0);
    struct envelope envelope = {.event_id = "0190",
                                .event_type = "order.created",
                                .aggregate_id = "o\"1",
                                .timestamp_ms = 1000,
                                .aggregate_version = 3,
                                .payload = "{\"a\":1}",
                                .payload_len = 7};
    document_envelope(&out, &envelope);
    assert_string_equal(
        text_str(&out),
        "{\"eventId\":\"0190\",\"eventType\":\"order.created\",\"timestamp\":\"1970-01-01T00:00:01.000Z\","
        "\"schemaVersion\":1,\"source\":\"lockstock\",\"aggregateId\":\"o\\\"1\",\"aggregateVersion\":3,"
        "\"payload\":{\"a\":1}}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document_envelope__when_written__then_members_in_order_and_payload_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
