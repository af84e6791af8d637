/* store/overdue.c: what is late, oldest first, a batch at a time; and store/reservations.c. */
#include "base/memory.h"
#include "store/overdue.h"
#include "store/reservations.h"
#include "store_stand.h"

static void order_at(struct db *db, int id, const char *status, const char *expires, const char *requested) {
    stand_run(
        db,
        "INSERT INTO orders (id, order_number, user_id, total_amount, status, ordered_at, expires_at, "
        "payment_requested_at) VALUES (%d, 'n-%d', 'u', 1, '%s', UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL %s "
        "SECOND, UTC_TIMESTAMP(6) + INTERVAL %s SECOND)",
        id, id, status, expires, requested);
}

static void overdue_orders__by_state_and_time__oldest_first(void **state) {
    struct stand *stand = *state;
    int64_t ids[8];
    size_t count;
    order_at(stand->db, 1, "PENDING", "-10", "-99");
    order_at(stand->db, 2, "PENDING", "-30", "-99");
    order_at(stand->db, 3, "PENDING", "60", "-99");
    order_at(stand->db, 4, "PAYMENT_REQUESTED", "-99", "-20");
    order_at(stand->db, 5, "CANCELLED", "-99", "-99");
    struct overdue_scan scan = overdue_scan_start();
    scan.status = ORDER_PENDING;
    MUST(overdue_orders(stand->db, &scan, 8, ids, &count));
    assert_int_equal(count, 2);
    assert_int_equal(ids[0], 2);
    assert_int_equal(ids[1], 1);
    scan = overdue_scan_start();
    scan.status = ORDER_PAYMENT_REQUESTED;
    scan.overdue_ms = 15000;
    MUST(overdue_orders(stand->db, &scan, 8, ids, &count));
    assert_int_equal(count, 1);
    assert_int_equal(ids[0], 4);
    scan = overdue_scan_start();
    scan.status = ORDER_PAYMENT_REQUESTED;
    scan.overdue_ms = 25000;
    MUST(overdue_orders(stand->db, &scan, 8, ids, &count));
    assert_int_equal(count, 0);
}

/* Moments that are equal, and such with microseconds: each row comes once, whatever stays where it was. */
static void overdue_orders__in_batches__gives_each_once(void **state) {
    struct stand *stand = *state;
    bool seen[41] = {false};
    for (int i = 1; i <= 40; i++)
        stand_run(stand->db,
                  "INSERT INTO orders (id, order_number, user_id, total_amount, status, ordered_at, expires_at) VALUES "
                  "(%d, 'n-%d', 'u', 1, 'PENDING', '2026-01-01', '2026-01-01 00:00:00.00000%d')",
                  i, i, i % 4);
    struct overdue_scan scan = overdue_scan_start();
    scan.status = ORDER_PENDING;
    for (int batch = 0; batch < 6; batch++) {
        int64_t ids[7];
        size_t count;
        MUST(overdue_orders(stand->db, &scan, 7, ids, &count));
        assert_int_equal(count, batch < 5 ? 7 : 5);
        for (size_t i = 0; i < count; i++) {
            assert_false(seen[ids[i]]);
            seen[ids[i]] = true;
        }
    }
}

static struct reservation reservation(const char *credential, const char *order_id, struct line *items, size_t count) {
    struct reservation row = {.items = items, .item_count = count, .version = 1, .created_at_ms = 1000};
    (void)text_copy(row.ref.credential, sizeof row.ref.credential, credential);
    (void)text_copy(row.ref.order_id, sizeof row.ref.order_id, order_id);
    row.reserved_at_ms = 1000;
    row.expires_at_ms = 2000;
    return row;
}

static void reservations__written_and_read__the_same(void **state) {
    struct stand *stand = *state;
    struct line items[] = {{10, 2}, {20, 1}};
    struct reservation a = reservation("a", "1", items, 2), b = reservation("a:b", "1", items, 1), back[2];
    struct reservation tomb = reservation("b ", "1", NULL, 0);
    const struct reservation *rows[] = {&a, &b, &tomb};
    size_t count;
    int64_t now_ms = 0;
    tomb.status = RESERVATION_CANCEL_REQUESTED;
    tomb.expires_at_ms = tomb.reserved_at_ms = 0;
    MUST(reservations_insert(stand->db, rows, 3));
    MUST_FAIL(DUPLICATE, reservations_insert(stand->db, rows, 1));
    struct reservation_ref refs[] = {a.ref, {"b", "1"}, tomb.ref};
    MUST(db_begin(stand->db));
    MUST(reservations_lock(stand->db, refs, 3, ROW_LOCK_WAIT, back, &count, &now_ms));
    assert_int_equal(count, 2); /* "b" is not "b " */
    assert_true(now_ms > 0);
    assert_true(reservation_has_items(&back[0], items, 2));
    assert_int_equal(back[0].expires_at_ms, 2000);
    assert_int_equal(back[1].status, RESERVATION_CANCEL_REQUESTED);
    assert_null(back[1].items);
    back[0].status = RESERVATION_CONFIRMED;
    back[0].version = 2;
    MUST(reservations_update(stand->db, &back[0], 1, true));
    MUST_FAIL(VERSION_CONFLICT, reservations_update(stand->db, &back[0], 1, true));
    free(back[0].items);
    size_t skipped = 0;
    MUST(reservations_lock(stand->other, refs, 3, ROW_LOCK_SKIP, back, &skipped, &now_ms));
    assert_int_equal(skipped, 0);
    MUST(db_commit(stand->db));
    MUST(reservations_read(stand->db, &a.ref, &back[0], &now_ms));
    assert_int_equal(back[0].status, RESERVATION_CONFIRMED);
    free(back[0].items);
    MUST_FAIL(RESERVATION_NOT_FOUND, reservations_read(stand->db, &refs[1], &back[0], &now_ms));
}

static void count_lines(void *arg, const struct reservation_ref *ref, struct line line) {
    *(int64_t *)arg += line.quantity;
}

static void reservation_lines__of_what_is_reserved__alone(void **state) {
    struct stand *stand = *state;
    struct line items[] = {{10, 2}, {20, 1}};
    struct reservation a = reservation("a", "1", items, 2), b = reservation("a", "2", items, 2);
    const struct reservation *rows[] = {&a, &b};
    int64_t sum = 0;
    b.status = RESERVATION_CONFIRMED;
    MUST(reservations_insert(stand->db, rows, 2));
    MUST(reservation_lines_read(stand->db, (struct reservation_ref[]){a.ref, b.ref}, 2, count_lines, &sum));
    assert_int_equal(sum, 3);
    stand_run(stand->db, "UPDATE stock_reservations SET items = '[{\"productId\":1}]' WHERE order_id = '1'");
    MUST_FAIL(BAD_DATA, reservation_lines_read(stand->db, &a.ref, 1, count_lines, &sum));
    struct overdue_scan scan = overdue_scan_start();
    struct reservation_ref late[4];
    size_t count;
    MUST(overdue_reservations(stand->db, &scan, 4, late, &count));
    assert_int_equal(count, 1);
    assert_int_equal(reservation_compare(&late[0], &a.ref), 0);
}

static void reservations__of_every_chunk__come_back(void **state) {
    struct stand *stand = *state;
    struct line items[] = {{10, 1}};
    for (size_t i = 0; i < STAND_COUNTS; i++) {
        size_t count = stand_counts[i], found;
        int64_t now_ms;
        AUTO_FREE struct reservation *rows = mem_array(count, sizeof rows[0]);
        AUTO_FREE const struct reservation **pointers = mem_array(count, sizeof pointers[0]);
        AUTO_FREE struct reservation_ref *refs = mem_array(count, sizeof refs[0]);
        for (size_t k = 0; k < count; k++) {
            char order_id[24];
            (void)snprintf(order_id, sizeof order_id, "%06zu", k);
            rows[k] = reservation("chunk", order_id, items, 1);
            pointers[k] = &rows[k];
            refs[k] = rows[k].ref;
        }
        stand_run(stand->db, "DELETE FROM stock_reservations");
        MUST(reservations_insert(stand->db, pointers, count));
        MUST(reservations_lock(stand->db, refs, count, ROW_LOCK_WAIT, rows, &found, &now_ms));
        assert_int_equal(found, count);
        for (size_t k = 0; k < count; k++) {
            assert_string_equal(rows[k].ref.order_id, refs[k].order_id);
            free(rows[k].items);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STAND_TEST(overdue_orders__by_state_and_time__oldest_first),
        STAND_TEST(overdue_orders__in_batches__gives_each_once),
        STAND_TEST(reservations__written_and_read__the_same),
        STAND_TEST(reservation_lines__of_what_is_reserved__alone),
        STAND_TEST(reservations__of_every_chunk__come_back),
    };
    return cmocka_run_group_tests(tests, stand_setup, stand_teardown);
}
