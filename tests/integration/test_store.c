/* store/: connection, statements and migrations against a real server. */
#include "store_stand.h"

static void db_open__when_nobody_listens_or_password_is_wrong__then_store_down(void **state) {
    struct db_options options = stand_options();
    struct db *db = NULL;
    snprintf(options.password, sizeof options.password, "not it");
    MUST_FAIL(STORE_DOWN, db_open(&options, &db));
    options = stand_options();
    snprintf(options.host, sizeof options.host, "127.0.0.1");
    options.socket[0] = '\0';
    options.port = 1;
    MUST_FAIL(STORE_DOWN, db_open(&options, &db));
    assert_null(db);
}

static void session_status(struct db *db, const char *name, char *out, size_t size) {
    struct db_stmt *stmt;
    char sql[64];
    bool row;
    snprintf(sql, sizeof sql, "SHOW SESSION STATUS LIKE '%s'", name);
    MUST(db_statement(db, sql, &stmt));
    MUST(db_execute(stmt, NULL));
    MUST(db_next(stmt, &row));
    assert_true(row);
    db_copy_text(stmt, 1, out, size);
    db_finish(stmt);
}

/* The CA of the test's server, when it has one: then it offers TLS. */
static const char *server_ca(void) { return getenv("LOCKSTOCK_TEST_TLS_CA"); }

static struct result open_with(enum db_tls tls, const char *host, const char *ca, bool *ret_encrypted) {
    struct db_options options = stand_options();
    struct db *db;
    char cipher[64];
    options.tls = tls;
    if (host != NULL) snprintf(options.host, sizeof options.host, "%s", host);
    if (ca != NULL) snprintf(options.tls_ca, sizeof options.tls_ca, "%s", ca);
    struct result r = db_open(&options, &db);
    if (failed(r)) return r;
    session_status(db, "Ssl_cipher", cipher, sizeof cipher);
    *ret_encrypted = cipher[0] != '\0';
    db_close(db);
    return OK;
}

static void db_open__when_tls_is_off_or_preferred__then_always_connected(void **state) {
    bool encrypted = true;
    MUST(open_with(DB_TLS_OFF, NULL, NULL, &encrypted));
    assert_false(encrypted);
    MUST(open_with(DB_TLS_PREFERRED, NULL, NULL, &encrypted));
    assert_int_equal(encrypted, server_ca() != NULL);
}

static void db_open__when_tls_is_required__then_encrypted_or_store_down(void **state) {
    bool encrypted = false;
    struct result r = open_with(DB_TLS_REQUIRED, NULL, NULL, &encrypted);
    assert_int_equal(r.code, server_ca() != NULL ? 0 : ERROR_STORE_DOWN);
    assert_int_equal(encrypted, server_ca() != NULL);
}

/* The certificate names 127.0.0.1: under another name of the same address it is a stranger's, and so is it to those who
   trust somebody else. */
static void db_open__when_tls_is_verified__then_only_the_right_server_will_do(void **state) {
    bool encrypted = false;
    const char *ca = server_ca(), *other_ca = getenv("LOCKSTOCK_TEST_TLS_OTHER_CA");
    if (ca == NULL) {
        MUST_FAIL(STORE_DOWN, open_with(DB_TLS_VERIFIED, NULL, "/dev/null", &encrypted));
        return;
    }
    MUST(open_with(DB_TLS_VERIFIED, NULL, ca, &encrypted));
    assert_true(encrypted);
    MUST_FAIL(STORE_DOWN, open_with(DB_TLS_VERIFIED, "127.0.0.2", ca, &encrypted));
    MUST_FAIL(STORE_DOWN, open_with(DB_TLS_VERIFIED, NULL, other_ca, &encrypted));
    MUST_FAIL(STORE_DOWN, open_with(DB_TLS_VERIFIED, NULL, "/nowhere/ca.pem", &encrypted));
}

static void db_open__when_connected__then_server_is_named_and_the_same_for_all(void **state) {
    struct stand *stand = *state;
    assert_true(strlen(db_server_identity(stand->db)) >= 8);
    assert_string_equal(db_server_identity(stand->db), db_server_identity(stand->other));
    assert_int_not_equal(db_connection_id(stand->db), db_connection_id(stand->other));
    assert_int_equal(stand_number(stand->db, "SELECT CONNECTION_ID()"), db_connection_id(stand->db));
}

static void db_open__when_connected__then_session_is_ours(void **state) {
    struct stand *stand = *state;
    assert_int_equal(stand_number(stand->db, "SELECT @@session.time_zone = '+00:00'"), 1);
    assert_int_equal(stand_number(stand->db, "SELECT @@innodb_lock_wait_timeout"), 1);
    assert_int_equal(stand_number(stand->db, "SELECT @@sql_mode LIKE '%STRICT_TRANS_TABLES%'"), 1);
    assert_int_equal(stand_number(stand->db, "SELECT @@character_set_connection = 'utf8mb4'"), 1);
}

static void db_begin__when_others_commit__then_seen_at_once(void **state) {
    struct stand *stand = *state;
    MUST(db_begin(stand->db));
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM products"), 0);
    stand_run(stand->other, "INSERT INTO products (id, name, price) VALUES (1, 'x', 1)");
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM products"), 1);
}

static void db_run__when_update_changes_nothing__then_matched_rows_are_counted(void **state) {
    struct stand *stand = *state;
    uint64_t affected;
    stand_run(stand->db, "INSERT INTO products (id, name, price) VALUES (1, 'x', 1)");
    MUST(db_run(stand->db, "UPDATE products SET price = 1", &affected));
    assert_int_equal(affected, 1);
}

static void db_commit__when_no_transaction_is_open__then_internal_and_nothing_sent(void **state) {
    struct stand *stand = *state;
    MUST_FAIL(INTERNAL, db_commit(stand->db));
    assert_true(db_is_usable(stand->db));
}

static void db_rollback__when_called__then_nothing_is_left(void **state) {
    struct stand *stand = *state;
    MUST(db_begin(stand->db));
    stand_run(stand->db, "INSERT INTO products (id, name, price) VALUES (1, 'x', 1)");
    db_rollback(stand->db);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM products"), 0);
    MUST_FAIL(INTERNAL, db_commit(stand->db));
}

static void db_run__when_connection_was_killed__then_lost_and_unusable(void **state) {
    struct stand *stand = *state;
    stand_run(stand->other, "KILL %llu", (unsigned long long)db_connection_id(stand->db));
    MUST_FAIL(STORE_LOST, db_run(stand->db, "SELECT 1", NULL));
    assert_false(db_is_usable(stand->db));
    MUST_FAIL(STORE_LOST, db_run(stand->db, "SELECT 1", NULL));
}

static void db_commit__when_connection_was_killed__then_unknown(void **state) {
    struct stand *stand = *state;
    MUST(db_begin(stand->db));
    stand_run(stand->db, "INSERT INTO products (id, name, price) VALUES (1, 'x', 1)");
    stand_run(stand->other, "KILL %llu", (unsigned long long)db_connection_id(stand->db));
    MUST_FAIL(COMMIT_UNKNOWN, db_commit(stand->db));
    assert_false(db_is_usable(stand->db));
}

static void db_ping__when_killed__then_false(void **state) {
    struct stand *stand = *state;
    assert_true(db_ping(stand->db));
    stand_run(stand->other, "KILL %llu", (unsigned long long)db_connection_id(stand->db));
    assert_false(db_ping(stand->db));
    assert_false(db_is_usable(stand->db));
}

/* -- statements -- */

static void db_execute__when_values_of_each_type__then_they_come_back(void **state) {
    struct stand *stand = *state;
    struct db_stmt *stmt;
    bool row;
    char out[4];
    MUST(db_statement(
        stand->db, "SELECT CAST(? AS SIGNED), CAST(? AS CHAR(9)), CAST(? AS DATETIME(6)), CAST(? AS SIGNED)", &stmt));
    db_set_i64(stmt, 0, INT64_MIN);
    db_set_str(stmt, 1, "h\xc3\xa9llo");
    db_set_time(stmt, 2, 951827696123);
    db_set_null(stmt, 3);
    MUST(db_execute(stmt, NULL));
    MUST(db_next(stmt, &row));
    assert_true(row);
    assert_int_equal(db_i64(stmt, 0), INT64_MIN);
    assert_string_equal(db_text(stmt, 1, NULL), "h\xc3\xa9llo");
    assert_int_equal(db_time(stmt, 2), 951827696123);
    assert_true(db_is_null(stmt, 3));
    assert_int_equal(db_i64(stmt, 3), 0);
    db_copy_text(stmt, 1, out, sizeof out);
    assert_string_equal(out, "h\xc3\xa9");
    MUST(db_next(stmt, &row));
    assert_false(row);
}

static void db_set_str_or_null__when_empty__then_null_and_time_zero_too(void **state) {
    struct stand *stand = *state;
    struct db_stmt *stmt;
    bool row;
    MUST(db_statement(stand->db, "SELECT ? IS NULL, ? IS NULL, ? IS NULL, ? IS NULL, ? IS NULL", &stmt));
    for (int round = 0; round < 2; round++) { /* the second time other values in the same statement */
        db_set_str_or_null(stmt, 0, round ? "x" : "");
        db_set_str_or_null(stmt, 1, round ? "x" : NULL);
        db_set_time(stmt, 2, round);
        db_set_str(stmt, 3, "");
        if (round)
            db_set_i64(stmt, 4, 0);
        else
            db_set_null(stmt, 4);
        MUST(db_execute(stmt, NULL));
        MUST(db_next(stmt, &row));
        for (unsigned i = 0; i < 5; i++) assert_int_equal(db_i64(stmt, i), i != 3 && round == 0);
    }
}

static void db_next__when_texts_outgrow_their_buffer__then_whole(void **state) {
    struct stand *stand = *state;
    static const int lengths[] = {10, 1023, 1024, 5000, 3, 300000, 1025};
    struct db_stmt *stmt;
    bool row;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        stand_run(stand->db,
                  "INSERT INTO idempotency_keys (key_hash, fingerprint, status, body, created_at) VALUES "
                  "(UNHEX('%02zx'), '', 1, CONCAT(REPEAT('b', %d), 'E'), NOW())",
                  i, lengths[i] - 1);
    MUST(db_statement(stand->db, "SELECT body FROM idempotency_keys ORDER BY key_hash", &stmt));
    MUST(db_execute(stmt, NULL));
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t len;
        MUST(db_next(stmt, &row));
        const char *body = db_text(stmt, 0, &len);
        assert_int_equal(len, lengths[i]);
        assert_int_equal(strlen(body), len);
        assert_int_equal(body[len - 1], 'E');
    }
    MUST(db_next(stmt, &row));
    assert_false(row);
}

static void db_finish__when_rows_are_left_or_none__then_the_statement_works_again(void **state) {
    struct stand *stand = *state;
    struct db_stmt *stmt;
    bool row;
    stand_products(stand->db, 3, 1);
    MUST(db_statement(stand->db, "SELECT id FROM products WHERE id <= ? ORDER BY id", &stmt));
    for (int round = 0; round < 20; round++) {
        int left = round % 5; /* rows read before it is ended; 4 = to the end */
        db_set_i64(stmt, 0, round % 4 * 10);
        MUST(db_execute(stmt, NULL));
        for (int i = 0; i < left; i++) {
            MUST(db_next(stmt, &row));
            assert_int_equal(row, i < round % 4);
        }
        db_finish(stmt);
        MUST(db_next(stmt, &row));
        assert_false(row);
        assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM products"), 3);
    }
}

static int64_t session_count(struct db *db, const char *name) {
    char value[64];
    session_status(db, name, value, sizeof value);
    return strtoll(value, NULL, 10);
}

static void db_statement__when_more_than_the_cache_holds__then_oldest_are_closed(void **state) {
    struct stand *stand = *state;
    struct db_stmt *stmt, *again;
    char sql[64];
    for (int i = 0; i < 600; i++) {
        snprintf(sql, sizeof sql, "SELECT %d", i);
        assert_int_equal(stand_number(stand->db, sql), i);
    }
    int64_t open = session_count(stand->db, "Com_stmt_prepare") - session_count(stand->db, "Com_stmt_close");
    assert_in_range(open, 100, 260);
    MUST(db_statement(stand->db, "SELECT 599", &stmt));
    MUST(db_statement(stand->db, "SELECT 599", &again));
    assert_ptr_equal(stmt, again);
}

static void db_execute__when_it_failed__then_the_same_statement_works_again(void **state) {
    struct stand *stand = *state;
    struct db_stmt *stmt;
    uint64_t affected;
    MUST(db_statement(stand->db, "INSERT INTO products (id, name, price) VALUES (?, 'x', 1)", &stmt));
    db_set_i64(stmt, 0, 1);
    MUST(db_execute(stmt, &affected));
    MUST_FAIL(DUPLICATE, db_execute(stmt, &affected));
    db_set_i64(stmt, 0, 2);
    MUST(db_execute(stmt, &affected));
    assert_int_equal(affected, 1);
}

static void db_statement__when_table_or_column_is_missing__then_store_schema(void **state) {
    struct stand *stand = *state;
    struct db_stmt *stmt;
    MUST_FAIL(STORE_SCHEMA, db_statement(stand->db, "SELECT 1 FROM no_such_table", &stmt));
    MUST_FAIL(STORE_SCHEMA, db_statement(stand->db, "SELECT no_such_column FROM orders", &stmt));
    assert_true(db_is_usable(stand->db));
}

static void db_execute__when_data_is_refused__then_bad_data(void **state) {
    struct stand *stand = *state;
    MUST_FAIL(BAD_DATA,
              db_run(stand->db, "INSERT INTO products (id, name, price) VALUES (1, REPEAT('x', 256), 1)", NULL));
    MUST_FAIL(BAD_DATA, db_run(stand->db, "INSERT INTO products (id, name, price) VALUES (1, 'x', NULL)", NULL));
    MUST_FAIL(BAD_DATA, db_run(stand->db, "INSERT INTO inventories (product_id, stock) VALUES (1, -1)", NULL));
    assert_true(db_is_usable(stand->db));
}

static void db_now__when_asked__then_the_servers_utc(void **state) {
    struct stand *stand = *state;
    int64_t now_ms;
    MUST(db_now(stand->db, &now_ms));
    int64_t seconds = stand_number(stand->db, "SELECT UNIX_TIMESTAMP()");
    assert_in_range(seconds - now_ms / 1000, 0, 5);
}

/* -- migrations -- */

static void schema_migrate__when_repeated__then_only_what_is_missing(void **state) {
    struct stand *stand = *state;
    int applied;
    bool fits;
    MUST(schema_migrate(stand->db, &applied));
    assert_int_equal(applied, 0);
    stand_run(stand->db, "DELETE FROM schema_history WHERE version = 2");
    MUST(schema_fits(stand->db, &fits));
    assert_false(fits);
    MUST(schema_migrate(stand->db, &applied));
    assert_int_equal(applied, 1);
    MUST(schema_fits(stand->db, &fits));
    assert_true(fits);
}

static void schema_migrate__when_history_is_gone__then_all_again_and_nothing_lost(void **state) {
    struct stand *stand = *state;
    int applied;
    bool fits;
    stand_products(stand->db, 1, 7);
    stand_run(stand->db, "DROP TABLE schema_history");
    MUST(schema_fits(stand->db, &fits));
    assert_false(fits);
    MUST(schema_migrate(stand->db, &applied));
    assert_true(applied >= 3);
    assert_int_equal(stand_number(stand->db, "SELECT stock FROM inventories"), 7);
}

static void schema_migrate__when_done__then_the_advisory_lock_is_free(void **state) {
    struct stand *stand = *state;
    int applied;
    MUST(schema_migrate(stand->db, &applied));
    assert_int_equal(stand_number(stand->other, "SELECT IS_FREE_LOCK('lockstock-migrate')"), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STAND_TEST(db_open__when_nobody_listens_or_password_is_wrong__then_store_down),
        STAND_TEST(db_open__when_tls_is_off_or_preferred__then_always_connected),
        STAND_TEST(db_open__when_tls_is_required__then_encrypted_or_store_down),
        STAND_TEST(db_open__when_tls_is_verified__then_only_the_right_server_will_do),
        STAND_TEST(db_open__when_connected__then_server_is_named_and_the_same_for_all),
        STAND_TEST(db_open__when_connected__then_session_is_ours),
        STAND_TEST(db_begin__when_others_commit__then_seen_at_once),
        STAND_TEST(db_run__when_update_changes_nothing__then_matched_rows_are_counted),
        STAND_TEST(db_commit__when_no_transaction_is_open__then_internal_and_nothing_sent),
        STAND_TEST(db_rollback__when_called__then_nothing_is_left),
        STAND_TEST(db_run__when_connection_was_killed__then_lost_and_unusable),
        STAND_TEST(db_commit__when_connection_was_killed__then_unknown),
        STAND_TEST(db_ping__when_killed__then_false),
        STAND_TEST(db_execute__when_values_of_each_type__then_they_come_back),
        STAND_TEST(db_set_str_or_null__when_empty__then_null_and_time_zero_too),
        STAND_TEST(db_next__when_texts_outgrow_their_buffer__then_whole),
        STAND_TEST(db_finish__when_rows_are_left_or_none__then_the_statement_works_again),
        STAND_TEST(db_statement__when_more_than_the_cache_holds__then_oldest_are_closed),
        STAND_TEST(db_execute__when_it_failed__then_the_same_statement_works_again),
        STAND_TEST(db_statement__when_table_or_column_is_missing__then_store_schema),
        STAND_TEST(db_execute__when_data_is_refused__then_bad_data),
        STAND_TEST(db_now__when_asked__then_the_servers_utc),
        STAND_TEST(schema_migrate__when_repeated__then_only_what_is_missing),
        STAND_TEST(schema_migrate__when_history_is_gone__then_all_again_and_nothing_lost),
        STAND_TEST(schema_migrate__when_done__then_the_advisory_lock_is_free),
    };
    return cmocka_run_group_tests(tests, stand_setup, stand_teardown);
}
