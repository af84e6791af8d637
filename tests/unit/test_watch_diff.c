#include "unit.h"

#include "locks/watch_diff.h"

#include <string.h>

#define NOW_MS 10000

static struct lock_holder holder(const char *owner, int64_t fence) {
    struct lock_holder made = {.held = true, .ours = fence > 0, .fence = fence, .expires_in_ms = 500};
    (void)text_copy(made.owner, sizeof made.owner, owner);
    return made;
}

static struct look look_at(const struct lock_holder *holders, size_t count) {
    struct look look = {.now_ms = NOW_MS, .status = {.name = "n", .kind = "lock", .held = count > 0}};
    look.status.holders = holders;
    look.status.holder_count = count;
    for (size_t i = 0; i < count; i++) look.ids[i] = holders[i].ours ? holders[i].owner : "";
    return look;
}

static void watch_diff__when_nothing_was_seen__then_all_are_granted(void **state) {
    struct change out[CHANGES_MAX];
    const struct lock_holder now[] = {holder("a", 7), holder("b", 8)};
    const struct look look = look_at(now, 2);
    assert_int_equal(watch_diff(NULL, 0, 0, &look, out), 2);
    assert_int_equal(out[0].event, LOCK_EVENT_GRANTED);
    assert_int_equal(out[1].index, 1);
}

static void watch_diff__when_nothing_changed__then_nothing_or_the_queue(void **state) {
    struct change out[CHANGES_MAX];
    struct seen seen[WATCH_HOLDERS_MAX];
    const struct lock_holder now = holder("a", 7);
    struct look look = look_at(&now, 1);
    size_t count = watch_remember(&look, seen);
    assert_int_equal(count, 1);
    assert_int_equal(seen[0].ends_ms, NOW_MS + 500);
    assert_int_equal(watch_diff(seen, count, 0, &look, out), 0);
    look.status.waiters = 3;
    assert_int_equal(watch_diff(seen, count, 0, &look, out), 1);
    assert_int_equal(out[0].event, LOCK_EVENT_QUEUE);
}

static void watch_diff__when_one_is_gone__then_its_fate_tells_how(void **state) {
    static const struct {
        const char *fate;
        enum lock_event event;
    } cases[] = {{"released", LOCK_EVENT_RELEASED},
                 {"expired", LOCK_EVENT_EXPIRED},
                 {"forced", LOCK_EVENT_FORCED},
                 {"vanished", LOCK_EVENT_LOST},
                 {"unknown", LOCK_EVENT_LOST}};
    const struct seen seen = {.id = "a", .ours = true, .fence = 7, .ends_ms = -1};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct change out[CHANGES_MAX];
        struct look look = look_at(NULL, 0);
        look.fates[0] = cases[i].fate;
        assert_int_equal(watch_diff(&seen, 1, 0, &look, out), 1);
        assert_int_equal(out[0].event, cases[i].event);
    }
}

static void watch_diff__when_the_same_token_has_a_new_fence__then_gone_and_granted(void **state) {
    struct change out[CHANGES_MAX];
    const struct seen seen = {.id = "a", .ours = true, .fence = 7, .ends_ms = -1};
    const struct lock_holder now = holder("a", 9);
    struct look look = look_at(&now, 1);
    look.fates[0] = "released";
    look.status.waiters = 1;
    assert_int_equal(watch_diff(&seen, 1, 0, &look, out), 2);
    assert_int_equal(out[0].event, LOCK_EVENT_RELEASED);
    assert_int_equal(out[1].event, LOCK_EVENT_GRANTED);
}

static void watch_diff__when_it_holds_but_is_not_told_of__then_nothing(void **state) {
    struct change out[CHANGES_MAX];
    const struct seen seen = {.id = "a", .ours = true, .fence = 7, .ends_ms = -1};
    struct look look = look_at(NULL, 0);
    look.fates[0] = "held";
    assert_int_equal(watch_diff(&seen, 1, 0, &look, out), 0);
}

/* A Java service's lock, and names in the database: no word is kept of how they went. */
static void watch_diff__when_a_stranger_is_gone__then_the_time_tells_how(void **state) {
    static const struct {
        int64_t ends_ms;
        enum lock_event event;
    } cases[] = {{NOW_MS + 1, LOCK_EVENT_RELEASED}, {NOW_MS, LOCK_EVENT_EXPIRED}, {-1, LOCK_EVENT_RELEASED}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct change out[CHANGES_MAX];
        const struct seen seen = {.ends_ms = cases[i].ends_ms};
        const struct look look = look_at(NULL, 0);
        assert_int_equal(watch_diff(&seen, 1, 0, &look, out), 1);
        assert_int_equal(out[0].event, cases[i].event);
    }
}

static void watch_diff__when_no_fate_is_told__then_the_time_tells_how(void **state) {
    struct change out[CHANGES_MAX];
    const struct seen seen = {.id = "a", .ours = true, .fence = 7, .ends_ms = NOW_MS + 1};
    const struct look look = look_at(NULL, 0); /* the database tells no fates */
    assert_int_equal(watch_diff(&seen, 1, 0, &look, out), 1);
    assert_int_equal(out[0].event, LOCK_EVENT_RELEASED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watch_diff__when_nothing_was_seen__then_all_are_granted),
        cmocka_unit_test(watch_diff__when_nothing_changed__then_nothing_or_the_queue),
        cmocka_unit_test(watch_diff__when_one_is_gone__then_its_fate_tells_how),
        cmocka_unit_test(watch_diff__when_the_same_token_has_a_new_fence__then_gone_and_granted),
        cmocka_unit_test(watch_diff__when_it_holds_but_is_not_told_of__then_nothing),
        cmocka_unit_test(watch_diff__when_a_stranger_is_gone__then_the_time_tells_how),
        cmocka_unit_test(watch_diff__when_no_fate_is_told__then_the_time_tells_how),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
