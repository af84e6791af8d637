/* store/: orders, payments, events, stored answers and ids against a real server. */
#include "store_stand.h"

static struct order orders[STAND_COUNT_MAX];
static struct order_item items[4] = {{10, 1, 100}, {20, 2, 200}, {30, 3, 300}, {40, 4, 400}};

/* Orders 1, 2, 3 … with 1, 2, 3, 4, 1, 2 … lines. */
static void make_orders(size_t count) {
    for (size_t i = 0; i < count; i++) {
        orders[i] = (struct order){.id = (int64_t)i + 1,
                                   .user_id = "us\xc3\xa9r",
                                   .total_amount = 9007199254740991,
                                   .status = ORDER_PENDING,
                                   .ordered_at_ms = 1700000000123,
                                   .expires_at_ms = 1700000000123 + 60000,
                                   .version = 1,
                                   .items = items,
                                   .item_count = i % 4 + 1};
        order_number(orders[i].id, orders[i].ordered_at_ms, orders[i].number);
    }
}

static void insert_orders(struct db *db, size_t count) {
    make_orders(count);
    MUST(db_begin(db));
    MUST(orders_insert(db, orders, count));
    MUST(order_items_insert(db, orders, count));
    MUST(db_commit(db));
}

static void free_items(struct order *rows, size_t count) {
    for (size_t i = 0; i < count; i++) free(rows[i].items);
}

static void assert_same_order(const struct order *got, const struct order *want) {
    assert_int_equal(got->id, want->id);
    assert_string_equal(got->number, want->number);
    assert_string_equal(got->user_id, want->user_id);
    assert_int_equal(got->total_amount, want->total_amount);
    assert_int_equal(got->status, want->status);
    assert_int_equal(got->ordered_at_ms, want->ordered_at_ms);
    assert_int_equal(got->expires_at_ms, want->expires_at_ms);
    assert_int_equal(got->payment_requested_at_ms, want->payment_requested_at_ms);
    assert_int_equal(got->version, want->version);
    assert_int_equal(got->item_count, want->item_count);
    assert_memory_equal(got->items, want->items, want->item_count * sizeof *want->items);
}

/* -- orders -- */

static void orders_insert__at_each_chunk_boundary__then_locked_and_read_back(void **state) {
    struct stand *stand = *state;
    static struct order got[STAND_COUNT_MAX];
    static int64_t ids[STAND_COUNT_MAX];
    for (size_t c = 0; c < STAND_COUNTS; c++) {
        size_t count = stand_counts[c], found;
        int64_t now_ms = 0;
        stand_empty(stand->db);
        insert_orders(stand->db, count);
        for (size_t i = 0; i < count; i++) ids[i] = (int64_t)i + 1;
        MUST(db_begin(stand->db));
        MUST(orders_lock(stand->db, ids, count, ROW_LOCK_WAIT, got, &found, &now_ms));
        db_rollback(stand->db);
        assert_int_equal(found, count);
        assert_true(now_ms > 1700000000123);
        for (size_t i = 0; i < count; i++) assert_same_order(&got[i], &orders[i]);
        free_items(got, found);
    }
}

static void orders_insert__when_id_or_number_is_taken__then_duplicate(void **state) {
    struct stand *stand = *state;
    insert_orders(stand->db, 1);
    MUST_FAIL(DUPLICATE, orders_insert(stand->db, orders, 1));
    orders[0].id = 77;
    MUST_FAIL(DUPLICATE, orders_insert(stand->db, orders, 1));
}

static void orders_insert__when_no_lines__then_nothing(void **state) {
    struct stand *stand = *state;
    make_orders(2);
    orders[0].item_count = orders[1].item_count = 0;
    MUST(order_items_insert(stand->db, orders, 2));
    MUST(order_items_insert(stand->db, orders, 0));
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM order_items"), 0);
}

static void orders_read__when_there__then_whole_else_not_found(void **state) {
    struct stand *stand = *state;
    struct order got;
    insert_orders(stand->db, 4);
    MUST(orders_read(stand->db, 3, &got));
    assert_same_order(&got, &orders[2]);
    free_items(&got, 1);
    MUST_FAIL(ORDER_NOT_FOUND, orders_read(stand->db, 5, &got));
}

static void orders_read__when_a_foreign_status__then_bad_data(void **state) {
    struct stand *stand = *state;
    struct order got;
    int64_t id = 1, now_ms;
    size_t found;
    insert_orders(stand->db, 1);
    stand_run(stand->db, "UPDATE orders SET status = 'LOST_AT_SEA'");
    MUST_FAIL(BAD_DATA, orders_read(stand->db, 1, &got));
    MUST_FAIL(BAD_DATA, orders_lock(stand->db, &id, 1, ROW_LOCK_WAIT, &got, &found, &now_ms));
}

static void orders_lock__when_held_elsewhere__then_lock_wait(void **state) {
    struct stand *stand = *state;
    struct order got[2];
    static const int64_t ids[] = {1, 2};
    size_t found;
    int64_t now_ms;
    insert_orders(stand->db, 2);
    MUST(db_begin(stand->other));
    MUST(orders_lock(stand->other, ids + 1, 1, ROW_LOCK_WAIT, got, &found, &now_ms));
    free_items(got, found);
    MUST(db_begin(stand->db));
    MUST_FAIL(LOCK_WAIT, orders_lock(stand->db, ids, 2, ROW_LOCK_WAIT, got, &found, &now_ms));
    MUST(orders_lock(stand->db, ids, 2, ROW_LOCK_SKIP, got, &found, &now_ms));
    assert_int_equal(found, 1);
    assert_int_equal(got[0].id, 1);
    free_items(got, found);
    bool there[3];
    MUST(orders_exist(stand->db, (const int64_t[]){1, 2, 3}, 3, there));
    assert_true(there[0] && there[1] && !there[2]);
}

static void orders_update__when_version_is_the_expected__then_written_else_conflict(void **state) {
    struct stand *stand = *state;
    struct order got;
    insert_orders(stand->db, 2);
    orders[0].status = ORDER_PAYMENT_REQUESTED;
    orders[0].payment_requested_at_ms = 1700000001001;
    orders[0].version = 2;
    MUST(orders_update(stand->db, &orders[0], 1, true));
    MUST_FAIL(VERSION_CONFLICT, orders_update(stand->db, &orders[0], 1, true));
    MUST(orders_read(stand->db, 1, &got));
    assert_same_order(&got, &orders[0]);
    free_items(&got, 1);
    MUST(orders_read(stand->db, 2, &got));
    assert_same_order(&got, &orders[1]);
    free_items(&got, 1);
}

struct seen_lines {
    size_t count;
    int64_t order_ids[16];
    struct line lines[16];
};

static void see_line(void *arg, int64_t order_id, struct line line) {
    struct seen_lines *seen = arg;
    seen->order_ids[seen->count] = order_id;
    seen->lines[seen->count++] = line;
}

static void order_lines_read__when_many_orders__then_in_order(void **state) {
    struct stand *stand = *state;
    struct seen_lines seen = {0};
    static const int64_t ids[] = {2, 3, 99};
    static const int64_t owners[] = {2, 2, 3, 3, 3};
    insert_orders(stand->db, 4);
    MUST(order_lines_read(stand->db, ids, 3, see_line, &seen));
    assert_int_equal(seen.count, 5);
    assert_memory_equal(seen.order_ids, owners, sizeof owners);
    assert_int_equal(seen.lines[4].product_id, 30);
    assert_int_equal(seen.lines[4].quantity, 3);
}

/* -- payments -- */

struct seen_payments {
    size_t count;
    struct payment rows[16];
};

static void see_payment(void *arg, const struct payment *payment) {
    struct seen_payments *seen = arg;
    seen->rows[seen->count++] = *payment;
}

static void payments_find__by_order_and_by_key__then_each_found(void **state) {
    struct stand *stand = *state;
    struct seen_payments seen = {0};
    static const struct payment rows[] = {{1, "key-1", 100, PAYMENT_APPROVED},
                                          {1, "key-2", 200, PAYMENT_REFUND_REQUIRED},
                                          {2, "KEY-1", 300, PAYMENT_FAILED}};
    static const int64_t order_id = 1;
    static const char *const keys[] = {"KEY-1", "Key-1"};
    MUST(payments_insert(stand->db, rows, 3, 1700000000000));
    MUST(payments_find(stand->db, &order_id, 1, keys, 2, see_payment, &seen));
    assert_int_equal(seen.count, 3); /* keys differ by case */
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(seen.rows[i].order_id, rows[i].order_id);
        assert_string_equal(seen.rows[i].payment_key, rows[i].payment_key);
        assert_int_equal(seen.rows[i].amount, rows[i].amount);
        assert_int_equal(seen.rows[i].status, rows[i].status);
    }
    MUST_FAIL(DUPLICATE, payments_insert(stand->db, rows + 1, 1, 1700000000000));
}

struct seen_compensations {
    size_t count;
    struct compensation rows[16];
};

static void see_compensation(void *arg, const struct compensation *row) {
    struct seen_compensations *seen = arg;
    seen->rows[seen->count++] = *row;
}

static void compensations_find__when_inserted__then_open_and_once_per_reason(void **state) {
    struct stand *stand = *state;
    struct seen_compensations seen = {0};
    struct compensation rows[] = {
        {.order_id = 1, .reason = "PAID_BUT_CANCELLED", .payment_key = "k", .amount = 5},
        {.order_id = 1, .reason = "PAID_TWICE", .payment_key = "l", .amount = 6},
    };
    static const int64_t ids[] = {1, 2};
    MUST(compensations_insert(stand->db, rows, 2, 1700000000000));
    MUST(compensations_find(stand->db, ids, 2, see_compensation, &seen));
    assert_int_equal(seen.count, 2);
    assert_string_equal(seen.rows[0].status, "OPEN");
    assert_string_equal(seen.rows[1].reason, "PAID_TWICE");
    assert_string_equal(seen.rows[1].payment_key, "l");
    assert_int_equal(seen.rows[1].amount, 6);
    assert_int_equal(seen.rows[0].detected_at_ms, 1700000000000);
    assert_int_equal(seen.rows[0].resolved_at_ms, 0);
    assert_true(seen.rows[0].id > 0);
    MUST_FAIL(DUPLICATE, compensations_insert(stand->db, rows, 1, 1));
}

/* -- outbox -- */

static struct event events[STAND_COUNT_MAX];

static void make_events(size_t count) {
    for (size_t i = 0; i < count; i++) {
        events[i] = (struct event){.aggregate_type = "ORDER",
                                   .aggregate_version = (int64_t)i,
                                   .event_type = "order.created",
                                   .payload = "{\"a\":1}",
                                   .payload_len = 7};
        text_uuid(events[i].event_id);
        snprintf(events[i].aggregate_id, sizeof events[i].aggregate_id, "%zu", i);
        if (i % 2) snprintf(events[i].traceparent, sizeof events[i].traceparent, "00-trace-%zu", i);
    }
}

static void outbox_insert__at_each_chunk_boundary__then_pending_in_order_with_sqls_part(void **state) {
    struct stand *stand = *state;
    for (size_t c = 0; c < STAND_COUNTS; c++) {
        size_t count = stand_counts[c];
        stand_run(stand->db, "DELETE FROM outbox_events");
        make_events(count);
        MUST(outbox_insert(stand->db, events, count, 1700000000123));
        assert_int_equal(stand_number(stand->db,
                                      "SELECT COUNT(*) FROM outbox_events WHERE status = 'PENDING' AND "
                                      "retry_count = 0 AND published_at IS NULL AND payload = '{\"a\":1}' AND "
                                      "part = CRC32(aggregate_id) % 64 AND "
                                      "(trace_id IS NULL) = (aggregate_version % 2 = 0)"),
                         count);
        assert_int_equal(stand_number(stand->db,
                                      "SELECT COUNT(*) FROM outbox_events a JOIN outbox_events b ON a.id < b.id "
                                      "AND a.aggregate_version >= b.aggregate_version"),
                         0);
    }
}

static void outbox_has__when_written__then_true_only_for_it(void **state) {
    struct stand *stand = *state;
    bool has;
    make_events(2);
    MUST(outbox_insert(stand->db, events, 1, 1));
    for (int round = 0; round < 3; round++) {
        MUST(outbox_has(stand->db, events[0].event_id, &has));
        assert_true(has);
        MUST(outbox_has(stand->db, events[1].event_id, &has));
        assert_false(has);
    }
    MUST_FAIL(DUPLICATE, outbox_insert(stand->db, events, 1, 1));
    MUST_FAIL(BAD_DATA, outbox_has(stand->db, "\xc3\xa9", &has)); /* an id is ASCII */
}

/* -- idempotency -- */

static struct idempotent answers[STAND_COUNT_MAX];
static unsigned char hashes[STAND_COUNT_MAX][32];

/* Hashes of bytes that are no text in any character set, sorted. */
static void make_answers(size_t count) {
    static char body[3000];
    memset(body, 'b', sizeof body);
    for (size_t i = 0; i < count; i++) {
        answers[i] = (struct idempotent){.status = 201, .body = body, .body_len = i % 3 * 1499};
        memset(hashes[i], 0xff, sizeof hashes[i]);
        hashes[i][0] = (unsigned char)(i >> 8);
        hashes[i][1] = (unsigned char)i;
        memcpy(answers[i].key_hash, hashes[i], 32);
        memset(answers[i].fingerprint, (int)i, 32);
        if (i % 2) snprintf(answers[i].location, sizeof answers[i].location, "/v1/orders/%zu", i);
        if (i % 3) snprintf(answers[i].etag, sizeof answers[i].etag, "\"%zu\"", i);
    }
}

static bool answer_seen[STAND_COUNT_MAX];

static void see_answer(void *arg, const struct idempotent *row) {
    size_t i = (size_t)row->key_hash[0] << 8 | row->key_hash[1];
    assert_false(answer_seen[i]);
    answer_seen[i] = true;
    assert_memory_equal(row->key_hash, answers[i].key_hash, 32);
    assert_memory_equal(row->fingerprint, answers[i].fingerprint, 32);
    assert_int_equal(row->status, 201);
    assert_int_equal(row->body_len, answers[i].body_len);
    assert_memory_equal(row->body, answers[i].body, row->body_len);
    assert_string_equal(row->location, answers[i].location);
    assert_string_equal(row->etag, answers[i].etag);
    assert_in_range(row->age_ms, 60000, 90000);
}

static void idempotency_insert__at_each_chunk_boundary__then_found(void **state) {
    struct stand *stand = *state;
    int64_t now_ms;
    MUST(db_now(stand->db, &now_ms));
    make_answers(STAND_COUNT_MAX);
    for (size_t c = 0; c < STAND_COUNTS; c++) {
        size_t count = stand_counts[c], seen = 0;
        stand_run(stand->db, "DELETE FROM idempotency_keys");
        memset(answer_seen, 0, sizeof answer_seen);
        MUST(idempotency_insert(stand->db, answers, count, now_ms - 60000));
        MUST(idempotency_find(stand->db, hashes, STAND_COUNT_MAX, see_answer, NULL));
        for (size_t i = 0; i < STAND_COUNT_MAX; i++) seen += answer_seen[i];
        assert_int_equal(seen, count);
    }
}

static void idempotency_insert__when_another_was_first__then_duplicate_until_deleted(void **state) {
    struct stand *stand = *state;
    make_answers(2);
    MUST(idempotency_insert(stand->db, answers, 1, 1700000000000));
    MUST_FAIL(DUPLICATE, idempotency_insert(stand->db, answers, 1, 1700000000000));
    MUST(idempotency_delete_old(stand->db, answers[0].key_hash, 1000));
    MUST(idempotency_delete_old(stand->db, answers[1].key_hash, 1000));
    MUST(idempotency_insert(stand->db, answers, 2, 1700000000000));
}

static void idempotency_delete_old__when_another_stored_it_anew__then_it_stays(void **state) {
    struct stand *stand = *state;
    int64_t now_ms;
    MUST(db_now(stand->db, &now_ms));
    make_answers(1);
    MUST(idempotency_insert(stand->db, answers, 1, now_ms));
    MUST(idempotency_delete_old(stand->db, answers[0].key_hash, 60000));
    MUST_FAIL(DUPLICATE, idempotency_insert(stand->db, answers, 1, now_ms));
}

/* -- ids -- */

static void id_blocks_reserve__when_two_instances_draw__then_disjoint(void **state) {
    struct stand *stand = *state;
    int64_t first, second, third;
    MUST(id_blocks_reserve(stand->db, 100, false, &first));
    MUST(id_blocks_reserve(stand->other, 50, false, &second));
    MUST(id_blocks_reserve(stand->db, 1, false, &third));
    assert_int_equal(first, 1);
    assert_int_equal(second, 101);
    assert_int_equal(third, 151);
}

static void id_blocks_reserve__when_a_foreign_order_is_above__then_above_it(void **state) {
    struct stand *stand = *state;
    int64_t first;
    make_orders(1);
    orders[0].id = 5000;
    MUST(orders_insert(stand->db, orders, 1));
    MUST(id_blocks_reserve(stand->db, 10, false, &first));
    assert_int_equal(first, 1);
    MUST(id_blocks_reserve(stand->db, 10, true, &first));
    assert_int_equal(first, 5001);
    MUST(id_blocks_reserve(stand->db, 10, true, &first));
    assert_int_equal(first, 5011);
}

static void id_blocks_reserve__when_the_row_is_gone__then_made_above_what_exists(void **state) {
    struct stand *stand = *state;
    int64_t first;
    insert_orders(stand->db, 3);
    stand_run(stand->db, "DELETE FROM id_blocks");
    MUST(id_blocks_reserve(stand->db, 10, false, &first));
    assert_int_equal(first, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STAND_TEST(orders_insert__at_each_chunk_boundary__then_locked_and_read_back),
        STAND_TEST(orders_insert__when_id_or_number_is_taken__then_duplicate),
        STAND_TEST(orders_insert__when_no_lines__then_nothing),
        STAND_TEST(orders_read__when_there__then_whole_else_not_found),
        STAND_TEST(orders_read__when_a_foreign_status__then_bad_data),
        STAND_TEST(orders_lock__when_held_elsewhere__then_lock_wait),
        STAND_TEST(orders_update__when_version_is_the_expected__then_written_else_conflict),
        STAND_TEST(order_lines_read__when_many_orders__then_in_order),
        STAND_TEST(payments_find__by_order_and_by_key__then_each_found),
        STAND_TEST(compensations_find__when_inserted__then_open_and_once_per_reason),
        STAND_TEST(outbox_insert__at_each_chunk_boundary__then_pending_in_order_with_sqls_part),
        STAND_TEST(outbox_has__when_written__then_true_only_for_it),
        STAND_TEST(idempotency_insert__at_each_chunk_boundary__then_found),
        STAND_TEST(idempotency_insert__when_another_was_first__then_duplicate_until_deleted),
        STAND_TEST(idempotency_delete_old__when_another_stored_it_anew__then_it_stays),
        STAND_TEST(id_blocks_reserve__when_two_instances_draw__then_disjoint),
        STAND_TEST(id_blocks_reserve__when_a_foreign_order_is_above__then_above_it),
        STAND_TEST(id_blocks_reserve__when_the_row_is_gone__then_made_above_what_exists),
    };
    return cmocka_run_group_tests(tests, stand_setup, stand_teardown);
}
