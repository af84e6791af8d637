#include "unit.h"

#include "redis/call.h"

#include <string.h>

static void call__when_filled__then_words_in_order(void **state) {
    AUTO_CALL call = call_new(SCRIPT_LOCK_RENEW);
    for (int i = 0; i < 65; i++) call_add_key(&call, i == 64 ? "last" : "key");
    call_add_str(&call, "");
    call_add_str(&call, "word");
    call_add_i64(&call, INT64_C(-9007199254740991));
    assert_int_equal(call.words.script, SCRIPT_LOCK_RENEW);
    assert_int_equal(call.words.key_count, 65);
    assert_int_equal(call.words.arg_count, 3);
    const char *text = text_str(&call.words.words);
    assert_int_equal(strncmp(text, "$3\r\nkey\r\n$3\r\nkey\r\n", 18), 0);
    assert_string_equal(strstr(text, "$4\r\nlast"),
                        "$4\r\nlast\r\n$0\r\n\r\n$4\r\nword\r\n$17\r\n-9007199254740991\r\n");
    call_done(&call);
    assert_int_equal(call.words.key_count + call.words.arg_count + call.words.words.len, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(call__when_filled__then_words_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
