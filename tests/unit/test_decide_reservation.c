/* domain/decide_reservation.c: what each command does to a reservation, in each of its states. */
#include "base/memory.h"
#include "domain/decide.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define NOW INT64_C(1796083200000)

static struct world world;
static struct reservation_cell *cell;
static struct line two_lamps[] = {{1, 2}, {2, 1}};

/* Products 1 and 2 with 10 pieces each; the reservation of shop's order 42 is named and does not stand. */
static int set_up(void **state) {
    world = world_new(0, 0);
    world.now_ms = NOW;
    world.stocks = mem_array(2, sizeof world.stocks[0]);
    world.stock_count = 2;
    for (int i = 0; i < 2; i++)
        world.stocks[i].row = (struct stock_row){.product_id = i + 1,
                                                 .stock = 10,
                                                 .version = 7,
                                                 .ledger_stock = 10,
                                                 .ledger_version = 7,
                                                 .has_product = true};
    world.reservations = mem_array(1, sizeof world.reservations[0]);
    world.reservation_count = 1;
    cell = &world.reservations[0];
    cell->row.ref = (struct reservation_ref){"shop", "42"};
    return 0;
}

static int tear_down(void **state) {
    world_done(&world);
    return 0;
}

static struct decision run(enum command_kind kind) {
    struct decision decision;
    struct command command = {.kind = kind, .lines = two_lamps, .line_count = kind == COMMAND_RESERVE ? 2 : 0};
    command.reservation.ref = cell->row.ref;
    command.reservation.ttl_ms = 60000;
    command.reservation.overdue_ms = 1000;
    decide(&world, &command, 0, &decision);
    return decision;
}

static void check_stock(int64_t one, int64_t two) {
    assert_int_equal(world.stocks[0].row.stock, one);
    assert_int_equal(world.stocks[1].row.stock, two);
}

static void check_told(const struct decision *decision, enum error error, enum reservation_status status) {
    assert_int_equal(decision->error, error);
    assert_int_equal(decision->event_count, 1);
    assert_int_equal(decision->events[0], EVENT_RESERVATION_RESULT);
    assert_ptr_equal(decision->reservation, cell);
    assert_int_equal(cell->row.status, status);
}

static void check_refused(enum command_kind kind, enum error error) {
    int64_t version = cell->row.version;
    size_t movements = world.movement_count;
    struct decision decision = run(kind);
    assert_int_equal(decision.error, error);
    assert_int_equal(decision.event_count, 0);
    assert_int_equal(cell->row.version, version);
    assert_int_equal(world.movement_count, movements);
}

/* The same answer again, nothing changed. */
static void check_repeated(enum command_kind kind) {
    check_refused(kind, ERROR_NONE);
    assert_false(run(kind).created);
}

static void reserve__enough_stock__takes_it_and_explains_it(void **state) {
    struct decision decision = run(COMMAND_RESERVE);
    check_told(&decision, ERROR_NONE, RESERVATION_RESERVED);
    assert_true(decision.created);
    check_stock(8, 9);
    assert_int_equal(cell->row.version, 1);
    assert_int_equal(cell->row.created_at_ms, NOW);
    assert_int_equal(cell->row.expires_at_ms, NOW + 60000);
    assert_int_equal(world.movement_count, 2);
    assert_string_equal(world.movements[1].order_ref, "r:shop:42");
    assert_int_equal(world.movements[1].kind, MOVEMENT_ORDER);
    assert_int_equal(world.movements[1].line_no, 1);
    check_repeated(COMMAND_RESERVE);
}

static void reserve__one_line_short__fails_for_good_and_takes_nothing(void **state) {
    world.stocks[1].row.stock = 0;
    struct decision decision = run(COMMAND_RESERVE);
    check_told(&decision, ERROR_INSUFFICIENT_STOCK, RESERVATION_FAILED);
    assert_int_equal(decision.product_id, 2);
    assert_string_equal(cell->row.reason, "OUT_OF_STOCK");
    assert_non_null(strstr(decision.detail, "FAILED"));
    assert_int_equal(cell->row.expires_at_ms, 0);
    check_stock(10, 0);
    world.stocks[1].row.stock = 5;
    check_refused(COMMAND_RESERVE, ERROR_RESERVATION_STATE);
    check_refused(COMMAND_RESERVATION_CONFIRM, ERROR_RESERVATION_STATE);
    check_refused(COMMAND_RESERVATION_SWEEP, ERROR_RESERVATION_STATE);
    check_repeated(COMMAND_RESERVATION_RELEASE);
}

static void reserve__unknown_product__leaves_nothing(void **state) {
    world.stocks[1].row.has_product = false;
    check_refused(COMMAND_RESERVE, ERROR_PRODUCT_NOT_FOUND);
    assert_false(cell->exists);
    assert_false(cell->changed);
}

static void reserve__other_items__differ(void **state) {
    (void)run(COMMAND_RESERVE);
    two_lamps[0].quantity = 3;
    check_refused(COMMAND_RESERVE, ERROR_RESERVATION_DIFFERS);
    (void)run(COMMAND_RESERVATION_CONFIRM);
    check_refused(COMMAND_RESERVE, ERROR_RESERVATION_DIFFERS);
    two_lamps[0].quantity = 2;
    check_repeated(COMMAND_RESERVE);
}

static void confirm__reserved__keeps_the_stock_for_good(void **state) {
    check_refused(COMMAND_RESERVATION_CONFIRM, ERROR_RESERVATION_NOT_FOUND);
    (void)run(COMMAND_RESERVE);
    struct decision decision = run(COMMAND_RESERVATION_CONFIRM);
    check_told(&decision, ERROR_NONE, RESERVATION_CONFIRMED);
    assert_int_equal(cell->row.confirmed_at_ms, NOW);
    check_repeated(COMMAND_RESERVATION_CONFIRM);
    check_refused(COMMAND_RESERVATION_RELEASE, ERROR_RESERVATION_STATE);
    world.now_ms += 100000;
    check_refused(COMMAND_RESERVATION_SWEEP, ERROR_RESERVATION_STATE);
    check_stock(8, 9);
}

static void confirm__past_its_time__wins_until_the_sweep(void **state) {
    (void)run(COMMAND_RESERVE);
    world.now_ms += 100000;
    struct decision decision = run(COMMAND_RESERVATION_CONFIRM);
    check_told(&decision, ERROR_NONE, RESERVATION_CONFIRMED);
}

static void release__reserved__gives_back_once(void **state) {
    (void)run(COMMAND_RESERVE);
    struct decision decision = run(COMMAND_RESERVATION_RELEASE);
    check_told(&decision, ERROR_NONE, RESERVATION_RELEASED);
    assert_string_equal(cell->row.reason, "CANCELLED");
    assert_int_equal(cell->row.released_at_ms, NOW);
    check_stock(10, 10);
    assert_int_equal(world.movements[2].kind, MOVEMENT_RESTORE);
    check_repeated(COMMAND_RESERVATION_RELEASE);
    check_refused(COMMAND_RESERVATION_CONFIRM, ERROR_RESERVATION_STATE);
    check_refused(COMMAND_RESERVE, ERROR_RESERVATION_STATE);
    check_refused(COMMAND_RESERVATION_SWEEP, ERROR_RESERVATION_STATE);
}

static void release__first__leaves_a_tombstone(void **state) {
    struct decision decision = run(COMMAND_RESERVATION_RELEASE);
    check_told(&decision, ERROR_NONE, RESERVATION_CANCEL_REQUESTED);
    assert_int_equal(cell->row.version, 1);
    check_repeated(COMMAND_RESERVATION_RELEASE);
    check_refused(COMMAND_RESERVE, ERROR_RESERVATION_STATE);
    check_refused(COMMAND_RESERVATION_CONFIRM, ERROR_RESERVATION_STATE);
    check_stock(10, 10);
}

static void release__stock_row_gone__changes_nothing(void **state) {
    (void)run(COMMAND_RESERVE);
    world.stock_count = 1;
    check_refused(COMMAND_RESERVATION_RELEASE, ERROR_PRODUCT_NOT_FOUND);
    assert_int_equal(cell->row.status, RESERVATION_RESERVED);
}

static void sweep__in_its_time__keeps_it_and_later_gives_back(void **state) {
    check_refused(COMMAND_RESERVATION_SWEEP, ERROR_RESERVATION_NOT_FOUND);
    (void)run(COMMAND_RESERVE);
    world.now_ms += 61000; /* its time, and the second of grace */
    check_refused(COMMAND_RESERVATION_SWEEP, ERROR_RESERVATION_STATE);
    world.now_ms++;
    struct decision decision = run(COMMAND_RESERVATION_SWEEP);
    check_told(&decision, ERROR_NONE, RESERVATION_RELEASED);
    assert_string_equal(cell->row.reason, "EXPIRED");
    check_stock(10, 10);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(reserve__enough_stock__takes_it_and_explains_it),
        CASE(reserve__one_line_short__fails_for_good_and_takes_nothing),
        CASE(reserve__unknown_product__leaves_nothing),
        CASE(reserve__other_items__differ),
        CASE(confirm__reserved__keeps_the_stock_for_good),
        CASE(confirm__past_its_time__wins_until_the_sweep),
        CASE(release__reserved__gives_back_once),
        CASE(release__first__leaves_a_tombstone),
        CASE(release__stock_row_gone__changes_nothing),
        CASE(sweep__in_its_time__keeps_it_and_later_gives_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
