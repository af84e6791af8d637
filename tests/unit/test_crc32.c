#include "unit.h"

#include "store/crc32.h"

#include <string.h>

static void crc32_of__when_known_texts__then_what_sql_says(void **state) {
    static const struct {
        const char *text;
        uint32_t crc;
    } cases[] = {
        {"", 0},
        {"123456789", 0xCBF43926},
        {"42", 841265288},
        {"The quick brown fox jumps over the lazy dog", 0x414FA339},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(crc32_of(cases[i].text, strlen(cases[i].text)), cases[i].crc);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(crc32_of__when_known_texts__then_what_sql_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
