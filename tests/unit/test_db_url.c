#include "unit.h"

#include "store/db.h"

#include <string.h>

static struct db_options parse(const char *url) {
    struct db_options o;
    struct result r = db_options_parse(url, &o);
    if (failed(r)) fail_msg("refused: %s", url);
    return o;
}

static void db_options_parse__when_all_parts__then_each(void **state) {
    struct db_options o = parse("mysql://us%40er:p%3Aw%2Fd@db.example:3307/lock%20stock");
    assert_string_equal(o.user, "us@er");
    assert_string_equal(o.password, "p:w/d");
    assert_string_equal(o.host, "db.example");
    assert_int_equal(o.port, 3307);
    assert_string_equal(o.database, "lock stock");
    assert_string_equal(o.socket, "");
    assert_int_equal(o.tls, DB_TLS_PREFERRED);
    assert_true(o.connect_timeout_s > 0 && o.io_timeout_s > 0);
}

static void db_options_parse__when_parts_are_left_out__then_defaults(void **state) {
    struct db_options o = parse("mysql://localhost/d");
    assert_string_equal(o.user, "");
    assert_string_equal(o.password, "");
    assert_int_equal(o.port, 3306);
}

static void db_options_parse__when_password_has_an_at__then_last_one_divides(void **state) {
    struct db_options o = parse("mysql://u:p@w@h/d");
    assert_string_equal(o.password, "p@w");
    assert_string_equal(o.host, "h");
}

static void db_options_parse__when_ipv6__then_without_brackets(void **state) {
    struct db_options o = parse("mysql://u@[::1]:3310/d");
    assert_string_equal(o.host, "::1");
    assert_int_equal(o.port, 3310);
}

static void db_options_parse__when_options__then_taken(void **state) {
    struct db_options o = parse("mysql://u@/d?socket=/run/my%20sql.sock&tls=preferred");
    assert_string_equal(o.socket, "/run/my sql.sock");
    assert_int_equal(o.tls, DB_TLS_PREFERRED);
    assert_string_equal(o.tls_ca, "");
    o = parse("mysql://h/d?tls-ca=/etc/ca%20of%20ours.pem&tls=verified");
    assert_int_equal(o.tls, DB_TLS_VERIFIED);
    assert_string_equal(o.tls_ca, "/etc/ca of ours.pem");
}

static void db_options_parse__when_tls_is_not_named__then_off_only_where_nobody_stands_between(void **state) {
    static const struct {
        const char *url;
        enum db_tls tls;
    } cases[] = {
        {"mysql://localhost/d", DB_TLS_OFF},
        {"mysql://127.0.0.1/d", DB_TLS_OFF},
        {"mysql://[::1]/d", DB_TLS_OFF},
        {"mysql:///d?socket=/s", DB_TLS_OFF},
        {"mysql://h/d?socket=/s", DB_TLS_OFF},
        {"mysql://db.example/d", DB_TLS_PREFERRED},
        {"mysql://10.0.0.1/d", DB_TLS_PREFERRED},
        {"mysql://localhost.example/d", DB_TLS_PREFERRED},
        {"mysql://db.example/d?tls=off", DB_TLS_OFF},
        {"mysql://127.0.0.1/d?tls=required", DB_TLS_REQUIRED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_int_equal(parse(cases[i].url).tls, cases[i].tls);
}

static void db_options_parse__when_malformed__then_refused(void **state) {
    static const char *const urls[] = {
        "",
        "mysql:",
        "mysql://",
        "mysql://h",
        "mysql://h/",
        "mysql:///d",
        "postgres://h/d",
        "mysql://h:0/d",
        "mysql://h:65536/d",
        "mysql://h:x/d",
        "mysql://h:/d",
        "mysql://[::1/d",
        "mysql://[::1]x/d",
        "mysql://u%4@h/d",
        "mysql://u%zz@h/d",
        "mysql://u%00@h/d",
        "mysql://h/d?socket",
        "mysql://h/d?tls=no",
        "mysql://h/d?tls=",
        "mysql://h/d?tls=verified",
        "mysql://h/d?tls=required&tls-ca=/ca.pem",
        "mysql://h/d?tls-ca=/ca.pem",
        "mysql://h/d?unknown=1",
    };
    struct db_options o;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_int_equal(db_options_parse(urls[i], &o).code, ERROR_INVALID_REQUEST);
}

static void db_options_parse__when_a_part_is_too_long__then_refused(void **state) {
    char url[1024];
    struct db_options o;
    for (size_t len = 127; len <= 128; len++) {
        memset(url, 'u', sizeof url);
        memcpy(url, "mysql://", 8);
        memcpy(url + 8 + len, "@h/d", 5);
        assert_int_equal(failed(db_options_parse(url, &o)), len == 128);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(db_options_parse__when_all_parts__then_each),
        cmocka_unit_test(db_options_parse__when_parts_are_left_out__then_defaults),
        cmocka_unit_test(db_options_parse__when_password_has_an_at__then_last_one_divides),
        cmocka_unit_test(db_options_parse__when_ipv6__then_without_brackets),
        cmocka_unit_test(db_options_parse__when_options__then_taken),
        cmocka_unit_test(db_options_parse__when_tls_is_not_named__then_off_only_where_nobody_stands_between),
        cmocka_unit_test(db_options_parse__when_malformed__then_refused),
        cmocka_unit_test(db_options_parse__when_a_part_is_too_long__then_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
