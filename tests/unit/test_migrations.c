#include "unit.h"

#include "store/migrations.h"

#include <string.h>

static void migration_next__when_comments_and_blank_lines__then_only_statements(void **state) {
    const char *position = "-- a comment;\n\nCREATE TABLE a (\n    x INT -- kept;not an end\n);\n"
                           "INSERT INTO a VALUES ('; in a text');\n-- the end;\n";
    AUTO_TEXT statement = text_new(0);
    assert_true(migration_next(&position, &statement));
    assert_string_equal(text_str(&statement), "CREATE TABLE a (\n    x INT -- kept;not an end\n)");
    assert_true(migration_next(&position, &statement));
    assert_string_equal(text_str(&statement), "INSERT INTO a VALUES ('; in a text')");
    assert_false(migration_next(&position, &statement));
}

static void migration_next__when_last_semicolon_is_missing__then_statement_all_the_same(void **state) {
    const char *position = "SELECT 1";
    AUTO_TEXT statement = text_new(0);
    assert_true(migration_next(&position, &statement));
    assert_string_equal(text_str(&statement), "SELECT 1\n");
    assert_false(migration_next(&position, &statement));
}

static void migrations__when_embedded__then_numbers_ascend_and_none_is_empty(void **state) {
    AUTO_TEXT statement = text_new(0);
    assert_true(migration_count > 0);
    for (size_t i = 0; i < migration_count; i++) {
        const char *position = migrations[i].text;
        assert_true(i == 0 ? migrations[i].version == 1 : migrations[i].version > migrations[i - 1].version);
        assert_int_equal(strncmp(migrations[i].name, "V0", 2), 0);
        assert_true(migration_next(&position, &statement));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(migration_next__when_comments_and_blank_lines__then_only_statements),
        cmocka_unit_test(migration_next__when_last_semicolon_is_missing__then_statement_all_the_same),
        cmocka_unit_test(migrations__when_embedded__then_numbers_ascend_and_none_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
