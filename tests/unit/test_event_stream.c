#include "unit.h"

#include "codec/event_stream.h"

#include <string.h>

static void event_stream_add__when_with_an_id__then_id_event_and_data_in_a_block(void **state) {
    AUTO_TEXT out = text_new(0);
    event_stream_retry(&out, 1000);
    event_stream_add(&out, "granted", 4294967297, "{\"name\":\"n\"}");
    assert_string_equal(text_str(&out), "retry: 1000\n\nid: 4294967297\nevent: granted\ndata: {\"name\":\"n\"}\n\n");
}

static void event_stream_add__when_no_id_is_known__then_none(void **state) {
    AUTO_TEXT out = text_new(0);
    event_stream_add(&out, "state", 0, "{}");
    assert_string_equal(text_str(&out), "event: state\ndata: {}\n\n");
}

static void event_stream_comment__then_a_block_that_no_client_takes_for_an_event(void **state) {
    assert_int_equal(EVENT_STREAM_COMMENT[0], ':');
    assert_string_equal(strstr(EVENT_STREAM_COMMENT, "\n"), "\n\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(event_stream_add__when_with_an_id__then_id_event_and_data_in_a_block),
        cmocka_unit_test(event_stream_add__when_no_id_is_known__then_none),
        cmocka_unit_test(event_stream_comment__then_a_block_that_no_client_takes_for_an_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
