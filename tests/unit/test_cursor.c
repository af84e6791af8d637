#include "codec/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void cursor__when_written_and_read__then_the_same_id(void **state) {
    static const int64_t ids[] = {0, 1, 42, 255, 256, 65536, INT64_C(9007199254740991), INT64_MAX, -1, INT64_MIN};
    static const char kinds[] = {'o', 'p', 'Z', '\x01', '\xff'};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        for (size_t j = 0; j < sizeof kinds; j++) {
            char cursor[CURSOR_SIZE];
            int64_t id = 7;
            cursor_write(kinds[j], ids[i], cursor);
            assert_true(cursor_read(kinds[j], cursor, &id));
            assert_int_equal(id, ids[i]);
        }
    }
}

static void cursor_write__when_called__then_url_safe_and_known(void **state) {
    char cursor[CURSOR_SIZE];
    cursor_write('o', 42, cursor);
    assert_string_equal(cursor, "bwAAAAAAAAAq");
    cursor_write('o', -1, cursor);
    assert_string_equal(cursor, "b___________");
    cursor_write('\xfb', INT64_C(-288230376151711744), cursor); /* 0xfc00… */
    assert_string_equal(cursor, "-_wAAAAAAAAA");
}

static void cursor_read__when_not_ours__then_refused(void **state) {
    static const char *const cursors[] = {
        "",
        "b",
        "bwAAAAAAAAA",
        "bwAAAAAAAAAqA",
        "bwAAAAAAAAAq=",
        "bwAAAAAAAAA=",
        "bwAAAAAAAA*q",
        "bwAAAAAAAA q",
        "bwAAAAAA+A/q",
        "cAAAAAAAAAAq",
        "AAAAAAAAAAAA",
        "bwAAAAAAAA\xc3\xbc",
    };
    for (size_t i = 0; i < sizeof cursors / sizeof *cursors; i++) {
        int64_t id = 7;
        assert_false(cursor_read('o', cursors[i], &id));
        assert_int_equal(id, 7);
    }
    int64_t id = 7;
    assert_false(cursor_read('o', NULL, &id));
    assert_false(cursor_read('p', "bwAAAAAAAAAq", &id));
    assert_true(cursor_read('o', "bwAAAAAAAAAq", &id));
}

static void cursor_read_name__when_written__then_the_same_and_else_refused(void **state) {
    char cursor[CURSOR_NAME_SIZE], name[CURSOR_NAME_MAX + 1], longest[CURSOR_NAME_MAX + 1];
    memset(longest, 'n', CURSOR_NAME_MAX);
    longest[CURSOR_NAME_MAX] = '\0';
    const char *const names[] = {"a", "a/b", "k\xc3\xa4se", longest};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cursor_write_name('l', names[i], cursor);
        assert_true(cursor_read_name('l', cursor, name));
        assert_string_equal(name, names[i]);
        assert_false(cursor_read_name('m', cursor, name));
    }
    static const char *const bad[] = {"", "6", "6c", "6c6", "6cxx", "6c00", "6c6100", "6d61"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_false(cursor_read_name('l', bad[i], name));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cursor__when_written_and_read__then_the_same_id),
        cmocka_unit_test(cursor_write__when_called__then_url_safe_and_known),
        cmocka_unit_test(cursor_read__when_not_ours__then_refused),
        cmocka_unit_test(cursor_read_name__when_written__then_the_same_and_else_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
