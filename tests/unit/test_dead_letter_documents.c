#include "unit.h"

#include "codec/dead_letter_documents.h"

#include <string.h>

static void document__when_the_payload_is_no_text__then_still_json(void **state) {
    struct dead_letter letter = {.id = 3,
                                 .topic = "t",
                                 .consumer_group = "g",
                                 .position = "p",
                                 .error = "no JSON",
                                 .status = "OPEN",
                                 .payload = "\xff{\"",
                                 .payload_len = 3,
                                 .payload_bytes = 9};
    AUTO_TEXT out = text_new(0);
    document_dead_letter(&out, &letter);
    assert_non_null(strstr(text_str(&out), "\"eventId\":null,\"error\":\"no JSON\",\"status\":\"OPEN\""));
    assert_non_null(strstr(text_str(&out), "\"payloadBytes\":9,\"payload\":\""));
    assert_non_null(strstr(text_str(&out), "{\\\"\"}"));
    assert_null(strchr(text_str(&out), '\xff'));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document__when_the_payload_is_no_text__then_still_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
