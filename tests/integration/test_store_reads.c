/* store/: products, lists and the audit against a real server. */
#include "store_stand.h"

/* -- products -- */

static struct event changed_event(void) {
    struct event event = {.aggregate_type = "PRODUCT",
                          .aggregate_id = "1",
                          .event_type = "stock.changed",
                          .payload = "{}",
                          .payload_len = 2};
    text_uuid(event.event_id);
    return event;
}

static void products_put__when_new__then_product_stock_ledger_and_event(void **state) {
    struct stand *stand = *state;
    struct event changed = changed_event();
    struct product product;
    struct stock_row row;
    bool created;
    MUST(products_put(stand->db, 1, "Caf\xc3\xa9", 500, 20, &changed, &created, &product));
    assert_true(created);
    assert_int_equal(product.id, 1);
    assert_string_equal(product.name, "Caf\xc3\xa9");
    assert_int_equal(product.price, 500);
    assert_string_equal(product.status, "ON_SALE");
    assert_int_equal(product.version, 0);
    assert_true(product.created_at_ms > 1700000000000 && product.created_at_ms == product.updated_at_ms);
    MUST(inventory_read(stand->db, 1, &row));
    assert_int_equal(row.stock, 20);
    assert_int_equal(row.version, 0);
    assert_int_equal(row.ledger_stock, 20);
    assert_int_equal(row.ledger_version, 0);
    assert_true(row.has_product);
    assert_int_equal(row.price, 500);
    assert_int_equal(stand_number(stand->db,
                                  "SELECT COUNT(*) FROM stock_movements WHERE kind = 'INITIAL' AND delta = 20 "
                                  "AND stock_after = 20 AND version = 0"),
                     1);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM outbox_events"), 1);
}

static void products_put__when_there__then_name_and_price_only(void **state) {
    struct stand *stand = *state;
    struct product product;
    bool created;
    MUST(products_put(stand->db, 1, "a", 500, 20, NULL, &created, &product));
    MUST(products_put(stand->db, 1, "b", 600, -1, NULL, &created, &product));
    assert_false(created);
    assert_string_equal(product.name, "b");
    assert_int_equal(product.price, 600);
    assert_int_equal(product.version, 1);
    MUST(products_put(stand->db, 1, "b", 600, 20, NULL, &created, &product)); /* a repeat, with the first stock */
    assert_int_equal(product.version, 1);
    assert_int_equal(stand_number(stand->db, "SELECT stock FROM inventories"), 20);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM stock_movements"), 1);
}

static void products_put__when_another_stock_than_the_first__then_invalid_and_nothing_changed(void **state) {
    struct stand *stand = *state;
    struct product product;
    bool created;
    MUST(products_put(stand->db, 1, "a", 500, 20, NULL, &created, &product));
    stand_run(stand->db, "UPDATE inventories SET stock = 7, version = 1");
    MUST_FAIL(INVALID_REQUEST, products_put(stand->db, 1, "b", 600, 7, NULL, &created, &product));
    MUST(products_read(stand->db, 1, &product));
    assert_string_equal(product.name, "a");
    MUST(products_put(stand->db, 1, "b", 600, 20, NULL, &created, &product));
}

static void products_put__when_stock_is_not_given__then_zero(void **state) {
    struct stand *stand = *state;
    struct product product;
    bool created;
    MUST(products_put(stand->db, 1, "a", 500, -1, NULL, &created, &product));
    assert_int_equal(stand_number(stand->db, "SELECT stock FROM inventories"), 0);
}

static void products_put__when_a_foreign_stock_row_stands__then_left_as_it_is(void **state) {
    struct stand *stand = *state;
    struct event changed = changed_event();
    struct product product;
    bool created;
    stand_run(stand->db, "INSERT INTO inventories (product_id, stock, version) VALUES (1, 33, 4)");
    MUST_FAIL(INVALID_REQUEST, products_put(stand->db, 1, "a", 500, 20, &changed, &created, &product));
    MUST(products_put(stand->db, 1, "a", 500, -1, &changed, &created, &product));
    assert_true(created);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM inventories WHERE stock = 33 AND version = 4 AND "
                                             "ledger_version IS NULL"),
                     1);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM outbox_events"), 0);
}

static void products_put__when_data_is_refused__then_nothing_is_left(void **state) {
    struct stand *stand = *state;
    struct product product;
    char name[400];
    bool created;
    memset(name, 'n', sizeof name);
    name[300] = '\0';
    MUST_FAIL(BAD_DATA, products_put(stand->db, 1, name, 500, 20, NULL, &created, &product));
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM inventories"), 0);
    MUST_FAIL(INTERNAL, db_commit(stand->db)); /* and no transaction stays open */
    MUST_FAIL(PRODUCT_NOT_FOUND, products_read(stand->db, 1, &product));
}

struct seen_ids {
    size_t count;
    int64_t ids[16];
};

static void see_product(void *arg, const struct product *row) {
    struct seen_ids *seen = arg;
    seen->ids[seen->count++] = row->id;
}

static void products_list__when_paged__then_ascending_after_the_last(void **state) {
    struct stand *stand = *state;
    struct seen_ids seen = {0};
    stand_products(stand->db, 5, 1);
    MUST(products_list(stand->db, 0, 2, see_product, &seen));
    MUST(products_list(stand->db, seen.ids[1], 2, see_product, &seen));
    MUST(products_list(stand->db, seen.ids[3], 2, see_product, &seen));
    assert_int_equal(seen.count, 5);
    for (int i = 0; i < 5; i++) assert_int_equal(seen.ids[i], (i + 1) * 10);
}

static void inventory_read__when_missing__then_product_not_found(void **state) {
    struct stand *stand = *state;
    struct stock_row row;
    MUST_FAIL(PRODUCT_NOT_FOUND, inventory_read(stand->db, 1, &row));
    stand_run(stand->db, "INSERT INTO inventories (product_id, stock) VALUES (1, 3)");
    MUST(inventory_read(stand->db, 1, &row));
    assert_false(row.has_product);
}

/* -- lists -- */

static void see_movement(void *arg, const struct movement_row *row) {
    struct seen_ids *seen = arg;
    assert_int_equal(row->at_ms, 1700000000123);
    assert_int_equal(row->movement.kind, MOVEMENT_ADJUST);
    assert_string_equal(row->movement.reason, "r");
    assert_string_equal(row->movement.order_ref, "");
    seen->ids[seen->count++] = row->movement.delta;
}

static void movements_list__when_paged__then_newest_first_of_that_product(void **state) {
    struct stand *stand = *state;
    struct seen_ids seen = {0};
    stand_products(stand->db, 2, 1);
    for (int i = 1; i <= 3; i++) {
        struct movement both[] = {{.product_id = 10, .kind = MOVEMENT_ADJUST, .delta = i, .reason = "r"},
                                  {.product_id = 20, .kind = MOVEMENT_ADJUST, .delta = 100, .reason = "r"}};
        MUST(movements_insert(stand->db, both, 2, 1700000000123));
    }
    MUST(movements_list(stand->db, 10, INT64_MAX, 2, see_movement, &seen));
    assert_int_equal(seen.count, 2);
    int64_t last = stand_number(stand->db, "SELECT id FROM stock_movements WHERE product_id = 10 AND delta = 2");
    MUST(movements_list(stand->db, 10, last, 2, see_movement, &seen));
    static const int64_t deltas[] = {3, 2, 1};
    assert_int_equal(seen.count, 3);
    assert_memory_equal(seen.ids, deltas, sizeof deltas);
    MUST_FAIL(PRODUCT_NOT_FOUND, movements_list(stand->db, 30, INT64_MAX, 2, see_movement, &seen));
}

static void insert_orders(struct db *db) {
    static struct order_item items[] = {{10, 1, 100}, {20, 2, 200}};
    static const enum order_status statuses[] = {ORDER_PENDING, ORDER_CANCELLED, ORDER_PENDING, ORDER_SHIPPED};
    struct order rows[4];
    for (int i = 0; i < 4; i++) {
        rows[i] = (struct order){.id = i + 1,
                                 .status = statuses[i],
                                 .ordered_at_ms = 1700000000000,
                                 .expires_at_ms = 1700000001000,
                                 .items = items,
                                 .item_count = 2};
        snprintf(rows[i].user_id, sizeof rows[i].user_id, i < 3 ? "u-1" : "U-1");
        order_number(rows[i].id, rows[i].ordered_at_ms, rows[i].number);
    }
    MUST(orders_insert(db, rows, 4));
    MUST(order_items_insert(db, rows, 4));
}

static void see_order(void *arg, const struct order *row) {
    struct seen_ids *seen = arg;
    assert_int_equal(row->item_count, 2);
    assert_int_equal(row->items[1].product_id, 20);
    seen->ids[seen->count++] = row->id;
}

static void orders_list__by_user_and_status__then_newest_first_with_items(void **state) {
    struct stand *stand = *state;
    static const struct {
        const char *user;
        int status;
        int64_t before;
        size_t limit, count;
        int64_t ids[4];
    } cases[] = {
        {NULL, -1, INT64_MAX, 10, 4, {4, 3, 2, 1}},
        {NULL, -1, 3, 10, 2, {2, 1}},
        {NULL, -1, INT64_MAX, 2, 2, {4, 3}},
        {"u-1", -1, INT64_MAX, 10, 3, {3, 2, 1}},
        {"U-1", -1, INT64_MAX, 10, 1, {4}},
        {NULL, ORDER_PENDING, INT64_MAX, 10, 2, {3, 1}},
        {"u-1", ORDER_CANCELLED, INT64_MAX, 10, 1, {2}},
        {"u-2", -1, INT64_MAX, 10, 0, {0}},
    };
    insert_orders(stand->db);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct seen_ids seen = {0};
        MUST(orders_list(stand->db, cases[i].user, cases[i].status, cases[i].before, cases[i].limit, see_order, &seen));
        assert_int_equal(seen.count, cases[i].count);
        assert_memory_equal(seen.ids, cases[i].ids, seen.count * sizeof *seen.ids);
    }
}

static void see_compensation(void *arg, const struct compensation *row) {
    struct seen_ids *seen = arg;
    seen->ids[seen->count++] = row->id;
}

static void compensations_resolve__when_repeated__then_the_same_else_not_found(void **state) {
    struct stand *stand = *state;
    struct compensation rows[] = {{.order_id = 1, .reason = "PAID_TWICE"}, {.order_id = 2, .reason = "PAID_TWICE"}};
    struct compensation first, second;
    struct seen_ids all = {0}, open = {0};
    MUST(compensations_insert(stand->db, rows, 2, 1700000000000));
    MUST(compensations_list(stand->db, NULL, INT64_MAX, 10, see_compensation, &all));
    assert_int_equal(all.count, 2);
    assert_true(all.ids[0] > all.ids[1]);
    MUST(compensations_resolve(stand->db, all.ids[0], &first));
    MUST(compensations_resolve(stand->db, all.ids[0], &second));
    assert_string_equal(first.status, "RESOLVED");
    assert_true(first.resolved_at_ms > 0);
    assert_int_equal(first.resolved_at_ms, second.resolved_at_ms);
    MUST(compensations_list(stand->db, "OPEN", INT64_MAX, 10, see_compensation, &open));
    assert_int_equal(open.count, 1);
    assert_int_equal(open.ids[0], all.ids[1]);
    MUST_FAIL(NOT_FOUND, compensations_resolve(stand->db, all.ids[0] + 1, &first));
}

/* -- audit -- */

struct findings {
    size_t count;
    struct audit_finding rows[16];
};

static void see_finding(void *arg, const struct audit_finding *finding) {
    struct findings *findings = arg;
    findings->rows[findings->count++] = *finding;
}

static struct findings audit(struct db *db, size_t max) {
    struct findings findings = {0};
    int64_t products, checked_at_ms, now_ms;
    MUST(audit_run(db, max, &products, &checked_at_ms, see_finding, &findings));
    MUST(db_now(db, &now_ms));
    assert_in_range(now_ms - checked_at_ms, 0, 10000);
    assert_int_equal(products, stand_number(db, "SELECT COUNT(*) FROM (SELECT product_id FROM inventories UNION SELECT "
                                                "product_id FROM stock_movements) p"));
    return findings;
}

/* Three products of 20; one unit of the first sold by a PENDING order, one sold and restored by a CANCELLED one. */
static void make_books(struct db *db) {
    struct product product;
    bool created;
    for (int id = 1; id <= 3; id++) MUST(products_put(db, id, "p", 1, 20, NULL, &created, &product));
    struct order_item item = {1, 1, 1};
    struct order rows[2] = {{.id = 1,
                             .number = "n1",
                             .status = ORDER_PENDING,
                             .ordered_at_ms = 1,
                             .expires_at_ms = 1,
                             .items = &item,
                             .item_count = 1},
                            {.id = 2,
                             .number = "n2",
                             .status = ORDER_CANCELLED,
                             .ordered_at_ms = 1,
                             .expires_at_ms = 1,
                             .items = &item,
                             .item_count = 1}};
    struct movement moves[] = {
        {.product_id = 1, .kind = MOVEMENT_ORDER, .delta = -1, .stock_after = 19, .version = 1, .order_ref = "o:1"},
        {.product_id = 1, .kind = MOVEMENT_ORDER, .delta = -1, .stock_after = 18, .version = 1, .order_ref = "o:2"},
        {.product_id = 1, .kind = MOVEMENT_RESTORE, .delta = 1, .stock_after = 19, .version = 1, .order_ref = "o:2"}};
    struct stock_row row = {.product_id = 1, .stock = 19, .version = 1};
    int64_t expected = 0;
    MUST(orders_insert(db, rows, 2));
    MUST(order_items_insert(db, rows, 2));
    MUST(movements_insert(db, moves, 3, 1));
    MUST(inventories_update(db, &row, &expected, 1, true));
}

static void audit_run__when_books_agree__then_nothing(void **state) {
    struct stand *stand = *state;
    make_books(stand->db);
    assert_int_equal(audit(stand->db, 10).count, 0);
    MUST_FAIL(INTERNAL, db_commit(stand->db)); /* its snapshot is closed */
}

static void audit_run__when_one_thing_is_wrong__then_that_finding(void **state) {
    struct stand *stand = *state;
    static const struct {
        const char *change, *kind;
        int64_t product_id;
    } cases[] = {
        {"UPDATE inventories SET stock = 18 WHERE product_id = 1", "ledger-differs", 1},
        {"DELETE FROM stock_movements WHERE product_id = 2", "ledger-differs", 2},
        {"DELETE FROM inventories WHERE product_id = 3", "ledger-differs", 3},
        {"UPDATE orders SET status = 'CANCELLED' WHERE id = 1", "orders-differ", 1},
        {"UPDATE order_items SET quantity = 2 WHERE order_id = 1", "orders-differ", 1},
        {"UPDATE orders SET status = 'PENDING' WHERE id = 2", "orders-differ", 1},
        {"UPDATE inventories SET stock = 7, version = version + 1 WHERE product_id = 2", "foreign", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stand_empty(stand->db);
        make_books(stand->db);
        stand_run(stand->db, "%s", cases[i].change);
        struct findings findings = audit(stand->db, 10);
        assert_int_equal(findings.count, 1);
        assert_string_equal(findings.rows[0].kind, cases[i].kind);
        assert_int_equal(findings.rows[0].product_id, cases[i].product_id);
    }
}

static void audit_run__when_stock_is_negative__then_negative_stock(void **state) {
    struct stand *stand = *state;
    make_books(stand->db);
    stand_run(stand->db, "ALTER TABLE inventories DROP CONSTRAINT ck_inventories_stock");
    stand_run(stand->db, "UPDATE inventories SET stock = -1, ledger_stock = -1 WHERE product_id = 3");
    stand_run(stand->db, "UPDATE stock_movements SET delta = -1 WHERE product_id = 3");
    struct findings findings = audit(stand->db, 10);
    stand_run(stand->db, "DELETE FROM inventories WHERE stock < 0");
    stand_run(stand->db, "ALTER TABLE inventories ADD CONSTRAINT ck_inventories_stock CHECK (stock >= 0)");
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.rows[0].kind, "negative-stock");
    assert_int_equal(findings.rows[0].stock, -1);
}

static void audit_run__when_more_findings_than_asked__then_at_most_those(void **state) {
    struct stand *stand = *state;
    make_books(stand->db);
    stand_run(stand->db, "UPDATE inventories SET stock = 1");
    assert_int_equal(audit(stand->db, 10).count, 3);
    assert_int_equal(audit(stand->db, 2).count, 2);
    assert_int_equal(audit(stand->db, 0).count, 0);
}

static void audit_run__when_others_write_meanwhile__then_one_snapshot(void **state) {
    struct stand *stand = *state;
    make_books(stand->db);
    MUST(db_begin(stand->other)); /* half of a change, not yet committed: not seen, and nobody waits */
    stand_run(stand->other, "UPDATE inventories SET stock = 5 WHERE product_id = 1");
    assert_int_equal(audit(stand->db, 10).count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STAND_TEST(products_put__when_new__then_product_stock_ledger_and_event),
        STAND_TEST(products_put__when_there__then_name_and_price_only),
        STAND_TEST(products_put__when_another_stock_than_the_first__then_invalid_and_nothing_changed),
        STAND_TEST(products_put__when_stock_is_not_given__then_zero),
        STAND_TEST(products_put__when_a_foreign_stock_row_stands__then_left_as_it_is),
        STAND_TEST(products_put__when_data_is_refused__then_nothing_is_left),
        STAND_TEST(products_list__when_paged__then_ascending_after_the_last),
        STAND_TEST(inventory_read__when_missing__then_product_not_found),
        STAND_TEST(movements_list__when_paged__then_newest_first_of_that_product),
        STAND_TEST(orders_list__by_user_and_status__then_newest_first_with_items),
        STAND_TEST(compensations_resolve__when_repeated__then_the_same_else_not_found),
        STAND_TEST(audit_run__when_books_agree__then_nothing),
        STAND_TEST(audit_run__when_one_thing_is_wrong__then_that_finding),
        STAND_TEST(audit_run__when_stock_is_negative__then_negative_stock),
        STAND_TEST(audit_run__when_more_findings_than_asked__then_at_most_those),
        STAND_TEST(audit_run__when_others_write_meanwhile__then_one_snapshot),
    };
    return cmocka_run_group_tests(tests, stand_setup, stand_teardown);
}
