#include "unit.h"

#include "redis/call.h"

static void call__when_filled__then_words_in_order(void **state) {
    AUTO_CALL call = call_new(SCRIPT_LOCK_RENEW);
    for (int i = 0; i < 65; i++) call_add_key(&call, i == 64 ? "last" : "key");
    call_add_str(&call, "");
    call_add_str(&call, "word");
    call_add_i64(&call, INT64_C(-9007199254740991));
    assert_int_equal(call.script, SCRIPT_LOCK_RENEW);
    assert_int_equal(call.key_count, 65);
    assert_string_equal(text_str(&call.keys[64]), "last");
    assert_string_equal(text_str(&call.keys[0]), "key");
    assert_int_equal(call.arg_count, 3);
    assert_string_equal(text_str(&call.args[0]), "");
    assert_string_equal(text_str(&call.args[1]), "word");
    assert_string_equal(text_str(&call.args[2]), "-9007199254740991");
    call_done(&call);
    assert_int_equal(call.key_count + call.arg_count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(call__when_filled__then_words_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
