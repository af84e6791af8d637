#include "unit.h"

#include "base/text.h"
#include "events/keys.h"

static void keys_add__when_many__then_each_keeps_its_number(void **state) {
    struct keys keys = {0};
    char text[16];
    for (int i = 0; i < 1000; i++) {
        (void)text_format(text, sizeof text, "k-%d", i);
        *keys_add(&keys, text) = i;
    }
    assert_int_equal(keys.count, 1000);
    for (int i = 0; i < 1000; i++) {
        (void)text_format(text, sizeof text, "k-%d", i);
        assert_int_equal(*keys_find(&keys, text), i);
    }
    assert_null(keys_find(&keys, "k-1000"));
    keys_done(&keys);
}

static void keys_add__when_there_already__then_the_same_number(void **state) {
    struct keys keys = {0};
    *keys_add(&keys, "a") = 5;
    assert_int_equal((*keys_add(&keys, "a"))++, 5);
    assert_int_equal(*keys_find(&keys, "a"), 6);
    assert_int_equal(keys.count, 1);
    keys_done(&keys);
}

static void keys_find__when_empty_or_cleared__then_nothing(void **state) {
    struct keys keys = {0};
    assert_null(keys_find(&keys, "a"));
    (void)keys_add(&keys, "a");
    keys_clear(&keys);
    assert_null(keys_find(&keys, "a"));
    assert_int_equal(*keys_add(&keys, "a"), 0);
    keys_done(&keys);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_add__when_many__then_each_keeps_its_number),
        cmocka_unit_test(keys_add__when_there_already__then_the_same_number),
        cmocka_unit_test(keys_find__when_empty_or_cleared__then_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
