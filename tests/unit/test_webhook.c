#include "unit.h"

#include "domain/webhook.h"

#include <stdint.h>

static void judge__when_each_status__then_its_verdict(void **state) {
    static const struct {
        int status;
        enum webhook_verdict verdict;
    } rows[] = {
        {200, WEBHOOK_TAKEN},    {204, WEBHOOK_TAKEN},    {299, WEBHOOK_TAKEN},    {410, WEBHOOK_GONE},
        {0, WEBHOOK_NOT_NOW},    {429, WEBHOOK_NOT_NOW},  {500, WEBHOOK_NOT_NOW},  {502, WEBHOOK_NOT_NOW},
        {503, WEBHOOK_NOT_NOW},  {504, WEBHOOK_NOT_NOW},  {301, WEBHOOK_NOT_THIS}, {302, WEBHOOK_NOT_THIS},
        {400, WEBHOOK_NOT_THIS}, {404, WEBHOOK_NOT_THIS}, {100, WEBHOOK_NOT_THIS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(webhook_judge(rows[i].status), rows[i].verdict);
}

static void retry__when_each_attempt__then_the_schedule_and_then_none(void **state) {
    static const int64_t seconds[] = {5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400};
    for (int i = 0; i < 9; i++) assert_true(webhook_retry_in_ms(i + 1, -1, 0) == seconds[i] * 1000);
    assert_true(webhook_retry_in_ms(10, -1, 0) == -1);
    assert_true(webhook_retry_in_ms(11, -1, 0) == -1);
    assert_true(webhook_retry_in_ms(0, -1, 0) == -1);
}

static void retry__when_diced__then_later_by_a_tenth_at_most(void **state) {
    for (uint32_t dice = 0; dice < 5000; dice += 7) {
        int64_t wait_ms = webhook_retry_in_ms(2, -1, dice);
        assert_true(wait_ms >= 300000 && wait_ms < 330000);
    }
    assert_true(webhook_retry_in_ms(2, -1, 999) > 329000);
}

static void retry__when_the_receiver_names_a_time__then_not_before_it_and_a_day_at_most(void **state) {
    assert_true(webhook_retry_in_ms(1, 60000, 0) == 60000);
    assert_true(webhook_retry_in_ms(3, 60000, 0) == 1800000);
    assert_true(webhook_retry_in_ms(1, INT64_MAX, 0) == INT64_C(86400000));
}

static void pause__when_failures_grow__then_doubles_to_its_limit(void **state) {
    assert_true(webhook_pause_ms(0) == 0);
    assert_true(webhook_pause_ms(1) == 500);
    assert_true(webhook_pause_ms(2) == 1000);
    assert_true(webhook_pause_ms(7) == 32000);
    assert_true(webhook_pause_ms(1000000) == 32000);
}

static void event_types__when_listed__then_named(void **state) {
    assert_int_equal(event_type_count(), 9);
    assert_string_equal(event_type_name(0), "order.created");
}

static void event_types__when_a_set__then_the_same_after_a_round_trip(void **state) {
    char text[EVENT_TYPES_SIZE];
    event_type_set set = 0;
    assert_true(event_types_add(&set, "payment.completed"));
    assert_true(event_types_add(&set, "order.created"));
    assert_false(event_types_add(&set, "order"));
    event_types_write(set, text);
    assert_string_equal(text, "order.created,payment.completed");
    assert_int_equal(event_types_read(text), set);
    assert_true(event_types_have(set, "order.created"));
    assert_false(event_types_have(set, "stock.changed"));
    assert_int_equal(event_types_read("order.created,of.later"), 1);
}

static void event_types__when_none_is_named__then_all(void **state) {
    char text[EVENT_TYPES_SIZE];
    event_type_set every = 0;
    assert_true(event_types_have(0, "stock.changed"));
    assert_true(event_types_have(0, "of.later"));
    event_types_write(0, text);
    assert_string_equal(text, "");
    for (size_t i = 0; i < event_type_count(); i++) assert_true(event_types_add(&every, event_type_name(i)));
    event_types_write(every, text);
    assert_int_equal(event_types_read(text), every);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judge__when_each_status__then_its_verdict),
        cmocka_unit_test(retry__when_each_attempt__then_the_schedule_and_then_none),
        cmocka_unit_test(retry__when_diced__then_later_by_a_tenth_at_most),
        cmocka_unit_test(retry__when_the_receiver_names_a_time__then_not_before_it_and_a_day_at_most),
        cmocka_unit_test(pause__when_failures_grow__then_doubles_to_its_limit),
        cmocka_unit_test(event_types__when_listed__then_named),
        cmocka_unit_test(event_types__when_a_set__then_the_same_after_a_round_trip),
        cmocka_unit_test(event_types__when_none_is_named__then_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
