/* facade/boarding.c: who rides the next train. */
#include "facade/boarding.h"
#include "unit.h"

#define RIDERS_MAX 16
#define TRAIN_A ((struct train *)1)
#define TRAIN_B ((struct train *)2)

static struct lanes *lanes;
static struct list queue, boarded;
static struct rider *riders[RIDERS_MAX];
static size_t rider_count;
static uint64_t round_number;
static struct boarding_limits limits;

static void drop_nothing(struct lane *lane) {}

static int set_up(void **state) {
    lanes = lanes_new(drop_nothing);
    list_init(&queue);
    list_init(&boarded);
    rider_count = 0;
    limits = (struct boarding_limits){.commands_max = 100, .lines_max = 1000, .products_max = 100, .share = 100};
    return 0;
}

static int tear_down(void **state) {
    for (size_t i = 0; i < rider_count; i++) {
        list_remove(&riders[i]->node);
        for (size_t k = 0; k < riders[i]->lane_count; k++) riders[i]->lanes[k]->train = NULL;
        lanes_detach(lanes, riders[i]);
        rider_free(riders[i]);
    }
    lanes = lanes_free(lanes);
    return 0;
}

/* A buyer of these products, last in the queue. product 0 ends the list. */
static struct rider *buyer(int64_t first, int64_t second) {
    struct rider *rider = rider_new(COMMAND_ORDER_CREATE, second == 0 ? 1 : 2);
    rider->lines[0] = (struct line){first, 1};
    if (second != 0) rider->lines[1] = (struct line){second, 1};
    rider->sequence = rider_count;
    lanes_attach(lanes, rider);
    queue_insert(&queue, rider);
    riders[rider_count++] = rider;
    return rider;
}

static size_t depart(struct train *train) { return board(&queue, &boarded, train, &limits, ++round_number, 1000); }
static bool has_boarded(const struct rider *rider) { return !rider->in_queue; }

static void board__all_of_one_product__ride_together_in_order(void **state) {
    for (int i = 0; i < 5; i++) buyer(1, 0);
    assert_int_equal(depart(TRAIN_A), 5);
    uint64_t expected = 0;
    LIST_FOR(node, &boarded) assert_int_equal(CONTAINER_OF(node, struct rider, node)->sequence, expected++);
    assert_true(list_empty(&queue));
}

static void board__the_cap__leaves_the_rest_in_order(void **state) {
    for (int i = 0; i < 5; i++) buyer(1, 0);
    limits.commands_max = 3;
    assert_int_equal(depart(TRAIN_A), 3);
    assert_int_equal(depart(TRAIN_B), 0); /* the product is in use */
    assert_int_equal(CONTAINER_OF(queue.next, struct rider, node)->sequence, 3);
}

static void board__beyond_its_share__takes_those_who_could_ride_no_other(void **state) {
    limits.share = 2;
    buyer(1, 0);
    buyer(2, 0);
    struct rider *other = buyer(3, 0);
    struct rider *same = buyer(1, 0);
    struct rider *partly = buyer(2, 4);
    assert_int_equal(depart(TRAIN_A), 3);
    assert_true(has_boarded(same));
    assert_false(has_boarded(other));
    assert_false(has_boarded(partly));
    assert_int_equal(depart(TRAIN_B), 1); /* the other; the last needs a product of the first train */
    assert_true(has_boarded(other));
}

static void board__products_of_another_train__wait_and_reserve(void **state) {
    buyer(1, 0);
    assert_int_equal(depart(TRAIN_A), 1);
    struct rider *waits = buyer(1, 2);
    struct rider *behind = buyer(2, 0);
    struct rider *apart = buyer(3, 0);
    assert_int_equal(depart(TRAIN_B), 1);
    assert_false(has_boarded(waits));
    assert_false(has_boarded(behind)); /* 2 is reserved by the one before it */
    assert_true(has_boarded(apart));
}

static void board__one_that_waits_for_a_foreign_row__reserves_nothing(void **state) {
    buyer(1, 0);
    assert_int_equal(depart(TRAIN_A), 1);
    struct rider *waits = buyer(1, 2);
    waits->row_waiting = true;
    struct rider *behind = buyer(2, 0);
    assert_int_equal(depart(TRAIN_B), 1);
    assert_false(has_boarded(waits));
    assert_true(has_boarded(behind));
}

static void board__one_that_needs_a_row_known_as_blocked__reserves_nothing(void **state) {
    struct rider *waits = buyer(1, 2);
    struct rider *behind = buyer(2, 0);
    waits->lanes[0]->row_blocked = true;
    assert_int_equal(depart(TRAIN_A), 1);
    assert_false(has_boarded(waits));
    assert_true(has_boarded(behind));
}

static void board__one_whose_lock_is_held_elsewhere__reserves_only_once_it_may_be_had(void **state) {
    struct rider *waits = buyer(1, 2);
    struct rider *behind = buyer(2, 0);
    waits->lanes[0]->foreign = true;
    waits->lanes[0]->not_before_ms = 1001;
    assert_int_equal(depart(TRAIN_A), 1);
    assert_true(has_boarded(behind));
    waits->lanes[0]->not_before_ms = 1000; /* released: now it is the first again, behind the train that has 2 */
    struct rider *later = buyer(1, 0);
    assert_int_equal(depart(TRAIN_B), 0);
    assert_false(has_boarded(later));
}

static void board__a_lane_not_before_its_time__waits(void **state) {
    struct rider *rider = buyer(1, 0);
    rider->lanes[0]->not_before_ms = 1001;
    assert_false(rider_is_ready(rider, 1000));
    assert_int_equal(depart(TRAIN_A), 0);
    rider->lanes[0]->not_before_ms = 1000;
    assert_int_equal(depart(TRAIN_A), 1);
}

static void board__product_and_line_limits__hold_except_for_the_first(void **state) {
    limits.products_max = 1;
    struct rider *big = buyer(1, 2);
    struct rider *next = buyer(3, 0);
    assert_int_equal(depart(TRAIN_A), 1);
    assert_true(has_boarded(big));
    assert_false(has_boarded(next));
    limits.products_max = 100;
    limits.lines_max = 2;
    buyer(4, 0);
    buyer(5, 0);
    assert_int_equal(depart(TRAIN_B), 2);
}

static void board__a_probe__takes_one_blocked_rider_alone(void **state) {
    struct rider *blocked = buyer(1, 0);
    struct rider *also_blocked = buyer(1, 0);
    struct rider *clear = buyer(2, 0);
    blocked->lanes[0]->row_blocked = true;
    assert_int_equal(depart(TRAIN_A), 1);
    assert_true(has_boarded(clear));
    limits.probe = true;
    assert_int_equal(depart(TRAIN_B), 1);
    assert_true(has_boarded(blocked));
    assert_false(has_boarded(also_blocked));
}

static void queue_insert__a_rider_that_comes_back__gets_its_old_place(void **state) {
    buyer(1, 0);
    struct rider *second = buyer(2, 0);
    buyer(3, 0);
    list_remove(&second->node);
    queue_insert(&queue, second);
    uint64_t expected = 0;
    LIST_FOR(node, &queue) assert_int_equal(CONTAINER_OF(node, struct rider, node)->sequence, expected++);
}

static void board__commands_on_one_order__never_ride_in_two_trains(void **state) {
    struct rider *first = rider_new(COMMAND_PAYMENT_REQUEST, 0), *second = rider_new(COMMAND_ORDER_STATUS, 0);
    struct rider *pair[] = {first, second};
    for (size_t i = 0; i < 2; i++) {
        pair[i]->command.order_id = 42;
        pair[i]->sequence = i;
        lanes_attach(lanes, pair[i]);
        riders[rider_count++] = pair[i];
    }
    queue_insert(&queue, first);
    assert_int_equal(depart(TRAIN_A), 1);
    queue_insert(&queue, second);
    assert_int_equal(depart(TRAIN_B), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(board__all_of_one_product__ride_together_in_order),
        CASE(board__the_cap__leaves_the_rest_in_order),
        CASE(board__beyond_its_share__takes_those_who_could_ride_no_other),
        CASE(board__products_of_another_train__wait_and_reserve),
        CASE(board__one_that_waits_for_a_foreign_row__reserves_nothing),
        CASE(board__one_that_needs_a_row_known_as_blocked__reserves_nothing),
        CASE(board__one_whose_lock_is_held_elsewhere__reserves_only_once_it_may_be_had),
        CASE(board__a_lane_not_before_its_time__waits),
        CASE(board__product_and_line_limits__hold_except_for_the_first),
        CASE(board__a_probe__takes_one_blocked_rider_alone),
        CASE(queue_insert__a_rider_that_comes_back__gets_its_old_place),
        CASE(board__commands_on_one_order__never_ride_in_two_trains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
