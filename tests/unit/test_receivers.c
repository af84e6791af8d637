#include "unit.h"

#include "events/receivers.h"

#include <stdio.h>

static void enter__when_well__then_as_many_as_may(void **state) {
    struct receivers *receivers = receivers_new(2);
    assert_true(receivers_enter(receivers, "a", 0));
    assert_true(receivers_enter(receivers, "a", 0));
    assert_false(receivers_enter(receivers, "a", 0));
    assert_true(receivers_enter(receivers, "b", 0));
    receivers_leave(receivers, "a", true, true, 0);
    assert_true(receivers_enter(receivers, "a", 0));
    receivers_free(receivers);
}

static void enter__when_in_trouble__then_one_at_a_time_and_after_a_pause(void **state) {
    struct receivers *receivers = receivers_new(2);
    assert_true(receivers_enter(receivers, "a", 0));
    receivers_leave(receivers, "a", true, false, 1000);
    assert_false(receivers_enter(receivers, "a", 1499));
    assert_true(receivers_enter(receivers, "b", 1000));
    assert_true(receivers_enter(receivers, "a", 1500));
    assert_false(receivers_enter(receivers, "a", 1500));
    receivers_leave(receivers, "a", true, false, 2000);
    assert_false(receivers_enter(receivers, "a", 2999));
    assert_true(receivers_enter(receivers, "a", 3000));
    receivers_leave(receivers, "a", true, true, 3000);
    assert_true(receivers_enter(receivers, "a", 3000));
    assert_true(receivers_enter(receivers, "a", 3000));
    receivers_free(receivers);
}

static void leave__when_nothing_was_learned__then_as_before(void **state) {
    struct receivers *receivers = receivers_new(1);
    assert_true(receivers_enter(receivers, "a", 0));
    receivers_leave(receivers, "a", true, false, 0);
    assert_true(receivers_enter(receivers, "a", 500));
    receivers_leave(receivers, "a", false, false, 600);
    assert_true(receivers_enter(receivers, "a", 600));
    receivers_free(receivers);
}

static void rows__when_more_come_than_there_is_room_for__then_idle_ones_give_way(void **state) {
    struct receivers *receivers = receivers_new(1);
    for (int i = 0; i < 1000; i++) {
        char id[WEBHOOK_ID_SIZE];
        (void)snprintf(id, sizeof id, "w%d", i);
        assert_true(receivers_enter(receivers, id, 0));
        receivers_leave(receivers, id, true, i % 2 == 0, 0);
    }
    receivers_free(receivers);
}

static void side_by_side__when_none__then_one(void **state) {
    struct receivers *receivers = receivers_new(0);
    assert_true(receivers_enter(receivers, "a", 0));
    receivers_free(receivers);
    assert_null(receivers_free(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enter__when_well__then_as_many_as_may),
        cmocka_unit_test(enter__when_in_trouble__then_one_at_a_time_and_after_a_pause),
        cmocka_unit_test(leave__when_nothing_was_learned__then_as_before),
        cmocka_unit_test(rows__when_more_come_than_there_is_room_for__then_idle_ones_give_way),
        cmocka_unit_test(side_by_side__when_none__then_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
