/* facade/rider.c: what makes two requests the same. */
#include "facade/rider.h"
#include "unit.h"

#include <string.h>

static struct rider *order(const char *user, int64_t product, int64_t quantity, const char *credential,
                           const char *key) {
    struct rider *rider = rider_new(COMMAND_ORDER_CREATE, 1);
    rider->lines[0] = (struct line){product, quantity};
    (void)text_format(rider->command.create.user_id, sizeof rider->command.create.user_id, "%s", user);
    rider_set_key(rider, credential, "POST /v1/orders", key);
    return rider;
}

static bool same(const unsigned char *a, const unsigned char *b) { return memcmp(a, b, DIGEST_SIZE) == 0; }

static void set_key__the_same_command__has_the_same_scope_and_fingerprint(void **state) {
    struct rider *a = order("u", 1, 2, "shop", "k"), *b = order("u", 1, 2, "shop", "k");
    assert_true(same(a->key_hash, b->key_hash));
    assert_true(same(a->fingerprint, b->fingerprint));
    assert_string_not_equal(a->command.event_id, b->command.event_id);
    rider_free(a);
    rider_free(b);
}

static void set_key__any_other_detail__has_another_fingerprint(void **state) {
    struct rider *base = order("u", 1, 2, "shop", "k");
    struct rider *others[] = {order("v", 1, 2, "shop", "k"), order("u", 2, 2, "shop", "k"),
                              order("u", 1, 3, "shop", "k")};
    for (size_t i = 0; i < 3; i++) {
        assert_true(same(base->key_hash, others[i]->key_hash));
        assert_false(same(base->fingerprint, others[i]->fingerprint));
        rider_free(others[i]);
    }
    rider_free(base);
}

static void set_key__another_credential_or_key__is_another_scope(void **state) {
    struct rider *base = order("u", 1, 2, "shop", "k");
    struct rider *others[] = {order("u", 1, 2, "shop2", "k"), order("u", 1, 2, "shop", "k2"),
                              order("u", 1, 2, "sho", "pk")};
    for (size_t i = 0; i < 3; i++) {
        assert_false(same(base->key_hash, others[i]->key_hash));
        rider_free(others[i]);
    }
    rider_free(base);
}

static void set_key__none__leaves_the_rider_without(void **state) {
    struct rider *rider = order("u", 1, 2, "shop", NULL);
    assert_false(rider->has_key);
    rider_free(rider);
}

static struct rider *payment(bool completed, int64_t amount) {
    struct rider *rider = rider_new(COMMAND_PAYMENT, 0);
    rider->command.order_id = 42;
    rider->command.payment.completed = completed;
    rider->command.payment.amount = amount;
    rider_set_key(rider, "shop", "POST /v1/orders/{id}/payment", "k");
    return rider;
}

static void fingerprint__of_a_payment__ignores_the_lines_looked_up_later(void **state) {
    struct rider *a = payment(false, 5), *b = payment(false, 5), *c = payment(true, 5);
    assert_true(same(a->fingerprint, b->fingerprint));
    assert_false(same(a->fingerprint, c->fingerprint));
    struct line line = {1, 1};
    b->command.lines = &line;
    b->command.line_count = 1;
    rider_set_key(b, "shop", "POST /v1/orders/{id}/payment", "k");
    assert_true(same(a->fingerprint, b->fingerprint));
    b->command.line_count = 0;
    rider_free(a);
    rider_free(b);
    rider_free(c);
}

static struct rider *reserve(const char *order_id, int64_t quantity, int64_t ttl_ms) {
    struct rider *rider = rider_for_reservation(COMMAND_RESERVE, "shop", order_id, 1);
    rider->lines[0] = (struct line){1, quantity};
    rider->command.reservation.ttl_ms = ttl_ms;
    rider_set_key(rider, "shop", "POST /v1/reservations", "k");
    return rider;
}

static void fingerprint__of_a_reservation__covers_order_items_and_time(void **state) {
    struct rider *base = reserve("42", 1, 1000);
    struct rider *others[] = {reserve("42", 1, 1000), reserve("43", 1, 1000), reserve("42", 2, 1000),
                              reserve("42", 1, 2000)};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(same(base->fingerprint, others[i]->fingerprint), i == 0);
        rider_free(others[i]);
    }
    rider_free(base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_key__the_same_command__has_the_same_scope_and_fingerprint),
        cmocka_unit_test(set_key__any_other_detail__has_another_fingerprint),
        cmocka_unit_test(set_key__another_credential_or_key__is_another_scope),
        cmocka_unit_test(set_key__none__leaves_the_rider_without),
        cmocka_unit_test(fingerprint__of_a_payment__ignores_the_lines_looked_up_later),
        cmocka_unit_test(fingerprint__of_a_reservation__covers_order_items_and_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
