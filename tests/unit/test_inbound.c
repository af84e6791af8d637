/* Events become commands, and answers tell what became of the event. */
#include "unit.h"

#include "facade/inbound.h"

#include <string.h>

static const struct event_terms terms = {.credential = "shop", .group = "g", .traceparent = "t", .ttl_ms = 9};

static struct event_body event_of(enum inbox_effect effect) {
    struct event_body event = {.effect = effect, .order_number = 7, .completed = true, .amount = 5, .line_count = 2};
    (void)text_copy(event.event_id, sizeof event.event_id, "e-1");
    (void)text_copy(event.order_id, sizeof event.order_id, "ext-1");
    (void)text_copy(event.payment_key, sizeof event.payment_key, "k");
    event.lines[0] = (struct line){1, 2};
    event.lines[1] = (struct line){3, 4};
    return event;
}

static void rider__when_a_payment__then_of_that_order_with_its_event(void **state) {
    struct event_body event = event_of(INBOX_PAYMENT);
    struct rider *rider = rider_for_event(&event, &terms);
    assert_int_equal(rider->command.kind, COMMAND_PAYMENT);
    assert_int_equal(rider->command.order_id, 7);
    assert_true(rider->command.payment.completed);
    assert_int_equal(rider->command.payment.amount, 5);
    assert_string_equal(rider->command.payment.payment_key, "k");
    assert_string_equal(rider->event->event_id, "e-1");
    assert_string_equal(rider->event->consumer_group, "g");
    assert_string_equal(rider->command.traceparent, "t");
    rider_free(rider);
}

static void rider__when_of_a_reservation__then_the_credentials(void **state) {
    static const struct {
        enum inbox_effect effect;
        enum command_kind kind;
        size_t lines;
    } rows[] = {{INBOX_RESERVE, COMMAND_RESERVE, 2},
                {INBOX_CONFIRM, COMMAND_RESERVATION_CONFIRM, 0},
                {INBOX_RELEASE, COMMAND_RESERVATION_RELEASE, 0}};
    for (size_t i = 0; i < 3; i++) {
        struct event_body event = event_of(rows[i].effect);
        struct rider *rider = rider_for_event(&event, &terms);
        assert_int_equal(rider->command.kind, rows[i].kind);
        assert_string_equal(rider->command.reservation.ref.credential, "shop");
        assert_string_equal(rider->command.reservation.ref.order_id, "ext-1");
        assert_int_equal(rider->command.line_count, rows[i].lines);
        if (rows[i].kind == COMMAND_RESERVE) assert_int_equal(rider->command.reservation.ttl_ms, 9);
        rider_free(rider);
    }
}

static void rider__when_nothing_to_do_or_no_group__then_none(void **state) {
    struct event_body own = event_of(INBOX_NOTHING), event = event_of(INBOX_CONFIRM);
    struct event_terms blank = terms;
    blank.group = "a b";
    assert_null(rider_for_event(&own, &terms));
    assert_null(rider_for_event(&event, &blank));
}

static void fate__when_each_answer__then_its_own(void **state) {
    static const struct {
        struct answer answer;
        enum event_fate fate;
    } rows[] = {
        {{.duplicate = true}, EVENT_FATE_DUPLICATE},
        {{.processed = true}, EVENT_FATE_APPLIED},
        {{.processed = true, .error = ERROR_INSUFFICIENT_STOCK}, EVENT_FATE_REFUSED},
        {{.error = ERROR_UNAVAILABLE}, EVENT_FATE_BUSY},
        {{.error = ERROR_STOCK_BUSY}, EVENT_FATE_BUSY},
        {{.error = ERROR_OUTCOME_UNKNOWN}, EVENT_FATE_BUSY},
        {{.error = ERROR_IN_PROGRESS}, EVENT_FATE_BUSY},
        {{.error = ERROR_ORDER_NOT_FOUND}, EVENT_FATE_NOT_NOW},
        {{.error = ERROR_RESERVATION_NOT_FOUND}, EVENT_FATE_NOT_NOW},
        {{.error = ERROR_INTERNAL}, EVENT_FATE_NOT_NOW},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(event_fate_of(&rows[i].answer), rows[i].fate);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rider__when_a_payment__then_of_that_order_with_its_event),
        cmocka_unit_test(rider__when_of_a_reservation__then_the_credentials),
        cmocka_unit_test(rider__when_nothing_to_do_or_no_group__then_none),
        cmocka_unit_test(fate__when_each_answer__then_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
