#include "unit.h"

#include "base/text.h"
#include "events/source.h"

#include <string.h>

static struct config with(const char *topics, const char *group) {
    struct config config = {0};
    (void)text_copy(config.inbox_topics, sizeof config.inbox_topics, topics);
    (void)text_copy(config.inbox_group, sizeof config.inbox_group, group);
    (void)text_copy(config.kafka_brokers, sizeof config.kafka_brokers, "127.0.0.1:1");
    return config;
}

static void topics__when_of_two_kinds__then_each_has_its_own_in_order(void **state) {
    struct config config = with("redis-stream:a,kafka:b,redis-stream:c:d", "g");
    char topics[SOURCE_TOPICS_MAX][DEAD_LETTER_TOPIC_MAX + 1];
    assert_int_equal(source_topics(&config, "redis-stream:", topics), 2);
    assert_string_equal(topics[0], "a");
    assert_string_equal(topics[1], "c:d");
    assert_int_equal(source_topics(&config, "kafka:", topics), 1);
    assert_string_equal(topics[0], "b");
}

static void check__when_it_fits__then_ok(void **state) {
    static const char *const good[] = {"", "redis-stream:a", "kafka:a,kafka:b"};
    char text[200];
    for (size_t i = 0; i < 3; i++) {
        struct config config = with(good[i], "lockstock");
        assert_false(failed(sources_check(&config, text, sizeof text)));
    }
}

static void check__when_it_does_not__then_a_sentence_that_names_the_setting(void **state) {
    static const struct {
        const char *topics, *group, *named;
    } rows[] = {
        {"a", "g", "LOCKSTOCK_INBOX_TOPICS"},
        {"kafka:", "g", "LOCKSTOCK_INBOX_TOPICS"},
        {"redis-stream:a,,", "g", "LOCKSTOCK_INBOX_TOPICS"},
        {"file:a", "g", "LOCKSTOCK_INBOX_TOPICS"},
        {"redis-stream:a", "", "LOCKSTOCK_INBOX_GROUP"},
        {"redis-stream:a", "a b", "LOCKSTOCK_INBOX_GROUP"},
        {"redis-stream:a", "\xc3\xa9", "LOCKSTOCK_INBOX_GROUP"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[300] = "";
        struct config config = with(rows[i].topics, rows[i].group);
        assert_int_equal(sources_check(&config, text, sizeof text).code, ERROR_INVALID_REQUEST);
        assert_non_null(strstr(text, rows[i].named));
    }
    struct config config = with("kafka:a", "g");
    char text[300];
    config.kafka_brokers[0] = '\0';
    assert_true(failed(sources_check(&config, text, sizeof text)));
    assert_non_null(strstr(text, "LOCKSTOCK_KAFKA_BROKERS"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topics__when_of_two_kinds__then_each_has_its_own_in_order),
        cmocka_unit_test(check__when_it_fits__then_ok),
        cmocka_unit_test(check__when_it_does_not__then_a_sentence_that_names_the_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
