/* domain/decide*.c and world.c: what each command does to the world. */
#include "base/memory.h"
#include "domain/decide.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define NOW INT64_C(1796083200000)

static struct world world;

static struct stock_cell cell(int64_t product_id, int64_t stock) {
    struct stock_row row = {.product_id = product_id,
                            .stock = stock,
                            .version = 7,
                            .ledger_stock = stock,
                            .ledger_version = 7,
                            .price = 100,
                            .has_product = true};
    return (struct stock_cell){row, 7, false};
}

/* Products 1 and 2 with 10 pieces each, order 42 of one piece of each. */
static int set_up(void **state) {
    world = world_new(8, 32);
    world.now_ms = NOW;
    world.reservation_ttl_ms = 1000;
    world.stocks = mem_array(2, sizeof world.stocks[0]);
    world.stock_count = 2;
    world.stocks[0] = cell(1, 10);
    world.stocks[1] = cell(2, 10);
    world.orders = mem_array(1, sizeof world.orders[0]);
    world.order_count = 1;
    struct order *order = &world.orders[0].order;
    *order = (struct order){.id = 42, .user_id = "u", .total_amount = 200, .version = 3, .expires_at_ms = NOW + 1};
    world.orders[0].version_read = 3;
    order->items = mem_array(2, sizeof order->items[0]);
    order->item_count = 2;
    order->items[0] = (struct order_item){1, 1, 100};
    order->items[1] = (struct order_item){2, 1, 100};
    return 0;
}

static int tear_down(void **state) {
    world_done(&world);
    return 0;
}

static struct decision run(struct command command) {
    struct decision decision;
    decide(&world, &command, 1000 + (int64_t)world.created_count, &decision);
    return decision;
}

static struct decision buy(struct line *lines, size_t count) {
    struct command command = {.kind = COMMAND_ORDER_CREATE, .lines = lines, .line_count = count};
    (void)text_format(command.create.user_id, sizeof command.create.user_id, "%s", "u-1");
    return run(command);
}

static struct decision on_order(enum command_kind kind) { return run((struct command){.kind = kind, .order_id = 42}); }

static struct decision pay(bool completed, const char *key, int64_t amount) {
    struct command command = {.kind = COMMAND_PAYMENT, .order_id = 42};
    command.payment.completed = completed;
    command.payment.amount = amount;
    (void)text_format(command.payment.payment_key, sizeof command.payment.payment_key, "%s", key);
    return run(command);
}

static void create__enough_stock__takes_it_and_explains_it(void **state) {
    struct decision decision = buy((struct line[]){{1, 4}, {2, 1}}, 2);
    assert_int_equal(decision.error, ERROR_NONE);
    assert_true(decision.created);
    assert_int_equal(decision.order->total_amount, 500);
    assert_int_equal(decision.order->expires_at_ms, NOW + 1000);
    assert_int_equal(world.stocks[0].row.stock, 6);
    assert_int_equal(world.stocks[0].row.version, 8);
    assert_int_equal(world.movement_count, 2);
    assert_int_equal(world.movements[0].delta, -4);
    assert_int_equal(world.movements[0].stock_after, 6);
    assert_string_equal(world.movements[1].order_ref, "o:1000");
    assert_int_equal(world.movements[1].line_no, 1);
}

static void create__one_line_short__takes_nothing(void **state) {
    struct decision decision = buy((struct line[]){{1, 4}, {2, 11}}, 2);
    assert_int_equal(decision.error, ERROR_INSUFFICIENT_STOCK);
    assert_int_equal(decision.product_id, 2);
    assert_int_equal(decision.available, 10);
    assert_int_equal(world.stocks[0].row.stock, 10);
    assert_int_equal(world.movement_count, 0);
    assert_int_equal(world.created_count, 0);
}

static void create__a_smaller_order_after_a_refused_one__still_fits(void **state) {
    assert_int_equal(buy((struct line[]){{1, 9}}, 1).error, ERROR_NONE);
    assert_int_equal(buy((struct line[]){{1, 2}}, 1).error, ERROR_INSUFFICIENT_STOCK);
    assert_int_equal(buy((struct line[]){{1, 1}}, 1).error, ERROR_NONE);
    assert_int_equal(world.stocks[0].row.stock, 0);
    assert_int_equal(world.stocks[0].row.version, 8); /* once per train */
}

static void create__unknown_product__is_not_found(void **state) {
    assert_int_equal(buy((struct line[]){{3, 1}}, 1).error, ERROR_PRODUCT_NOT_FOUND);
    world.stocks[0].row.has_product = false;
    assert_int_equal(buy((struct line[]){{1, 1}}, 1).error, ERROR_PRODUCT_NOT_FOUND);
}

static void move__after_a_foreign_writer__writes_what_it_did_first(void **state) {
    world.stocks[0].row.ledger_version = 6;
    world.stocks[0].row.ledger_stock = 13;
    assert_int_equal(buy((struct line[]){{1, 1}}, 1).error, ERROR_NONE);
    assert_int_equal(buy((struct line[]){{1, 1}}, 1).error, ERROR_NONE);
    assert_int_equal(world.movement_count, 3);
    assert_int_equal(world.movements[0].kind, MOVEMENT_FOREIGN);
    assert_int_equal(world.movements[0].delta, -3);
    assert_int_equal(world.movements[0].version, 7);
}

static void move__on_a_row_never_seen__opens_the_ledger(void **state) {
    world.stocks[0].row.ledger_version = -1;
    assert_int_equal(buy((struct line[]){{1, 1}}, 1).error, ERROR_NONE);
    assert_int_equal(world.movements[0].kind, MOVEMENT_OPENING);
    assert_int_equal(world.movements[0].delta, 10);
}

static void cancel__twice__gives_back_once(void **state) {
    struct command command = {.kind = COMMAND_ORDER_CANCEL, .order_id = 42};
    (void)text_format(command.cancel.reason, sizeof command.cancel.reason, "%s", "USER_REQUESTED");
    assert_int_equal(run(command).error, ERROR_NONE);
    assert_int_equal(run(command).error, ERROR_ORDER_CANCELLED);
    assert_int_equal(world.stocks[0].row.stock, 11);
    assert_int_equal(world.movement_count, 2);
    assert_int_equal(world.orders[0].order.version, 4);
}

static void cancel__a_paid_order__is_a_state_conflict(void **state) {
    world.orders[0].order.status = ORDER_PAYMENT_COMPLETED;
    struct decision decision = on_order(COMMAND_ORDER_CANCEL);
    assert_int_equal(decision.error, ERROR_ORDER_STATE);
    assert_int_equal(world.movement_count, 0);
}

static void cancel__stock_row_gone__changes_nothing(void **state) {
    world.stock_count = 1;
    assert_int_equal(on_order(COMMAND_ORDER_CANCEL).error, ERROR_PRODUCT_NOT_FOUND);
    assert_int_equal(world.stocks[0].row.stock, 10);
    assert_int_equal(world.orders[0].order.status, ORDER_PENDING);
}

static void payment_request__in_time_and_late(void **state) {
    world.orders[0].order.expires_at_ms = NOW - 1;
    assert_int_equal(on_order(COMMAND_PAYMENT_REQUEST).error, ERROR_ORDER_STATE);
    world.orders[0].order.expires_at_ms = NOW;
    assert_int_equal(on_order(COMMAND_PAYMENT_REQUEST).error, ERROR_NONE);
    assert_int_equal(world.orders[0].order.payment_requested_at_ms, NOW);
    assert_int_equal(on_order(COMMAND_PAYMENT_REQUEST).error, ERROR_ORDER_STATE);
}

static void payment__completed_on_pending__passes_through_requested(void **state) {
    struct decision decision = pay(true, "k", 200);
    assert_int_equal(decision.error, ERROR_NONE);
    assert_int_equal(decision.event_count, 2);
    assert_int_equal(decision.events[0], EVENT_PAYMENT_REQUESTED);
    assert_int_equal(decision.events[1], EVENT_PAYMENT_COMPLETED);
    assert_int_equal(world.orders[0].order.version, 5);
    assert_int_equal(pay(true, "k", 200).event_count, 0);
    assert_int_equal(world.payment_count, 1);
}

static void payment__completed_after_cancel__asks_for_one_refund(void **state) {
    world.orders[0].order.status = ORDER_CANCELLED;
    struct decision decision = pay(true, "k", 200);
    assert_int_equal(decision.error, ERROR_NONE);
    assert_int_equal(decision.events[0], EVENT_REFUND_REQUIRED);
    assert_int_equal(pay(true, "k", 200).event_count, 0);
    assert_int_equal(pay(true, "k2", 200).event_count, 1); /* another payment, other money */
    assert_int_equal(pay(true, "k2", 200).event_count, 0);
    assert_int_equal(world.compensation_count, 2);
    assert_string_equal(world.compensations[0].reason, "PAID_BUT_CANCELLED");
    assert_int_equal(world.orders[0].order.version, 3);
    assert_int_equal(world.movement_count, 0);
}

static void payment__a_second_key_for_a_paid_order__asks_for_a_refund(void **state) {
    assert_int_equal(pay(true, "k", 200).error, ERROR_NONE);
    assert_int_equal(pay(true, "other", 200).events[0], EVENT_REFUND_REQUIRED);
    assert_string_equal(world.compensations[0].reason, "PAID_TWICE");
    assert_int_equal(world.orders[0].order.status, ORDER_PAYMENT_COMPLETED);
}

static void payment__failed__cancels_and_gives_back(void **state) {
    struct decision decision = pay(false, "k", 200);
    assert_int_equal(decision.event_count, 2);
    assert_int_equal(decision.events[0], EVENT_PAYMENT_FAILED);
    assert_int_equal(decision.events[1], EVENT_ORDER_CANCELLED);
    assert_string_equal(decision.cancel_reason, "PAYMENT_FAILED");
    assert_int_equal(world.orders[0].order.status, ORDER_CANCELLED);
    assert_int_equal(world.stocks[1].row.stock, 11);
    assert_int_equal(pay(false, "k", 200).event_count, 0);
    assert_int_equal(world.stocks[1].row.stock, 11);
}

static void payment__failed_after_completed__changes_nothing(void **state) {
    assert_int_equal(pay(true, "k", 200).error, ERROR_NONE);
    struct decision decision = pay(false, "k", 200);
    assert_int_equal(decision.error, ERROR_NONE);
    assert_int_equal(decision.event_count, 0);
    assert_int_equal(world.orders[0].order.status, ORDER_PAYMENT_COMPLETED);
}

static void payment__wrong_amount_or_foreign_key__is_a_mismatch(void **state) {
    assert_int_equal(pay(true, "k", 199).error, ERROR_PAYMENT_MISMATCH);
    world_add_payment(&world, &(struct payment){.order_id = 41, .payment_key = "taken", .amount = 200});
    assert_int_equal(pay(true, "taken", 200).error, ERROR_PAYMENT_MISMATCH);
    assert_int_equal(world.orders[0].order.status, ORDER_PENDING);
}

static void payment__a_key_with_blanks_at_its_end__is_the_key_without(void **state) {
    assert_int_equal(pay(true, "k", 200).error, ERROR_NONE);
    assert_int_equal(pay(true, "k  ", 200).event_count, 0);
    assert_int_equal(world.payment_count, 1);
    assert_int_equal(pay(true, "k k", 200).event_count, 1);
}

static void adjust_and_cancel__on_a_stock_beyond_our_bounds__are_refused(void **state) {
    struct line line = {1, 0};
    struct command command = {.kind = COMMAND_STOCK_ADJUST, .lines = &line, .line_count = 1};
    world.stocks[0].row.stock = INT64_MAX; /* a foreign writer's */
    command.adjust.delta = 1;
    assert_int_equal(run(command).error, ERROR_INVALID_REQUEST);
    assert_int_equal(on_order(COMMAND_ORDER_CANCEL).error, ERROR_INVALID_REQUEST);
    assert_int_equal(world.movement_count, 0);
}

static void status__only_along_the_shipping_states(void **state) {
    struct command command = {.kind = COMMAND_ORDER_STATUS, .order_id = 42};
    command.status.status = ORDER_CANCELLED; /* may follow PENDING, but not by this door */
    assert_int_equal(run(command).error, ERROR_ORDER_STATE);
    world.orders[0].order.status = ORDER_PAYMENT_COMPLETED;
    command.status.status = ORDER_SHIPPED;
    assert_int_equal(run(command).error, ERROR_ORDER_STATE);
    command.status.status = ORDER_PREPARING;
    assert_int_equal(run(command).events[0], EVENT_STATUS_CHANGED);
}

static void adjust__within_and_beyond_the_bounds(void **state) {
    struct line line = {1, 0};
    struct command command = {.kind = COMMAND_STOCK_ADJUST, .lines = &line, .line_count = 1};
    command.adjust.delta = -11;
    struct decision decision = run(command);
    assert_int_equal(decision.error, ERROR_INSUFFICIENT_STOCK);
    assert_int_equal(decision.requested, 11);
    command.adjust.delta = STOCK_MAX;
    assert_int_equal(run(command).error, ERROR_INVALID_REQUEST);
    command.adjust.delta = -10;
    assert_int_equal(run(command).stock->row.stock, 0);
    line.product_id = 9;
    assert_int_equal(run(command).error, ERROR_PRODUCT_NOT_FOUND);
}

static void set__compares_the_version_as_it_stands_in_the_train(void **state) {
    struct line line = {1, 0};
    struct command command = {.kind = COMMAND_STOCK_SET, .lines = &line, .line_count = 1};
    command.set.stock = 3;
    command.set.version_count = 2;
    command.set.versions[0] = 5;
    command.set.versions[1] = 6;
    struct decision decision = run(command);
    assert_int_equal(decision.error, ERROR_VERSION_MISMATCH);
    assert_int_equal(decision.version, 7);
    command.set.versions[1] = 7;
    assert_int_equal(run(command).stock->row.stock, 3);
    assert_int_equal(run(command).error, ERROR_VERSION_MISMATCH); /* it has moved */
    command.set.any_version = true;
    assert_int_equal(run(command).error, ERROR_NONE);
}

static void stored__exactly_the_list_of_the_api(void **state) {
    assert_true(decision_is_stored(ERROR_NONE));
    assert_true(decision_is_stored(ERROR_INSUFFICIENT_STOCK));
    assert_true(decision_is_stored(ERROR_PAYMENT_MISMATCH));
    assert_false(decision_is_stored(ERROR_STOCK_BUSY));
    assert_false(decision_is_stored(ERROR_PRODUCT_NOT_FOUND));
    assert_false(decision_is_stored(ERROR_VERSION_MISMATCH));
    assert_false(decision_is_stored(ERROR_UNAVAILABLE));
}

static struct decision time_out(enum order_status status, int64_t overdue_ms) {
    struct command command = {.kind = COMMAND_ORDER_TIMEOUT, .order_id = 42};
    command.timeout.status = status;
    command.timeout.overdue_ms = overdue_ms;
    return run(command);
}

static void timeout__pending_past_its_time__is_cancelled_once(void **state) {
    assert_int_equal(time_out(ORDER_PENDING, 0).error, ERROR_ORDER_STATE); /* a millisecond is left */
    world.now_ms += 2;
    struct decision decision = time_out(ORDER_PENDING, 0);
    assert_int_equal(decision.error, ERROR_NONE);
    assert_int_equal(decision.events[0], EVENT_ORDER_CANCELLED);
    assert_string_equal(decision.cancel_reason, "TIMEOUT");
    assert_int_equal(world.stocks[0].row.stock, 11);
    assert_int_equal(time_out(ORDER_PENDING, 0).error, ERROR_ORDER_CANCELLED);
    assert_int_equal(world.stocks[0].row.stock, 11);
}

static void timeout__a_payment_came_first__keeps_the_order(void **state) {
    assert_int_equal(on_order(COMMAND_PAYMENT_REQUEST).error, ERROR_NONE);
    world.now_ms += 5000;
    assert_int_equal(time_out(ORDER_PENDING, 0).error, ERROR_ORDER_STATE); /* the scan saw it PENDING */
    assert_int_equal(time_out(ORDER_PAYMENT_REQUESTED, 5000).error, ERROR_ORDER_STATE);
    assert_int_equal(pay(true, "k", 200).error, ERROR_NONE);
    world.now_ms += 5000;
    struct decision decision = time_out(ORDER_PAYMENT_REQUESTED, 5000);
    assert_int_equal(decision.error, ERROR_ORDER_STATE);
    assert_int_equal(decision.order->status, ORDER_PAYMENT_COMPLETED);
    assert_int_equal(world.stocks[0].row.stock, 10);
}

static void timeout__blind__shows_what_the_second_look_is_for(void **state) {
    struct command command = {.kind = COMMAND_ORDER_TIMEOUT, .order_id = 42};
    command.timeout.blind = true;
    assert_int_equal(pay(true, "k", 200).error, ERROR_NONE);
    assert_int_equal(run(command).error, ERROR_NONE);
    assert_int_equal(world.orders[0].order.status, ORDER_CANCELLED);
}

static void payment__failed_when_stock_cannot_go_back__tells_nothing(void **state) {
    world.stock_count = 1;
    struct decision decision = pay(false, "k", 200);
    assert_int_equal(decision.error, ERROR_PRODUCT_NOT_FOUND);
    assert_int_equal(decision.event_count, 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(create__enough_stock__takes_it_and_explains_it),
        CASE(create__one_line_short__takes_nothing),
        CASE(create__a_smaller_order_after_a_refused_one__still_fits),
        CASE(create__unknown_product__is_not_found),
        CASE(move__after_a_foreign_writer__writes_what_it_did_first),
        CASE(move__on_a_row_never_seen__opens_the_ledger),
        CASE(cancel__twice__gives_back_once),
        CASE(cancel__a_paid_order__is_a_state_conflict),
        CASE(cancel__stock_row_gone__changes_nothing),
        CASE(payment_request__in_time_and_late),
        CASE(payment__completed_on_pending__passes_through_requested),
        CASE(payment__completed_after_cancel__asks_for_one_refund),
        CASE(payment__a_second_key_for_a_paid_order__asks_for_a_refund),
        CASE(payment__failed__cancels_and_gives_back),
        CASE(payment__failed_after_completed__changes_nothing),
        CASE(payment__wrong_amount_or_foreign_key__is_a_mismatch),
        CASE(payment__a_key_with_blanks_at_its_end__is_the_key_without),
        CASE(adjust_and_cancel__on_a_stock_beyond_our_bounds__are_refused),
        CASE(status__only_along_the_shipping_states),
        CASE(adjust__within_and_beyond_the_bounds),
        CASE(set__compares_the_version_as_it_stands_in_the_train),
        CASE(stored__exactly_the_list_of_the_api),
        CASE(timeout__pending_past_its_time__is_cancelled_once),
        CASE(timeout__a_payment_came_first__keeps_the_order),
        CASE(timeout__blind__shows_what_the_second_look_is_for),
        CASE(payment__failed_when_stock_cannot_go_back__tells_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
