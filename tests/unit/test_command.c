/* The bytes of a command. */
#include "redis/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void command__when_words_are_added__then_each_has_its_length(void **state) {
    AUTO_TEXT out = text_new(0);
    command_begin(&out, 4);
    command_add_str(&out, "SET");
    command_add(&out, "a\r\nb", 4);
    command_add_str(&out, "");
    command_add_i64(&out, -120);
    assert_string_equal(text_str(&out), "*4\r\n$3\r\nSET\r\n$4\r\na\r\nb\r\n$0\r\n\r\n$4\r\n-120\r\n");
}

static void command__when_a_word_has_a_nul__then_it_is_kept(void **state) {
    AUTO_TEXT out = text_new(0);
    command_begin(&out, 1);
    command_add(&out, "a\0b", 3);
    assert_int_equal(out.len, 4 + 4 + 3 + 2);
    assert_memory_equal(out.data, "*1\r\n$3\r\na\0b\r\n", out.len);
}

static void command_add_i64__when_extreme__then_exact(void **state) {
    AUTO_TEXT out = text_new(0);
    command_add_i64(&out, INT64_MIN);
    command_add_i64(&out, INT64_MAX);
    assert_string_equal(text_str(&out), "$20\r\n-9223372036854775808\r\n$19\r\n9223372036854775807\r\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(command__when_words_are_added__then_each_has_its_length),
        cmocka_unit_test(command__when_a_word_has_a_nul__then_it_is_kept),
        cmocka_unit_test(command_add_i64__when_extreme__then_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
