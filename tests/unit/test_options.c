/* The command line of `lockstock run`. */
#include "unit.h"

#include "run/options.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 16 };

static struct run_options options;
static char error[256];

/* Words up to a NULL. */
static bool read_words(const char *const *words) {
    static char *argv[WORDS_MAX + 1];
    int argc = 0;
    for (; words[argc] != NULL; argc++) argv[argc] = (char *)words[argc];
    argv[argc] = NULL;
    error[0] = '\0';
    return run_options_read(argc, argv, NULL, NULL, &options, error);
}
#define READ(...) read_words((const char *const[]){__VA_ARGS__, NULL})

static void options__when_only_name_and_command__then_defaults(void **state) {
    assert_true(READ("job", "--", "echo", "--ttl", "x"));
    assert_string_equal(options.name, "job");
    assert_string_equal(options.command[0], "echo");
    assert_string_equal(options.command[1], "--ttl");
    assert_string_equal(options.command[2], "x");
    assert_null(options.command[3]);
    assert_string_equal(options.url, "http://127.0.0.1:8080");
    assert_string_equal(options.kind, "lock");
    assert_null(options.mode);
    assert_int_equal(options.weight, 0);
    assert_null(options.token_file);
    assert_null(options.owner);
    assert_int_equal(options.ttl_ms, 30000);
    assert_int_equal(options.wait_ms, 0);
    assert_int_equal(options.grace_ms, 5000);
}

static void options__when_all_given__then_read_on_both_sides_of_the_name(void **state) {
    assert_true(READ("--ttl", "1m", "--wait=10s", "job", "--grace", "2s", "--url=https://h:1/x", "--kind", "rw",
                     "--mode=shared", "--owner", "me", "--token-file=/t", "--", "c"));
    assert_int_equal(options.ttl_ms, 60000);
    assert_int_equal(options.wait_ms, 10000);
    assert_int_equal(options.grace_ms, 2000);
    assert_string_equal(options.url, "https://h:1/x");
    assert_string_equal(options.kind, "rw");
    assert_string_equal(options.mode, "shared");
    assert_string_equal(options.owner, "me");
    assert_string_equal(options.token_file, "/t");
}

static void options__when_a_semaphore__then_weight_is_one_unless_given(void **state) {
    assert_true(READ("n", "--kind", "semaphore", "--", "c"));
    assert_int_equal(options.weight, 1);
    assert_int_equal(options.limit, 0);
    assert_true(READ("n", "--kind=semaphore", "--limit=3", "--weight", "2", "--", "c"));
    assert_int_equal(options.weight, 2);
    assert_int_equal(options.limit, 3);
}

static void options__when_the_environment_names_them__then_options_win(void **state) {
    char *argv[] = {"n", "--url", "http://given", "--", "c", NULL};
    assert_true(run_options_read(5, argv, "http://env", "/env", &options, error));
    assert_string_equal(options.url, "http://given");
    assert_string_equal(options.token_file, "/env");
}

static void options__when_lease_is_short__then_grace_is_a_quarter(void **state) {
    assert_true(READ("n", "--ttl", "1s", "--", "c"));
    assert_int_equal(options.grace_ms, 250);
    assert_true(READ("n", "--ttl", "1s", "--grace", "0", "--", "c"));
    assert_int_equal(options.grace_ms, 0);
    assert_true(READ("n", "--ttl", "1s", "--grace", "500", "--", "c"));
    assert_false(READ("n", "--ttl", "1s", "--grace", "501", "--", "c"));
}

static void options__when_help_is_asked__then_nothing_else_counts(void **state) {
    assert_true(READ("--help"));
    assert_true(options.help);
    assert_true(READ("n", "-h"));
    assert_true(options.help);
    assert_true(READ("n", "--", "c", "--help"));
    assert_false(options.help);
}

static void options__when_wrong__then_a_sentence_that_names_it(void **state) {
    static const struct {
        const char *words[7];
        const char *names;
    } rows[] = {
        {{"n", "c"}, "c is a second lock name"},
        {{"n"}, "-- COMMAND"},
        {{"--", "c"}, "name of the lock"},
        {{"n", "--"}, "command behind --"},
        {{"n", "--ttl", "--", "c"}, "--ttl wants a value"},
        {{"n", "--ttl"}, "--ttl wants a value"},
        {{"n", "--ttl=", "--", "c"}, "--ttl wants a time"},
        {{"n", "--owner=", "--", "c"}, "--owner wants a value"},
        {{"n", "--tt=1s", "--", "c"}, "--tt=1s is no option"},
        {{"n", "-x", "--", "c"}, "-x is no option"},
        {{"n", "--ttl=999", "--", "c"}, "--ttl is 1s to 24h"},
        {{"n", "--ttl=86400001", "--", "c"}, "--ttl is 1s to 24h"},
        {{"n", "--wait=25h", "--", "c"}, "--wait is at most 24h"},
        {{"n", "--wait=-1", "--", "c"}, "--wait wants a time"},
        {{"n", "--url=ftp://h", "--", "c"}, "--url is http"},
        {{"n", "--url=http://", "--", "c"}, "--url is http"},
        {{"n", "--url=http://user:secret@h", "--", "c"}, "without a password"},
        {{"n", "--url=http://h/?x=1", "--", "c"}, "--url is http"},
        {{"n", "--limit=2", "--", "c"}, "--limit is for"},
        {{"n", "--weight=2", "--kind=rw", "--", "c"}, "--weight is for"},
        {{"n", "--kind=semaphore", "--mode=shared", "--", "c"}, "--mode is for"},
        {{"n", "--kind=semaphore", "--limit=0", "--", "c"}, "--limit wants a number"},
        {{"n", "--kind=semaphore", "--limit=10001", "--", "c"}, "--limit wants a number"},
        {{"n", "--kind=semaphore", "--weight=x", "--", "c"}, "--weight wants a number"},
        {{"n", "--kind=semaphore", "--weight=3", "--limit=2", "--", "c"}, "--weight is at most"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (read_words(rows[i].words)) fail_msg("row %zu was read", i);
        if (strstr(error, rows[i].names) == NULL) fail_msg("row %zu: %s", i, error);
    }
}

static void duration__when_read__then_milliseconds(void **state) {
    static const struct {
        const char *text;
        int64_t ms; /* -1 = refused */
    } rows[] = {
        {"0", 0},
        {"500", 500},
        {"500ms", 500},
        {"30s", 30000},
        {"10m", 600000},
        {"2h", 7200000},
        {"PT30S", 30000},
        {"PT1.5S", 1500},
        {"", -1},
        {"s", -1},
        {"-1", -1},
        {"1.5s", -1},
        {"1d", -1},
        {"1s ", -1},
        {" 1s", -1},
        {"1sx", -1},
        {"007", -1},
        {"P", -1},
        {"9223372036854775807h", -1},
        {"9223372036854775808", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t ms = -1;
        bool is_read = run_duration_parse(rows[i].text, &ms);
        if (is_read != (rows[i].ms >= 0)) fail_msg("\"%s\"", rows[i].text);
        if (is_read) assert_int_equal(ms, rows[i].ms);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options__when_only_name_and_command__then_defaults),
        cmocka_unit_test(options__when_all_given__then_read_on_both_sides_of_the_name),
        cmocka_unit_test(options__when_a_semaphore__then_weight_is_one_unless_given),
        cmocka_unit_test(options__when_the_environment_names_them__then_options_win),
        cmocka_unit_test(options__when_lease_is_short__then_grace_is_a_quarter),
        cmocka_unit_test(options__when_help_is_asked__then_nothing_else_counts),
        cmocka_unit_test(options__when_wrong__then_a_sentence_that_names_it),
        cmocka_unit_test(duration__when_read__then_milliseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
