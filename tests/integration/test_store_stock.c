/* store/: stock rows, their versioned update and the ledger against a real server. */
#include "store_stand.h"

#include <pthread.h>

static int64_t ids[STAND_COUNT_MAX + 1];
static struct stock_row rows[STAND_COUNT_MAX + 1];
static int64_t expected[STAND_COUNT_MAX + 1];

static void every_product(void) {
    for (size_t i = 0; i < STAND_COUNT_MAX; i++) ids[i] = (int64_t)(i + 1) * 10;
}

static size_t lock(struct db *db, size_t count, enum row_lock lock) {
    size_t found;
    int64_t now_ms;
    MUST(inventories_lock(db, ids, count, lock, rows, &found, &now_ms));
    return found;
}

/* -- inventories_lock -- */

static void inventories_lock__at_each_chunk_boundary__then_all_in_order(void **state) {
    struct stand *stand = *state;
    stand_products(stand->db, STAND_COUNT_MAX, 100);
    every_product();
    for (size_t c = 0; c < STAND_COUNTS; c++) {
        size_t count = stand_counts[c];
        MUST(db_begin(stand->db));
        assert_int_equal(lock(stand->db, count, ROW_LOCK_WAIT), count);
        for (size_t i = 0; i < count; i++) assert_int_equal(rows[i].product_id, ids[i]);
        db_rollback(stand->db);
    }
}

static void inventories_lock__when_row_was_never_moved__then_ledger_is_minus_one(void **state) {
    struct stand *stand = *state;
    stand_products(stand->db, 2, 100);
    stand_run(stand->db, "UPDATE inventories SET ledger_stock = 0, ledger_version = 4 WHERE product_id = 20");
    every_product();
    int64_t now_ms = 0, server_ms;
    size_t found;
    MUST(db_now(stand->db, &server_ms));
    MUST(inventories_lock(stand->db, ids, 2, ROW_LOCK_NONE, rows, &found, &now_ms));
    assert_int_equal(rows[0].stock, 100);
    assert_int_equal(rows[0].version, 5);
    assert_int_equal(rows[0].ledger_stock, -1);
    assert_int_equal(rows[0].ledger_version, -1);
    assert_int_equal(rows[1].ledger_stock, 0);
    assert_int_equal(rows[1].ledger_version, 4);
    assert_in_range(now_ms - server_ms, 0, 5000);
    assert_in_range(now_ms + 5000 - rows[0].updated_at_ms, 0, 10000);
}

static void inventories_lock__when_some_are_missing__then_left_out_and_clock_untouched_by_none(void **state) {
    struct stand *stand = *state;
    stand_products(stand->db, 3, 100);
    int64_t asked[] = {5, 10, 15, 20, 30, 99}, now_ms = -7;
    size_t found;
    MUST(inventories_lock(stand->db, asked, 6, ROW_LOCK_WAIT, rows, &found, &now_ms));
    assert_int_equal(found, 3);
    now_ms = -7;
    MUST(inventories_lock(stand->db, asked, 1, ROW_LOCK_WAIT, rows, &found, &now_ms));
    assert_int_equal(found, 0);
    assert_int_equal(now_ms, -7);
}

static void inventories_lock__when_256_of_1000__then_the_others_stay_free(void **state) {
    struct stand *stand = *state;
    stand_products(stand->db, STAND_COUNT_MAX, 100);
    every_product();
    MUST(db_begin(stand->db));
    assert_int_equal(lock(stand->db, 256, ROW_LOCK_WAIT), 256);
    MUST(db_begin(stand->other));
    assert_int_equal(lock(stand->other, 1000, ROW_LOCK_SKIP), 744);
    assert_int_equal(rows[0].product_id, 2570);
}

static void inventories_lock__when_held_elsewhere__then_waits_skips_or_reads(void **state) {
    struct stand *stand = *state;
    size_t found;
    int64_t now_ms;
    stand_products(stand->db, 3, 100);
    every_product();
    MUST(db_begin(stand->other));
    MUST(inventories_lock(stand->other, ids + 1, 1, ROW_LOCK_WAIT, rows, &found, &now_ms));
    MUST(db_begin(stand->db));
    MUST_FAIL(LOCK_WAIT, inventories_lock(stand->db, ids, 3, ROW_LOCK_WAIT, rows, &found, &now_ms));
    assert_true(db_is_usable(stand->db));
    db_rollback(stand->db);
    assert_int_equal(lock(stand->db, 3, ROW_LOCK_SKIP), 2);
    assert_int_equal(rows[1].product_id, 30);
    assert_int_equal(lock(stand->db, 3, ROW_LOCK_NONE), 3);
    db_rollback(stand->other);
    assert_int_equal(lock(stand->db, 3, ROW_LOCK_WAIT), 3); /* the statement that gave up works again */
}

struct opponent {
    struct db *db;
    struct result r;
};

/* Asks for product 10 while holding product 20. */
static void *ask_for_first(void *arg) {
    struct opponent *opponent = arg;
    struct stock_row row;
    size_t found;
    int64_t now_ms;
    db_thread_start();
    opponent->r = inventories_lock(opponent->db, ids, 1, ROW_LOCK_WAIT, &row, &found, &now_ms);
    db_thread_end();
    return NULL;
}

static void inventories_lock__when_two_wait_for_each_other__then_one_deadlocks_and_cannot_commit(void **state) {
    struct stand *stand = *state;
    struct opponent opponent = {stand->other, OK};
    pthread_t thread;
    size_t found;
    int64_t now_ms;
    stand_products(stand->db, 2, 100);
    every_product();
    MUST(db_begin(stand->db));
    MUST(db_begin(stand->other));
    lock(stand->db, 1, ROW_LOCK_WAIT);
    MUST(inventories_lock(stand->other, ids + 1, 1, ROW_LOCK_WAIT, rows, &found, &now_ms));
    pthread_create(&thread, NULL, ask_for_first, &opponent);
    struct result mine = inventories_lock(stand->db, ids + 1, 1, ROW_LOCK_WAIT, rows, &found, &now_ms);
    if (failed(mine)) db_rollback(stand->db); /* lets the other go on */
    pthread_join(thread, NULL);
    assert_int_equal(failed(mine) + failed(opponent.r), 1);
    assert_int_equal(failed(mine) ? mine.code : opponent.r.code, ERROR_DEADLOCK);
    if (failed(opponent.r)) MUST_FAIL(INTERNAL, db_commit(stand->other));
}

static void inventories_exist__when_rows_are_locked__then_found_all_the_same(void **state) {
    struct stand *stand = *state;
    bool found[6];
    static const int64_t asked[] = {5, 10, 20, 25, 30, 31};
    static const bool there[] = {false, true, true, false, true, false};
    stand_products(stand->db, 3, 100);
    every_product();
    MUST(db_begin(stand->other));
    lock(stand->other, 3, ROW_LOCK_WAIT);
    MUST(inventories_exist(stand->db, asked, 6, found));
    assert_memory_equal(found, there, sizeof found);
}

static void products_price__when_some_have_no_product__then_marked(void **state) {
    struct stand *stand = *state;
    stand_products(stand->db, 300, 100);
    stand_run(stand->db, "DELETE FROM products WHERE id = 20");
    every_product();
    lock(stand->db, 300, ROW_LOCK_NONE);
    MUST(products_price(stand->db, rows, 300));
    for (size_t i = 0; i < 300; i++) {
        assert_int_equal(rows[i].has_product, i != 1);
        if (i != 1) assert_int_equal(rows[i].price, i + 1);
    }
}

/* -- inventories_update -- */

static void sell_one_of_each(size_t count) {
    for (size_t i = 0; i < count; i++) {
        expected[i] = rows[i].version;
        rows[i].stock -= 1;
        rows[i].version += 1;
    }
}

static void inventories_update__at_each_chunk_boundary__then_those_rows_and_no_others(void **state) {
    struct stand *stand = *state;
    every_product();
    for (size_t c = 0; c < STAND_COUNTS; c++) {
        size_t count = stand_counts[c];
        stand_empty(stand->db);
        stand_products(stand->db, STAND_COUNT_MAX, 100);
        MUST(db_begin(stand->db));
        lock(stand->db, count, ROW_LOCK_WAIT);
        sell_one_of_each(count);
        MUST(inventories_update(stand->db, rows, expected, count, true));
        MUST(db_commit(stand->db));
        assert_int_equal(stand_number(stand->db,
                                      "SELECT COUNT(*) FROM inventories WHERE stock = 99 AND version = 6 AND "
                                      "ledger_stock = 99 AND ledger_version = 6"),
                         count);
        assert_int_equal(stand_number(stand->db,
                                      "SELECT COUNT(*) FROM inventories WHERE stock = 100 AND version = 5 AND "
                                      "ledger_stock IS NULL AND ledger_version IS NULL"),
                         STAND_COUNT_MAX - count);
    }
}

static void inventories_update__when_one_version_moved__then_conflict(void **state) {
    struct stand *stand = *state;
    static const size_t counts[] = {1, 2, 300};
    stand_products(stand->db, 300, 100);
    every_product();
    for (size_t c = 0; c < 3; c++) {
        MUST(db_begin(stand->db));
        lock(stand->db, counts[c], ROW_LOCK_NONE);
        sell_one_of_each(counts[c]);
        expected[counts[c] - 1] += 1;
        MUST_FAIL(VERSION_CONFLICT, inventories_update(stand->db, rows, expected, counts[c], true));
        MUST(inventories_update(stand->db, rows, expected, counts[c], false)); /* the check is what refused it */
        db_rollback(stand->db);
    }
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM inventories WHERE version = 5"), 300);
}

static void inventories_update__when_numbers_are_large__then_exact(void **state) {
    struct stand *stand = *state;
    stand_products(stand->db, 2, 0);
    stand_run(stand->db, "UPDATE inventories SET product_id = 9007199254740991, version = 9007199254740993 WHERE "
                         "product_id = 20");
    struct stock_row large[2] = {
        {.product_id = 10, .stock = 9007199254740991, .version = 6},
        {.product_id = 9007199254740991, .stock = 9007199254740989, .version = 9007199254740995}};
    int64_t versions[2] = {5, 9007199254740993};
    MUST(inventories_update(stand->db, large, versions, 2, true));
    assert_int_equal(stand_number(stand->db, "SELECT stock FROM inventories WHERE product_id = 10"), 9007199254740991);
    assert_int_equal(stand_number(stand->db, "SELECT stock FROM inventories WHERE version = 9007199254740995"),
                     9007199254740989);
}

static void inventories_update__when_stock_would_be_negative__then_bad_data(void **state) {
    struct stand *stand = *state;
    stand_products(stand->db, 2, 0);
    struct stock_row below[2] = {{.product_id = 10, .stock = -1, .version = 6}, {.product_id = 20, .version = 6}};
    int64_t versions[2] = {5, 5};
    MUST_FAIL(BAD_DATA, inventories_update(stand->db, below, versions, 1, true));
    MUST_FAIL(BAD_DATA, inventories_update(stand->db, below, versions, 2, true));
}

static void inventories_update__when_none__then_nothing(void **state) {
    struct stand *stand = *state;
    MUST(inventories_update(stand->db, rows, expected, 0, true));
}

/* -- movements -- */

static struct movement movements[STAND_COUNT_MAX];

static void make_movements(size_t count) {
    for (size_t i = 0; i < count; i++) {
        movements[i] = (struct movement){.product_id = 10,
                                         .kind = MOVEMENT_ORDER,
                                         .delta = -(int64_t)i,
                                         .stock_after = 5000,
                                         .version = 9,
                                         .line_no = (int32_t)i};
        snprintf(movements[i].order_ref, sizeof movements[i].order_ref, "o:%zu", i / 2);
    }
}

static void movements_insert__at_each_chunk_boundary__then_all_in_order(void **state) {
    struct stand *stand = *state;
    for (size_t c = 0; c < STAND_COUNTS; c++) {
        size_t count = stand_counts[c];
        stand_run(stand->db, "DELETE FROM stock_movements");
        make_movements(count);
        MUST(movements_insert(stand->db, movements, count, 1700000000123));
        assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM stock_movements"), count);
        assert_int_equal(stand_number(stand->db,
                                      "SELECT COALESCE(SUM(a.line_no >= b.line_no), 0) FROM stock_movements a "
                                      "JOIN stock_movements b ON b.id = a.id + 1"),
                         0);
    }
    assert_int_equal(stand_number(stand->db,
                                  "SELECT COUNT(*) FROM stock_movements WHERE at = '2023-11-14 22:13:20.123' AND "
                                  "kind = 'ORDER' AND reason IS NULL AND order_ref LIKE 'o:%'"),
                     STAND_COUNT_MAX);
}

static void movements_insert__when_the_same_line_twice__then_duplicate(void **state) {
    struct stand *stand = *state;
    make_movements(3);
    movements[2] = movements[0];
    MUST(db_begin(stand->db));
    MUST_FAIL(DUPLICATE, movements_insert(stand->db, movements, 3, 1));
    db_rollback(stand->db);
    movements[2].kind = MOVEMENT_RESTORE; /* a line is sold once and restored once */
    MUST(movements_insert(stand->db, movements, 3, 1));
    MUST_FAIL(DUPLICATE, movements_insert(stand->db, movements + 2, 1, 1));
}

static void movements_insert__when_without_reference__then_any_number(void **state) {
    struct stand *stand = *state;
    make_movements(3);
    for (size_t i = 0; i < 3; i++) {
        movements[i].kind = MOVEMENT_ADJUST;
        movements[i].line_no = 0;
        movements[i].order_ref[0] = '\0';
        snprintf(movements[i].reason, sizeof movements[i].reason, "caf\xc3\xa9");
    }
    MUST(movements_insert(stand->db, movements, 3, 1));
    assert_int_equal(
        stand_number(stand->db,
                     "SELECT COUNT(*) FROM stock_movements WHERE order_ref IS NULL AND reason = 'caf\xc3\xa9'"),
        3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STAND_TEST(inventories_lock__at_each_chunk_boundary__then_all_in_order),
        STAND_TEST(inventories_lock__when_row_was_never_moved__then_ledger_is_minus_one),
        STAND_TEST(inventories_lock__when_some_are_missing__then_left_out_and_clock_untouched_by_none),
        STAND_TEST(inventories_lock__when_256_of_1000__then_the_others_stay_free),
        STAND_TEST(inventories_lock__when_held_elsewhere__then_waits_skips_or_reads),
        STAND_TEST(inventories_lock__when_two_wait_for_each_other__then_one_deadlocks_and_cannot_commit),
        STAND_TEST(inventories_exist__when_rows_are_locked__then_found_all_the_same),
        STAND_TEST(products_price__when_some_have_no_product__then_marked),
        STAND_TEST(inventories_update__at_each_chunk_boundary__then_those_rows_and_no_others),
        STAND_TEST(inventories_update__when_one_version_moved__then_conflict),
        STAND_TEST(inventories_update__when_numbers_are_large__then_exact),
        STAND_TEST(inventories_update__when_stock_would_be_negative__then_bad_data),
        STAND_TEST(inventories_update__when_none__then_nothing),
        STAND_TEST(movements_insert__at_each_chunk_boundary__then_all_in_order),
        STAND_TEST(movements_insert__when_the_same_line_twice__then_duplicate),
        STAND_TEST(movements_insert__when_without_reference__then_any_number),
    };
    return cmocka_run_group_tests(tests, stand_setup, stand_teardown);
}
