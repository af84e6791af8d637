/* facade/answer.c: decisions as status, headers and document. */
#include "facade/answer.h"
#include "unit.h"

#include <string.h>

static struct rider *rider;

static int set_up(void **state) {
    rider = rider_new(COMMAND_ORDER_CREATE, 0);
    (void)text_format(rider->request_id, sizeof rider->request_id, "req-1");
    return 0;
}

static int tear_down(void **state) {
    rider = rider_free(rider);
    return 0;
}

static bool body_has(const char *part) { return strstr(text_str(&rider->answer.body), part) != NULL; }

static void decision__created__has_location_and_etag(void **state) {
    struct order order = {.id = 42, .version = 0};
    answer_decision(rider, &(struct decision){.created = true, .order = &order});
    assert_int_equal(rider->answer.status, 201);
    assert_string_equal(rider->answer.location, "/v1/orders/42");
    assert_string_equal(rider->answer.etag, "\"0\"");
    assert_true(body_has("\"id\":42"));
}

static void decision__insufficient__names_what_is_there(void **state) {
    answer_decision(
        rider, &(struct decision){
                   .error = ERROR_INSUFFICIENT_STOCK, .product_id = 7, .requested = 3, .available = 2, .version = 9});
    assert_int_equal(rider->answer.status, 409);
    assert_true(body_has("\"code\":\"PRD-002\""));
    assert_true(body_has("\"productId\":7,\"requested\":3,\"available\":2,\"version\":9"));
    assert_true(body_has("\"requestId\":\"req-1\""));
    assert_string_equal(rider->answer.etag, "");
}

static void decision__state_conflict__lists_what_may_follow(void **state) {
    struct order order = {.status = ORDER_SHIPPED};
    answer_decision(rider, &(struct decision){.error = ERROR_ORDER_STATE, .order = &order});
    assert_true(body_has("\"orderStatus\":\"SHIPPED\",\"allowed\":[\"DELIVERED\"]"));
}

static void decision__version_mismatch__carries_the_current_etag(void **state) {
    answer_decision(rider, &(struct decision){.error = ERROR_VERSION_MISMATCH, .version = 9});
    assert_int_equal(rider->answer.status, 412);
    assert_string_equal(rider->answer.etag, "\"9\"");
}

static void problem__an_inner_error__is_shown_as_its_public_one(void **state) {
    answer_problem(rider, ERROR_DEADLOCK, NULL, NULL);
    assert_int_equal(rider->answer.error, ERROR_UNAVAILABLE);
    assert_int_equal(rider->answer.status, 503);
    answer_problem(rider, ERROR_COMMIT_UNKNOWN, NULL, NULL); /* replaces the earlier one */
    assert_true(body_has("SYS-012"));
    assert_false(body_has("SYS-011"));
}

static void decision__reserved__has_location_and_etag(void **state) {
    struct line items[] = {{7, 2}};
    struct reservation_cell cell = {.row = {.ref = {"shop", "a/b"}, .items = items, .item_count = 1, .version = 1}};
    answer_decision(rider, &(struct decision){.created = true, .reservation = &cell});
    assert_int_equal(rider->answer.status, 201);
    assert_string_equal(rider->answer.location, "/v1/reservations/a%2Fb");
    assert_string_equal(rider->answer.etag, "\"1\"");
    answer_decision(rider, &(struct decision){.reservation = &cell});
    assert_int_equal(rider->answer.status, 200);
    assert_string_equal(rider->answer.location, "");
}

static void decision__reservation_state__is_named(void **state) {
    struct reservation_cell cell = {.row = {.status = RESERVATION_CANCEL_REQUESTED}};
    answer_decision(rider, &(struct decision){.error = ERROR_RESERVATION_STATE, .reservation = &cell});
    assert_int_equal(rider->answer.status, 409);
    assert_true(body_has("\"reservationStatus\":\"CANCEL_REQUESTED\""));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(decision__created__has_location_and_etag),
        CASE(decision__insufficient__names_what_is_there),
        CASE(decision__state_conflict__lists_what_may_follow),
        CASE(decision__version_mismatch__carries_the_current_etag),
        CASE(problem__an_inner_error__is_shown_as_its_public_one),
        CASE(decision__reserved__has_location_and_etag),
        CASE(decision__reservation_state__is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
