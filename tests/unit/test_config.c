/* Each kind of setting: its fallback, its bounds, its sentence; and names that are none. Tests own the environment:
   every one starts without a LOCKSTOCK_ variable. */
#include "config/config.h"

#include "base/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct config config;
static char sentence[256];

static int setup(void **state) {
    for (char **entry = environ; *entry;) {
        char name[128];
        if (strncmp(*entry, "LOCKSTOCK_", 10) != 0 ||
            !text_format(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry)) {
            entry++;
            continue;
        }
        unsetenv(name);
        entry = environ;
    }
    memset(&config, 0, sizeof config);
    sentence[0] = '\0';
    return 0;
}

static void assert_read(void) {
    if (failed(config_read(&config, sentence, sizeof sentence))) fail_msg("refused: %s", sentence);
}

static void assert_refused(const char *expected) {
    struct config untouched;
    memset(&untouched, 0x5A, sizeof untouched);
    config = untouched;
    struct result r = config_read(&config, sentence, sizeof sentence);
    assert_int_equal(r.code, ERROR_INVALID_REQUEST);
    assert_string_equal(sentence, expected);
    assert_memory_equal(&config, &untouched, sizeof config);
}

static void assert_variable_refused(const char *name, const char *value, const char *expected) {
    setenv(name, value, 1);
    assert_refused(expected);
    unsetenv(name);
}

static void config_read__when_nothing_is_set__then_fallbacks(void **state) {
    assert_read();
    assert_string_equal(config.listen, "127.0.0.1:8080");
    assert_string_equal(config.admin_listen, "");
    assert_string_equal(config.redis_url, "redis://127.0.0.1:6379");
    assert_int_equal(config.train_max, 1024);
    assert_int_equal(config.reservation_ttl, 1800000);
    assert_false(config.allow_anonymous);
    assert_string_equal(config.log_level, "info");
}

static void config_read__when_all_kinds_are_set__then_taken(void **state) {
    setenv("LOCKSTOCK_LISTEN", "0.0.0.0:9000", 1);
    setenv("LOCKSTOCK_REDIS_URL", "", 1);
    setenv("LOCKSTOCK_MYSQL_URL", "mysql://u:p@h:1/d", 1);
    setenv("LOCKSTOCK_TRAIN_MAX", "1", 1);
    setenv("LOCKSTOCK_ALLOW_ANONYMOUS", "on", 1);
    setenv("LOCKSTOCK_RESERVATION_TTL", "PT15M", 1);
    setenv("LOCKSTOCK_LOG_LEVEL", "warn", 1);
    setenv("LOCKSTOCK_INSTANCE_ID", "pod-7", 1);
    setenv("LOCKSTOCK_FAULTS", "no-yield", 1);
    assert_read();
    assert_string_equal(config.listen, "0.0.0.0:9000");
    assert_string_equal(config.redis_url, "");
    assert_string_equal(config.mysql_url, "mysql://u:p@h:1/d");
    assert_int_equal(config.train_max, 1);
    assert_true(config.allow_anonymous);
    assert_int_equal(config.reservation_ttl, 900000);
    assert_string_equal(config.log_level, "warn");
    assert_string_equal(config.instance_id, "pod-7");
}

static void config_read__when_no_instance_id__then_the_host_name(void **state) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    assert_read();
    assert_true(*config.instance_id != '\0');
    assert_memory_equal(config.instance_id, host, strlen(config.instance_id));
}

static void config_read__when_integer_is_out_of_range__then_names_the_range(void **state) {
    static const char *const values[] = {"0", "65", "-1", "1x", "", " 1", "01", "1.0", "99999999999999999999"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char expected[128];
        text_format(expected, sizeof expected, "LOCKSTOCK_LOOPS must be an integer from 1 to 64, not \"%s\"",
                    values[i]);
        assert_variable_refused("LOCKSTOCK_LOOPS", values[i], expected);
    }
    setenv("LOCKSTOCK_LOOPS", "64", 1);
    assert_read();
    assert_int_equal(config.loops, 64);
}

static void config_read__when_bool__then_six_words(void **state) {
    static const char *const words[] = {"0", "1", "false", "true", "off", "on"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        setenv("LOCKSTOCK_ALLOW_ANONYMOUS", words[i], 1);
        assert_read();
        assert_int_equal(config.allow_anonymous, i % 2);
    }
    assert_variable_refused("LOCKSTOCK_ALLOW_ANONYMOUS", "yes",
                            "LOCKSTOCK_ALLOW_ANONYMOUS must be 1, true, on, 0, false or off, not \"yes\"");
    assert_variable_refused("LOCKSTOCK_ALLOW_ANONYMOUS", "",
                            "LOCKSTOCK_ALLOW_ANONYMOUS must be 1, true, on, 0, false or off, not \"\"");
}

static void config_read__when_duration_is_wrong__then_names_the_range(void **state) {
    static const char *const values[] = {"15", "PT0.999S", "P365DT0.001S", "P1M", ""};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char expected[160];
        text_format(expected, sizeof expected,
                    "LOCKSTOCK_RESERVATION_TTL must be an ISO-8601 duration from PT1S to P365D, not \"%s\"", values[i]);
        assert_variable_refused("LOCKSTOCK_RESERVATION_TTL", values[i], expected);
    }
}

static void config_read__when_choice_is_unknown__then_names_the_choices(void **state) {
    static const char *const values[] = {"INFO", "", "inf", "infos", "debug|info"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char expected[160];
        text_format(expected, sizeof expected, "LOCKSTOCK_LOG_LEVEL must be one of debug|info|warn|error, not \"%s\"",
                    values[i]);
        assert_variable_refused("LOCKSTOCK_LOG_LEVEL", values[i], expected);
    }
}

static void config_read__when_text_does_not_fit__then_names_the_size(void **state) {
    char value[65];
    memset(value, 'x', 64);
    value[64] = '\0';
    assert_variable_refused("LOCKSTOCK_INSTANCE_ID", value, "LOCKSTOCK_INSTANCE_ID must have at most 63 bytes");
    value[63] = '\0';
    setenv("LOCKSTOCK_INSTANCE_ID", value, 1);
    assert_read();
    assert_string_equal(config.instance_id, value);
    assert_variable_refused("LOCKSTOCK_LISTEN", "a\nb", "LOCKSTOCK_LISTEN must be printable UTF-8");
}

static void config_read__when_name_is_unknown__then_heard(void **state) {
    assert_variable_refused("LOCKSTOCK_TRAINMAX", "5", "LOCKSTOCK_TRAINMAX is not a setting");
    assert_variable_refused("LOCKSTOCK_LISTEN_FILE", "x", "LOCKSTOCK_LISTEN_FILE is not a setting");
    assert_variable_refused("LOCKSTOCK_LISTE", "x", "LOCKSTOCK_LISTE is not a setting");
    assert_variable_refused("LOCKSTOCK_", "x", "LOCKSTOCK_ is not a setting");
    setenv("LOCKSTOC", "not ours", 1);
    assert_read();
    unsetenv("LOCKSTOC");
}

static void config_read__when_the_command_of_a_lock__then_its_names_are_no_typos(void **state) {
    static const char *const names[] = {"LOCKSTOCK_NAME", "LOCKSTOCK_FENCE", "LOCKSTOCK_TOKEN", "LOCKSTOCK_URL"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) setenv(names[i], "x", 1);
    assert_read();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) unsetenv(names[i]);
    assert_variable_refused("LOCKSTOCK_TOKEN_FILE", "x", "LOCKSTOCK_TOKEN_FILE is not a setting");
}

static void config_read__when_too_few_workers__then_says_how_many(void **state) {
    setenv("LOCKSTOCK_TRAIN_SLOTS", "3", 1);
    assert_refused("LOCKSTOCK_DB_WORKERS must be at least LOCKSTOCK_TRAIN_SLOTS + 2, that is 5");
    setenv("LOCKSTOCK_DB_WORKERS", "5", 1);
    assert_read();
}

/* Secrets from files */

static char path[64];

static void write_secret(const char *data, size_t len) {
    text_format(path, sizeof path, "/tmp/test_config_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    close(fd);
    setenv("LOCKSTOCK_MYSQL_URL_FILE", path, 1);
}

static void config_read__when_secret_is_in_a_file__then_without_its_newline(void **state) {
    static const struct {
        const char *file, *value;
    } rows[] = {{"mysql://u:p@h/d\n", "mysql://u:p@h/d"}, {"a", "a"}, {"a\r\n", "a"}, {"", ""}, {"\n", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_secret(rows[i].file, strlen(rows[i].file));
        assert_read();
        assert_string_equal(config.mysql_url, rows[i].value);
        unlink(path);
    }
}

static void config_read__when_secret_file_is_unfit__then_refused_without_its_content(void **state) {
    static char large[5000];
    memset(large, 'x', sizeof large);
    write_secret(large, sizeof large);
    assert_refused("LOCKSTOCK_MYSQL_URL_FILE must name a text file of at most 1023 bytes");
    unlink(path);
    write_secret(large, 1024);
    assert_refused("LOCKSTOCK_MYSQL_URL_FILE must name a text file of at most 1023 bytes");
    unlink(path);
    write_secret("a\0b", 3);
    assert_refused("LOCKSTOCK_MYSQL_URL_FILE must name a text file of at most 1023 bytes");
    unlink(path);
    write_secret("two\nlines\n", 10);
    assert_refused("LOCKSTOCK_MYSQL_URL must be printable UTF-8");
    unlink(path);
    assert_variable_refused("LOCKSTOCK_MYSQL_URL_FILE", "/nonexistent/secret",
                            "LOCKSTOCK_MYSQL_URL_FILE names a file that cannot be read: /nonexistent/secret");
}

static void config_read__when_secret_is_given_twice__then_refused(void **state) {
    setenv("LOCKSTOCK_MYSQL_URL", "mysql://a", 1);
    assert_variable_refused("LOCKSTOCK_MYSQL_URL_FILE", "/dev/null",
                            "LOCKSTOCK_MYSQL_URL and LOCKSTOCK_MYSQL_URL_FILE are both set; one of them must go");
}

static void config_read__when_secret_is_wrong__then_its_value_is_not_told(void **state) {
    char value[1100];
    memset(value, 'S', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    assert_variable_refused("LOCKSTOCK_MYSQL_URL", value, "LOCKSTOCK_MYSQL_URL must have at most 1023 bytes");
    assert_variable_refused("LOCKSTOCK_MYSQL_URL", "S\t", "LOCKSTOCK_MYSQL_URL must be printable UTF-8");
}

static void config_read__when_sentence_is_longer_than_its_place__then_cut(void **state) {
    char small[16];
    setenv("LOCKSTOCK_LOOPS", "0", 1);
    assert_true(failed(config_read(&config, small, sizeof small)));
    assert_string_equal(small, "LOCKSTOCK_LOOPS");
}

/* What config_print writes to stdout. */
static const char *printed(bool markdown) {
    static char output[32768];
    FILE *file = tmpfile();
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    config_print(markdown);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    rewind(file);
    output[fread(output, 1, sizeof output - 1, file)] = '\0';
    fclose(file);
    return output;
}

static void config_print__when_printed__then_each_setting_and_no_secret(void **state) {
    static const char *const names[] = {
#define SETTING_TEXT(field, env, size, fallback, help) env,
#define SETTING_SECRET(field, env, size, fallback, help) env,
#define SETTING_INT(field, env, min, max, fallback, help) env,
#define SETTING_BOOL(field, env, fallback, help) env,
#define SETTING_DURATION(field, env, min_ms, max_ms, fallback_ms, help) env,
#define SETTING_PERIOD(field, env, min_ms, max_ms, fallback_ms, help) env,
#define SETTING_CHOICE(field, env, choices, fallback, help) env,
#include "config/settings.def"
    };
    setenv("LOCKSTOCK_MYSQL_URL", "mysql://user:hunter2@db/x", 1);
    for (int markdown = 0; markdown < 2; markdown++) {
        const char *output = printed(markdown);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) assert_non_null(strstr(output, names[i]));
        assert_null(strstr(output, "hunter2"));
        assert_non_null(strstr(output, "PT30M"));
    }
    assert_non_null(strstr(printed(true), "| `LOCKSTOCK_LOOPS` | 1 to 64 | `1` | "));
    assert_non_null(strstr(printed(false), " (1 to 64; default 1)\n"));
    assert_non_null(
        strstr(printed(false), " (secret text up to 1023 bytes, or its file in LOCKSTOCK_REDIS_URL_FILE; "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(config_read__when_nothing_is_set__then_fallbacks, setup),
        cmocka_unit_test_setup(config_read__when_all_kinds_are_set__then_taken, setup),
        cmocka_unit_test_setup(config_read__when_no_instance_id__then_the_host_name, setup),
        cmocka_unit_test_setup(config_read__when_integer_is_out_of_range__then_names_the_range, setup),
        cmocka_unit_test_setup(config_read__when_bool__then_six_words, setup),
        cmocka_unit_test_setup(config_read__when_duration_is_wrong__then_names_the_range, setup),
        cmocka_unit_test_setup(config_read__when_choice_is_unknown__then_names_the_choices, setup),
        cmocka_unit_test_setup(config_read__when_text_does_not_fit__then_names_the_size, setup),
        cmocka_unit_test_setup(config_read__when_name_is_unknown__then_heard, setup),
        cmocka_unit_test_setup(config_read__when_the_command_of_a_lock__then_its_names_are_no_typos, setup),
        cmocka_unit_test_setup(config_read__when_too_few_workers__then_says_how_many, setup),
        cmocka_unit_test_setup(config_read__when_secret_is_in_a_file__then_without_its_newline, setup),
        cmocka_unit_test_setup(config_read__when_secret_file_is_unfit__then_refused_without_its_content, setup),
        cmocka_unit_test_setup(config_read__when_secret_is_given_twice__then_refused, setup),
        cmocka_unit_test_setup(config_read__when_secret_is_wrong__then_its_value_is_not_told, setup),
        cmocka_unit_test_setup(config_read__when_sentence_is_longer_than_its_place__then_cut, setup),
        cmocka_unit_test_setup(config_print__when_printed__then_each_setting_and_no_secret, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
