/* What the C tests of store/ share: a connection to the database named by LOCKSTOCK_TEST_MYSQL_URL, migrated and empty.
 */
#pragma once

#include "base/result.h"
#include "store/db.h"
#include "store/reads.h"
#include "store/tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STAND __attribute__((unused)) static

#define MUST(expr)                                                                                                     \
    do {                                                                                                               \
        struct result must_ = (expr);                                                                                  \
        if (failed(must_))                                                                                             \
            fail_msg("%s: %s, native %d, from %s", #expr, error_info((enum error)must_.code)->name, must_.native,      \
                     must_.where);                                                                                     \
    } while (0)
#define MUST_FAIL(error, expr) assert_int_equal((expr).code, ERROR_##error)

STAND struct db_options stand_options(void) {
    struct db_options options;
    const char *url = getenv("LOCKSTOCK_TEST_MYSQL_URL");
    if (url == NULL) {
        fputs("LOCKSTOCK_TEST_MYSQL_URL is not set: mysql://user:pass@host:port/an_empty_database\n", stderr);
        exit(1);
    }
    MUST(db_options_parse(url, &options));
    return options;
}

STAND struct db *stand_connect(void) {
    struct db_options options = stand_options();
    struct db *db;
    MUST(db_open(&options, &db));
    return db;
}

STAND int64_t stand_number(struct db *db, const char *sql) {
    struct db_stmt *stmt;
    bool row;
    MUST(db_statement(db, sql, &stmt));
    MUST(db_execute(stmt, NULL));
    MUST(db_next(stmt, &row));
    assert_true(row);
    int64_t number = db_i64(stmt, 0);
    db_finish(stmt);
    return number;
}

STAND void stand_run(struct db *db, const char *format, ...) __attribute__((format(printf, 2, 3)));
STAND void stand_run(struct db *db, const char *format, ...) {
    char sql[1024];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    assert_in_range(len, 0, sizeof sql - 1);
    MUST(db_run(db, sql, NULL));
}

STAND void stand_empty(struct db *db) {
    static const char *const tables[] = {"products",         "inventories",      "stock_movements",     "orders",
                                         "order_items",      "payments",         "order_compensations", "outbox_events",
                                         "idempotency_keys", "processed_events", "stock_reservations",  "jobs"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) stand_run(db, "DELETE FROM %s", tables[i]);
    stand_run(db, "UPDATE id_blocks SET next_id = 1");
}

/* Two connections in *state: most tests need one and an opponent. */
struct stand {
    struct db *db, *other;
};

STAND int stand_setup(void **state) {
    struct stand *stand = calloc(1, sizeof *stand);
    int applied;
    db_library_start();
    stand->db = stand_connect();
    MUST(schema_migrate(stand->db, &applied));
    stand->other = stand_connect();
    *state = stand;
    return 0;
}

STAND int stand_teardown(void **state) {
    struct stand *stand = *state;
    db_close(stand->db);
    db_close(stand->other);
    free(stand);
    db_library_end();
    return 0;
}

/* Before each test: nothing open, everything empty, both connections usable whatever the last test did to them. */
STAND int stand_each(void **state) {
    struct stand *stand = *state;
    db_rollback(stand->db);
    db_rollback(stand->other);
    if (!db_is_usable(stand->db)) db_close(stand->db), stand->db = stand_connect();
    if (!db_is_usable(stand->other)) db_close(stand->other), stand->other = stand_connect();
    stand_empty(stand->db);
    return 0;
}

/* Products 10, 20, 30 … with a stock row of `stock` each, untouched by us. */
STAND void stand_products(struct db *db, int count, int64_t stock) {
    MUST(db_begin(db));
    for (int i = 1; i <= count; i++) {
        stand_run(db, "INSERT INTO products (id, name, price) VALUES (%d, 'p', %d)", i * 10, i);
        stand_run(db, "INSERT INTO inventories (product_id, stock, version) VALUES (%d, %lld, 5)", i * 10,
                  (long long)stock);
    }
    MUST(db_commit(db));
}

/* The chunk boundaries. */
STAND const size_t stand_counts[] = {1, 2, 3, 255, 256, 257, 1000};
#define STAND_COUNTS (sizeof stand_counts / sizeof *stand_counts)
#define STAND_COUNT_MAX 1000

#define STAND_TEST(fn) cmocka_unit_test_setup(fn, stand_each)
