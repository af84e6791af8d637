/* Replies of every type, read by every accessor. */
#include "redis/redis.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>

/* The reply that these bytes make; freeReplyObject ends it. */
static struct redis_value *reply(const char *bytes) {
    redisReader *reader = redisReaderCreate();
    void *made = NULL;
    assert_int_equal(redisReaderFeed(reader, bytes, strlen(bytes)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &made), REDIS_OK);
    assert_non_null(made);
    redisReaderFree(reader);
    return made;
}

static void value__when_of_each_type__then_read_as_that(void **state) {
    static const struct {
        const char *bytes;
        enum redis_type type;
        int64_t number;
        const char *text;
        size_t count;
    } cases[] = {
        {":42\r\n", REDIS_INT, 42, "", 0},
        {":-7\r\n", REDIS_INT, -7, "", 0},
        {"$2\r\n17\r\n", REDIS_STR, 17, "17", 0},
        {"$3\r\nabc\r\n", REDIS_STR, 0, "abc", 0},
        {"+OK\r\n", REDIS_STR, 0, "OK", 0},
        {"-ERR no\r\n", REDIS_ERROR, 0, "ERR no", 0},
        {"-12\r\n", REDIS_ERROR, 0, "12", 0},
        {"$-1\r\n", REDIS_NIL, 0, "", 0},
        {"*-1\r\n", REDIS_NIL, 0, "", 0},
        {"*0\r\n", REDIS_ARRAY, 0, "", 0},
        {"*2\r\n:1\r\n:2\r\n", REDIS_ARRAY, 0, "", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct redis_value *value = reply(cases[i].bytes);
        size_t len = 99;
        assert_int_equal(redis_type_of(value), cases[i].type);
        assert_int_equal(redis_int(value), cases[i].number);
        assert_string_equal(redis_str(value, &len), cases[i].text);
        assert_int_equal(len, strlen(cases[i].text));
        assert_int_equal(redis_len(value), cases[i].count);
        freeReplyObject(value);
    }
}

static void redis_at__when_inside_and_outside__then_element_or_null(void **state) {
    struct redis_value *value = reply("*2\r\n:5\r\n*1\r\n$1\r\nx\r\n");
    assert_int_equal(redis_int(redis_at(value, 0)), 5);
    assert_string_equal(redis_str(redis_at(redis_at(value, 1), 0), NULL), "x");
    assert_null(redis_at(value, 2));
    assert_null(redis_at(redis_at(value, 0), 0));
    freeReplyObject(value);
}

static void value__when_null__then_empty(void **state) {
    size_t len = 99;
    assert_int_equal(redis_type_of(NULL), REDIS_NIL);
    assert_int_equal(redis_int(NULL), 0);
    assert_string_equal(redis_str(NULL, &len), "");
    assert_int_equal(len, 0);
    assert_int_equal(redis_len(NULL), 0);
    assert_null(redis_at(NULL, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value__when_of_each_type__then_read_as_that),
        cmocka_unit_test(redis_at__when_inside_and_outside__then_element_or_null),
        cmocka_unit_test(value__when_null__then_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
