#include "unit.h"

#include "events/batch.h"

#include <string.h>

static const struct keys nobody;

static void add(struct batch *batch, int64_t id, const char *aggregate_id) {
    struct outbox_row row = {.id = id, .part = 1, .payload = "{}", .payload_len = 2};
    (void)text_copy(row.aggregate_id, sizeof row.aggregate_id, aggregate_id);
    (void)text_copy(row.type, sizeof row.type, "order.created");
    batch_add(batch, &row);
}

static struct batch begun(void) {
    struct batch batch;
    batch_init(&batch);
    batch_begin(&batch, 2);
    return batch;
}

/* Sends a wave: all get `outcome` but the event `id`, which gets `other`. */
static size_t send_wave(struct batch *batch, unsigned wave, int64_t id, enum sink_outcome other) {
    struct sink_event *events[16];
    size_t count = batch_wave(batch, wave, events);
    for (size_t i = 0; i < count; i++) events[i]->outcome = events[i]->id == id ? other : SINK_SENT;
    return count;
}

static void batch_plan__when_an_aggregate_repeats__then_each_event_has_its_own_wave(void **state) {
    struct batch batch = begun();
    add(&batch, 1, "a");
    add(&batch, 2, "b");
    add(&batch, 3, "a");
    add(&batch, 4, "a");
    batch_plan(&batch, &nobody, false);
    struct sink_event *events[16];
    assert_int_equal(batch.wave_max, 2);
    assert_int_equal(batch_wave(&batch, 0, events), 2);
    assert_int_equal(events[0]->id, 1);
    assert_int_equal(batch_wave(&batch, 1, events), 1);
    assert_int_equal(events[0]->id, 3);
    assert_int_equal(batch_wave(&batch, 2, events), 1);
    assert_non_null(strstr(events[0]->body, "\"aggregateId\":\"a\""));
    batch_done(&batch);
}

static void batch_plan__when_rows_are_late__then_sorted_by_id(void **state) {
    struct batch batch = begun();
    add(&batch, 9, "a");
    batch.late = true;
    add(&batch, 3, "b");
    batch_plan(&batch, &nobody, false);
    assert_int_equal(batch.items[0].event.id, 3);
    assert_true(batch.items[0].late && !batch.items[1].late);
    batch_done(&batch);
}

static void batch_plan__when_late_rows_have_no_room__then_no_new_one_goes(void **state) {
    struct batch batch = begun();
    add(&batch, 5000, "new");
    batch.late = true;
    for (int64_t id = 1; id <= BATCH_ROWS_MAX + 1; id++) add(&batch, id, "late");
    batch_plan(&batch, &nobody, false);
    assert_true(batch.late_cut);
    assert_int_equal(batch.count, BATCH_ROWS_MAX);
    assert_int_equal(batch.items[batch.count - 1].event.id, BATCH_ROWS_MAX);
    batch_done(&batch);
}

static void batch_add__when_not_our_part__then_passed_over(void **state) {
    struct batch batch = begun();
    batch_begin(&batch, 1);
    add(&batch, 1, "a");
    batch_plan(&batch, &nobody, false);
    assert_int_equal(batch.items[0].state, ITEM_NOT_OURS);
    assert_int_equal(batch_end(&batch), INT64_MAX);
    batch_done(&batch);
}

static void batch_plan__when_parked__then_held(void **state) {
    struct batch batch = begun();
    struct keys parked = {0};
    (void)keys_add(&parked, "a");
    add(&batch, 1, "a");
    add(&batch, 2, "b");
    batch_plan(&batch, &parked, false);
    assert_int_equal(batch.items[0].state, ITEM_HELD);
    assert_int_equal(batch.items[1].state, ITEM_TO_SEND);
    keys_done(&parked);
    batch_done(&batch);
}

static void batch_wave__when_the_one_before_was_refused__then_held(void **state) {
    struct batch batch = begun();
    add(&batch, 1, "a");
    add(&batch, 2, "b");
    add(&batch, 3, "a");
    add(&batch, 4, "b");
    batch_plan(&batch, &nobody, false);
    assert_int_equal(send_wave(&batch, 0, 1, SINK_REFUSED), 2);
    assert_true(batch_note_wave(&batch, 0));
    assert_int_equal(send_wave(&batch, 1, 0, SINK_SENT), 1);
    assert_true(batch_note_wave(&batch, 1));
    assert_int_equal(batch.items[0].state, ITEM_REFUSED);
    assert_int_equal(batch.items[2].state, ITEM_HELD);
    assert_int_equal(batch.items[3].state, ITEM_SENT);
    assert_int_equal(batch_end(&batch), INT64_MAX);
    batch_done(&batch);
}

static void batch_plan__when_the_sink_keeps_the_order__then_a_wave_of_one_type(void **state) {
    struct batch batch = begun();
    add(&batch, 1, "a");
    add(&batch, 2, "a");
    add(&batch, 3, "b");
    add(&batch, 4, "a");
    (void)text_copy(batch.items[3].type, sizeof batch.items[3].type, "order.cancelled");
    batch_plan(&batch, &nobody, true);
    struct sink_event *events[16];
    assert_int_equal(batch.wave_max, 1);
    assert_int_equal(batch.items[3].wave, 1);
    assert_int_equal(batch_wave(&batch, 0, events), 3);
    events[0]->outcome = SINK_REFUSED;
    events[1]->outcome = SINK_AWAY; /* not sent, because of the one before */
    events[2]->outcome = SINK_SENT;
    assert_true(batch_note_wave(&batch, 0));
    assert_int_equal(batch.items[1].state, ITEM_HELD);
    assert_int_equal(batch_wave(&batch, 1, events), 0);
    assert_int_equal(batch.items[3].state, ITEM_HELD);
    assert_int_equal(batch_end(&batch), INT64_MAX);
    batch_done(&batch);
}

/* An event of a later wave may stand before the one that was away. */
static void batch_end__when_a_wave_is_away__then_before_everything_unsent(void **state) {
    struct batch batch = begun();
    add(&batch, 1, "a");
    add(&batch, 2, "a");
    add(&batch, 3, "b");
    batch_plan(&batch, &nobody, false);
    (void)send_wave(&batch, 0, 3, SINK_AWAY);
    assert_false(batch_note_wave(&batch, 0));
    assert_int_equal(batch_end(&batch), 2);
    batch_done(&batch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_plan__when_an_aggregate_repeats__then_each_event_has_its_own_wave),
        cmocka_unit_test(batch_plan__when_rows_are_late__then_sorted_by_id),
        cmocka_unit_test(batch_plan__when_late_rows_have_no_room__then_no_new_one_goes),
        cmocka_unit_test(batch_add__when_not_our_part__then_passed_over),
        cmocka_unit_test(batch_plan__when_parked__then_held),
        cmocka_unit_test(batch_wave__when_the_one_before_was_refused__then_held),
        cmocka_unit_test(batch_plan__when_the_sink_keeps_the_order__then_a_wave_of_one_type),
        cmocka_unit_test(batch_end__when_a_wave_is_away__then_before_everything_unsent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
