/* A batch of events: what may be tried when, what counts, what is given up. */
#include "unit.h"

#include "base/memory.h"
#include "inbox/intake.h"

#include <stdlib.h>
#include <string.h>

static void add(struct intake *intake, const char *body) {
    struct intake_item *item = &intake->items[intake->count++];
    item->message.body = mem_copy(body, strlen(body));
    item->message.body_len = strlen(body);
}

#define CANCELLED(order) "{\"eventId\":\"e\",\"eventType\":\"order.cancelled\",\"payload\":{\"orderId\":\"" order "\"}}"

static struct intake *open_three(const char *one, const char *two, const char *three) {
    struct intake *intake = mem_new(sizeof *intake);
    add(intake, one);
    add(intake, two);
    add(intake, three);
    intake_open(intake);
    return intake;
}

static void close_it(struct intake *intake) {
    intake_close(intake);
    free(intake);
}

static void open__when_readable_own_or_not__then_waiting_done_or_dead(void **state) {
    struct intake *intake = open_three(
        CANCELLED("a"), "{\"eventId\":\"o\",\"eventType\":\"stock.changed\",\"source\":\"lockstock\",\"payload\":{}}",
        "{\"eventId\":\"p\",\"eventType\":\"order.cancelled\",\"payload\":{}}");
    assert_int_equal(intake->items[0].state, INTAKE_WAITING);
    assert_int_equal(intake->items[1].state, INTAKE_DONE);
    assert_int_equal(intake->items[2].state, INTAKE_DEAD);
    assert_string_equal(intake->items[2].error, "/payload/orderId is required");
    assert_string_equal(intake->items[2].event.event_id, "p");
    assert_false(intake_is_done(intake));
    close_it(intake);
}

static void pick__when_an_earlier_one_of_the_order_waits__then_held_back_and_no_other(void **state) {
    struct intake *intake = open_three(CANCELLED("a"), CANCELLED("a"), CANCELLED("b"));
    size_t picked[SOURCE_BATCH];
    assert_int_equal(intake_pick(intake, 0, picked), 2);
    assert_int_equal(picked[0], 0);
    assert_int_equal(picked[1], 2);
    intake_settle(&intake->items[0], EVENT_FATE_BUSY, "PRD-004", 0);
    intake_settle(&intake->items[2], EVENT_FATE_APPLIED, "", 0);
    assert_int_equal(intake_pick(intake, 0, picked), 0);
    assert_int_equal(intake_pick(intake, 100, picked), 1);
    assert_int_equal(picked[0], 0);
    intake_settle(&intake->items[0], EVENT_FATE_DUPLICATE, "", 100);
    assert_int_equal(intake_pick(intake, 100, picked), 1);
    assert_int_equal(picked[0], 1);
    intake_settle(&intake->items[1], EVENT_FATE_REFUSED, "RSV-002", 100);
    assert_true(intake_is_done(intake));
    close_it(intake);
}

static void settle__when_not_now__then_again_after_1_5_and_30_s_and_then_dead(void **state) {
    struct intake *intake = open_three(CANCELLED("a"), CANCELLED("b"), CANCELLED("c"));
    struct intake_item *item = &intake->items[0];
    static const int64_t waits_ms[] = {1000, 5000, 30000};
    int64_t now_ms = 7;
    for (int i = 0; i < 3; i++) {
        intake_settle(item, EVENT_FATE_NOT_NOW, "ORD-001", now_ms);
        assert_int_equal(item->state, INTAKE_WAITING);
        assert_true(item->due_ms == now_ms + waits_ms[i]);
        now_ms = item->due_ms;
    }
    intake_settle(item, EVENT_FATE_NOT_NOW, "ORD-001", now_ms);
    assert_int_equal(item->state, INTAKE_DEAD);
    assert_string_equal(item->error, "ORD-001");
    close_it(intake);
}

static void settle__when_busy__then_nothing_counts_and_the_pause_grows_to_its_limit(void **state) {
    struct intake *intake = open_three(CANCELLED("a"), CANCELLED("b"), CANCELLED("c"));
    struct intake_item *item = &intake->items[0];
    for (int i = 0; i < 100; i++) intake_settle(item, EVENT_FATE_BUSY, "SYS-011", 0);
    assert_int_equal(item->state, INTAKE_WAITING);
    assert_int_equal(item->attempts, 0);
    assert_true(item->due_ms == 3200);
    intake_settle(item, EVENT_FATE_NOT_NOW, "ORD-001", 0);
    intake_settle(item, EVENT_FATE_BUSY, "SYS-011", 0);
    assert_true(item->due_ms == 100);
    close_it(intake);
}

static void wait__when_something_is_due_later__then_until_then_and_a_second_at_most(void **state) {
    struct intake *intake = open_three(CANCELLED("a"), CANCELLED("b"), CANCELLED("a"));
    intake->items[0].due_ms = 500;
    intake->items[1].due_ms = 300;
    assert_true(intake_wait_ms(intake, 100) == 200);
    assert_true(intake_wait_ms(intake, 400) == 0);
    intake->items[0].due_ms = intake->items[1].due_ms = 90000;
    assert_true(intake_wait_ms(intake, 0) == 1000);
    close_it(intake);
}

int main(void) {
    json_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open__when_readable_own_or_not__then_waiting_done_or_dead),
        cmocka_unit_test(pick__when_an_earlier_one_of_the_order_waits__then_held_back_and_no_other),
        cmocka_unit_test(settle__when_not_now__then_again_after_1_5_and_30_s_and_then_dead),
        cmocka_unit_test(settle__when_busy__then_nothing_counts_and_the_pause_grows_to_its_limit),
        cmocka_unit_test(wait__when_something_is_due_later__then_until_then_and_a_second_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
