/* facade/lanes.c: lanes live as long as somebody needs them. */
#include "facade/lanes.h"
#include "unit.h"

static size_t dropped;
static void count_drop(struct lane *lane) { dropped++; }

static struct rider *canceller(int64_t order_id, int64_t product_id) {
    struct rider *rider = rider_new(COMMAND_ORDER_CANCEL, 1);
    rider->command.order_id = order_id;
    rider->lines[0] = (struct line){product_id, 1};
    return rider;
}

static void attach__a_command_on_an_order__gets_product_and_order_lanes(void **state) {
    struct lanes *lanes = lanes_new(count_drop);
    struct rider *rider = canceller(42, 7);
    lanes_attach(lanes, rider);
    assert_int_equal(rider->lane_count, 2);
    assert_ptr_equal(lanes_find(lanes, 7), rider->lanes[0]);
    assert_ptr_equal(lanes_find(lanes, -42), rider->lanes[1]);
    lanes_detach(lanes, rider);
    assert_int_equal(lanes_count(lanes), 0);
    rider_free(rider);
    lanes_free(lanes);
}

static void attach__a_payment_that_moves_no_stock__gets_the_order_lane_alone(void **state) {
    struct lanes *lanes = lanes_new(count_drop);
    struct rider *rider = rider_new(COMMAND_PAYMENT, 0);
    rider->command.order_id = 42;
    rider->command.payment.completed = true;
    lanes_attach(lanes, rider);
    assert_int_equal(rider->lane_count, 1);
    assert_int_equal(rider->lanes[0]->key, -42);
    lanes_detach(lanes, rider);
    rider_free(rider);
    lanes_free(lanes);
}

static void detach__a_lane_that_must_wait__is_kept_until_its_time(void **state) {
    struct lanes *lanes = lanes_new(count_drop);
    struct rider *rider = canceller(42, 7);
    lanes_attach(lanes, rider);
    rider->lanes[0]->not_before_ms = 100;
    dropped = 0;
    lanes_detach(lanes, rider);
    assert_int_equal(lanes_count(lanes), 1);
    lanes_sweep(lanes, 99);
    assert_int_equal(lanes_count(lanes), 1);
    lanes_sweep(lanes, 100);
    assert_int_equal(lanes_count(lanes), 0);
    assert_int_equal(dropped, 2);
    rider_free(rider);
    lanes_free(lanes);
}

static void forget_foreign__when_redis_is_away__opens_those_lanes_only(void **state) {
    struct lanes *lanes = lanes_new(count_drop);
    struct rider *rider = canceller(42, 7);
    lanes_attach(lanes, rider);
    rider->lanes[0]->foreign = true;
    rider->lanes[0]->not_before_ms = 100;
    rider->lanes[1]->not_before_ms = 100;
    lanes_forget_foreign(lanes);
    assert_true(lane_is_free(rider->lanes[0], 0));
    assert_false(lane_is_free(rider->lanes[1], 0));
    rider->lanes[1]->not_before_ms = 0;
    lanes_detach(lanes, rider);
    rider_free(rider);
    lanes_free(lanes);
}

static void find__thousands_of_keys__each_is_its_own(void **state) {
    enum { COUNT = 20000 };
    struct lanes *lanes = lanes_new(count_drop);
    struct rider *rider = rider_new(COMMAND_ORDER_CREATE, COUNT);
    for (int i = 0; i < COUNT; i++) rider->lines[i] = (struct line){i + 1, 1};
    lanes_attach(lanes, rider);
    assert_int_equal(lanes_count(lanes), COUNT);
    for (int i = 0; i < COUNT; i++) assert_int_equal(lanes_find(lanes, i + 1)->key, i + 1);
    assert_null(lanes_find(lanes, COUNT + 1));
    lanes_detach(lanes, rider);
    assert_int_equal(lanes_count(lanes), 0);
    rider_free(rider);
    lanes_free(lanes);
}

static void attach__commands_on_a_reservation__share_its_lane(void **state) {
    struct lanes *lanes = lanes_new(count_drop);
    struct rider *reserve = rider_for_reservation(COMMAND_RESERVE, "shop", "42", 1);
    struct rider *confirm = rider_for_reservation(COMMAND_RESERVATION_CONFIRM, "shop", "42", 0);
    struct rider *other = rider_for_reservation(COMMAND_RESERVATION_CONFIRM, "other", "42", 0);
    reserve->lines[0] = (struct line){7, 1};
    lanes_attach(lanes, reserve);
    lanes_attach(lanes, confirm);
    lanes_attach(lanes, other);
    assert_int_equal(reserve->lane_count, 2);
    assert_int_equal(confirm->lane_count, 1);
    assert_ptr_equal(reserve->lanes[1], confirm->lanes[0]);
    assert_ptr_not_equal(other->lanes[0], confirm->lanes[0]);
    lanes_detach(lanes, reserve);
    lanes_detach(lanes, confirm);
    lanes_detach(lanes, other);
    rider_free(reserve);
    rider_free(confirm);
    rider_free(other);
    lanes_free(lanes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attach__a_command_on_an_order__gets_product_and_order_lanes),
        cmocka_unit_test(attach__a_payment_that_moves_no_stock__gets_the_order_lane_alone),
        cmocka_unit_test(detach__a_lane_that_must_wait__is_kept_until_its_time),
        cmocka_unit_test(forget_foreign__when_redis_is_away__opens_those_lanes_only),
        cmocka_unit_test(find__thousands_of_keys__each_is_its_own),
        cmocka_unit_test(attach__commands_on_a_reservation__share_its_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
