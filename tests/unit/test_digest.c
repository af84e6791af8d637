#include "codec/digest.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_hex(const unsigned char *digest, const char *expected) {
    char hex[2 * DIGEST_SIZE + 1];
    text_hex(digest, DIGEST_SIZE, hex);
    assert_string_equal(hex, expected);
}

/* The examples of FIPS 180-4. */
static void digest_bytes__when_known_text__then_known_digest(void **state) {
    static const struct {
        const char *data, *hex;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char digest[DIGEST_SIZE];
        digest_bytes(rows[i].data, strlen(rows[i].data), digest);
        assert_hex(digest, rows[i].hex);
    }
}

static void digest_parts__when_split_elsewhere__then_another_digest(void **state) {
    const struct digest_part a_bc[] = {{"a", 1}, {"bc", 2}}, ab_c[] = {{"ab", 2}, {"c", 1}};
    unsigned char one[DIGEST_SIZE], other[DIGEST_SIZE], whole[DIGEST_SIZE];
    digest_parts(a_bc, 2, one);
    digest_parts(ab_c, 2, other);
    assert_memory_not_equal(one, other, DIGEST_SIZE);
    digest_bytes("a\0bc", 4, whole);
    assert_memory_equal(one, whole, DIGEST_SIZE);
}

static void digest_parts__when_parts_are_empty_or_none__then_separators_only(void **state) {
    const struct digest_part empty[] = {{"", 0}, {"", 0}, {NULL, 0}};
    unsigned char digest[DIGEST_SIZE], expected[DIGEST_SIZE];
    digest_parts(empty, 3, digest);
    digest_bytes("\0\0", 2, expected);
    assert_memory_equal(digest, expected, DIGEST_SIZE);
    digest_parts(empty, 0, digest);
    assert_hex(digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digest_bytes__when_known_text__then_known_digest),
        cmocka_unit_test(digest_parts__when_split_elsewhere__then_another_digest),
        cmocka_unit_test(digest_parts__when_parts_are_empty_or_none__then_separators_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
