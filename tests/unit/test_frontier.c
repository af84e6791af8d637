#include "unit.h"

#include "events/frontier.h"

#include <stdlib.h>
#include <string.h>

#define AUTO_FRONTIER __attribute__((cleanup(frontier_done))) struct frontier

static void assert_holes(const struct frontier *frontier, const char *expected) {
    char text[OUTBOX_HOLES_SIZE];
    assert_true(frontier_write_holes(frontier, text, sizeof text));
    assert_string_equal(text, expected);
}

static void frontier_pass__when_ids_are_missing__then_they_become_holes(void **state) {
    AUTO_FRONTIER frontier = {.last = 10};
    assert_true(frontier_pass(&frontier, 11));
    assert_true(frontier_pass(&frontier, 13));
    assert_true(frontier_pass(&frontier, 20));
    assert_holes(&frontier, "12,14-19");
    assert_int_equal(frontier.last, 20);
    assert_int_equal(frontier_low(&frontier), 11);
}

static void frontier_pass_empty__when_behind__then_nothing(void **state) {
    AUTO_FRONTIER frontier = {.last = 10};
    assert_true(frontier_pass_empty(&frontier, 10));
    assert_holes(&frontier, "");
    assert_true(frontier_pass_empty(&frontier, 12));
    assert_holes(&frontier, "11-12");
    assert_int_equal(frontier_low(&frontier), 10);
}

static void frontier_fill__when_inside_or_at_an_end__then_what_is_left(void **state) {
    AUTO_FRONTIER frontier = {.last = 0};
    assert_true(frontier_pass(&frontier, 10));
    frontier_fill(&frontier, 1);
    assert_holes(&frontier, "2-9");
    frontier_fill(&frontier, 9);
    frontier_fill(&frontier, 5);
    assert_holes(&frontier, "2-4,6-8");
    frontier_fill(&frontier, 99);
    for (int64_t id = 2; id < 9; id++) frontier_fill(&frontier, id);
    assert_holes(&frontier, "");
    assert_int_equal(frontier_low(&frontier), 10);
}

static void frontier_close__when_one_of_two__then_the_other_stays(void **state) {
    AUTO_FRONTIER frontier = {.last = 0};
    assert_true(frontier_pass(&frontier, 3) && frontier_pass(&frontier, 5));
    frontier_close(&frontier, 0);
    assert_holes(&frontier, "4");
}

static void frontier_pass__when_too_many_holes__then_it_stays(void **state) {
    AUTO_FRONTIER frontier = {.last = 0};
    for (int64_t id = 2; id <= 2 * FRONTIER_HOLES_MAX; id += 2) assert_true(frontier_pass(&frontier, id));
    int64_t last = frontier.last;
    assert_true(frontier_pass(&frontier, last + 1));
    assert_false(frontier_pass(&frontier, last + 3));
    assert_int_equal(frontier.last, last + 1);
}

static void frontier_read_holes__when_written__then_the_same(void **state) {
    AUTO_FRONTIER frontier = {.last = 0};
    AUTO_FRONTIER again = {.last = 30};
    assert_true(frontier_pass(&frontier, 3) && frontier_pass(&frontier, 30));
    assert_true(frontier_read_holes(&again, "1-2,4-29"));
    assert_true(frontier_is_level(&frontier, &again));
    frontier_fill(&again, 4);
    assert_false(frontier_is_level(&frontier, &again));
}

static void frontier_read_holes__when_not_ours__then_refused(void **state) {
    static const char *const texts[] = {"x", "0", "2-1", "3,2", "5,5", "1-", "9-11", "-3"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        AUTO_FRONTIER frontier = {.last = 10};
        assert_false(frontier_read_holes(&frontier, texts[i]));
    }
}

static void frontier_write_holes__when_no_room__then_false(void **state) {
    AUTO_FRONTIER frontier = {.last = 0};
    char small[4];
    assert_true(frontier_pass(&frontier, 1000));
    assert_false(frontier_write_holes(&frontier, small, sizeof small));
}

static size_t next(uint32_t *state) { return (*state = *state * 1103515245 + 12345) >> 16; }

/* Whatever order rows appear in, each id is handled once and none is forgotten. */
static void frontier__when_rows_appear_in_any_order__then_none_is_lost(void **state) {
    enum { IDS = 400 };
    for (unsigned seed = 1; seed <= 20; seed++) {
        AUTO_FRONTIER frontier = {.last = 0};
        bool committed[IDS + 1] = {false}, handled[IDS + 1] = {false};
        uint32_t chance = seed;
        for (int step = 0; step < IDS; step++) {
            size_t window = (size_t)step + 30 < IDS ? (size_t)step + 30 : IDS; /* who draws an id commits soon */
            committed[1 + next(&chance) % window] = true;
            for (int64_t id = 1; id <= IDS; id++) {
                if (!committed[id] || handled[id]) continue;
                if (id > frontier.last && !frontier_pass(&frontier, id)) break;
                frontier_fill(&frontier, id);
                handled[id] = true;
            }
        }
        for (int64_t id = 1; id <= frontier.last; id++) {
            bool open = false;
            for (size_t i = 0; i < frontier.hole_count; i++)
                open = open || (frontier.holes[i].span.from <= id && id <= frontier.holes[i].span.to);
            assert_true(handled[id] != open);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frontier_pass__when_ids_are_missing__then_they_become_holes),
        cmocka_unit_test(frontier_pass_empty__when_behind__then_nothing),
        cmocka_unit_test(frontier_fill__when_inside_or_at_an_end__then_what_is_left),
        cmocka_unit_test(frontier_close__when_one_of_two__then_the_other_stays),
        cmocka_unit_test(frontier_pass__when_too_many_holes__then_it_stays),
        cmocka_unit_test(frontier_read_holes__when_written__then_the_same),
        cmocka_unit_test(frontier_read_holes__when_not_ours__then_refused),
        cmocka_unit_test(frontier_write_holes__when_no_room__then_false),
        cmocka_unit_test(frontier__when_rows_appear_in_any_order__then_none_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
