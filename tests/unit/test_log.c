/* One call, one line, valid JSON whatever the values are. Lines are caught in a pipe in place of stdout. */
#include "base/log.h"

#include "base/text.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char caught[3 * PIPE_BUF];

static int saved_stdout, ends[2];

static void catch_begin(void) {
    assert_int_equal(pipe(ends), 0);
    saved_stdout = dup(STDOUT_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
}

/* What was written since, as one string. */
static const char *catch_end(void) {
    dup2(saved_stdout, STDOUT_FILENO);
    close(saved_stdout);
    ssize_t got = read(ends[0], caught, sizeof caught - 1);
    close(ends[0]);
    caught[got > 0 ? got : 0] = '\0';
    return caught;
}

/* The string literal at s ends where? NULL when it is not valid JSON or not UTF-8. */
static const char *skip_string(const char *s) {
    if (*s++ != '"') return NULL;
    while (*s != '"') {
        if (*s == '\\' && s[1] == 'u') {
            if (strspn(s + 2, "0123456789abcdef") < 4) return NULL;
            s += 6;
        } else if (*s == '\\') {
            if (!strchr("\"\\", s[1])) return NULL;
            s += 2;
        } else {
            uint32_t point;
            size_t size = text_utf8_next(s, strlen(s), &point);
            if (size == 0 || text_is_control(point)) return NULL;
            s += size;
        }
    }
    return s + 1;
}

static const char *skip_value(const char *s) {
    if (*s == '"') return skip_string(s);
    if (strncmp(s, "null", 4) == 0) return s + 4;
    if (strncmp(s, "true", 4) == 0) return s + 4;
    size_t n = strspn(s, "-0123456789");
    return n ? s + n : NULL;
}

/* Exactly one object of strings, integers, null and true, then one newline. */
static bool is_one_json_line(const char *s) {
    if (*s != '{') return false;
    do {
        s = skip_string(s + 1);
        if (!s || *s != ':') return false;
        s = skip_value(s + 1);
    } while (s && *s == ',');
    return s && strcmp(s, "}\n") == 0;
}

static void log__when_written__then_head_and_fields_in_order(void **state) {
    log_start(LOG_INFO, "pod-1");
    catch_begin();
    LOG(LOG_WARN, "redis-away", LOGS("requestId", "r1"), LOGI("ms", -12), LOGS("none", NULL));
    const char *line = catch_end();
    assert_true(is_one_json_line(line));
    static const char ts[] = "{\"ts\":\"2026-11-30T12:00:00.000Z";
    assert_int_equal(line[strlen(ts) - 1], 'Z');
    assert_int_equal(line[strlen(ts) - 5], '.');
    assert_string_equal(line + strlen(ts), "\",\"level\":\"warn\",\"event\":\"redis-away\",\"instance\":\"pod-1\","
                                           "\"requestId\":\"r1\",\"ms\":-12,\"none\":null}\n");
}

static void log__when_no_fields__then_head_alone(void **state) {
    catch_begin();
    LOG(LOG_ERROR, "bare");
    assert_true(is_one_json_line(catch_end()));
    assert_non_null(strstr(caught, "\"event\":\"bare\",\"instance\":\"pod-1\"}"));
}

static void log__when_level_is_below__then_nothing_is_written(void **state) {
    log_start(LOG_WARN, "pod-1");
    catch_begin();
    LOG(LOG_INFO, "quiet");
    LOG(LOG_DEBUG, "quiet");
    LOG(LOG_WARN, "loud");
    catch_end();
    assert_null(strstr(caught, "quiet"));
    assert_non_null(strstr(caught, "loud"));
    assert_true(log_is_on(LOG_ERROR));
    assert_false(log_is_on(LOG_INFO));
    log_start(LOG_INFO, "pod-1");
}

static void log__when_result_failed__then_err_native_where(void **state) {
    struct result r = FAILURE(DEADLOCK, 1213);
    catch_begin();
    LOG(LOG_ERROR, "train-failed", LOGR(r));
    assert_true(is_one_json_line(catch_end()));
    assert_non_null(strstr(caught, "\"err\":\"DEADLOCK\",\"native\":1213,\"where\":\""));
    assert_non_null(strstr(caught, "test_log.c:"));
}

static void log__when_value_needs_escapes__then_escaped(void **state) {
    catch_begin();
    LOG(LOG_INFO, "odd", LOGS("v", "a\"b\\c\n\t\x01\x7F\xC2\x85 caf\xC3\xA9 \xFF\xE2\x82"));
    assert_true(is_one_json_line(catch_end()));
    assert_non_null(strstr(caught, "\"v\":\"a\\\"b\\\\c\\u000a\\u0009\\u0001\\u007f\\u0085 caf\xC3\xA9 "
                                   "\\ufffd\\ufffd\\ufffd\"}"));
}

/* All lengths around the bounds, of values that grow when escaped and of characters that must not be split. */
static void log__when_values_are_long__then_cut_and_still_json(void **state) {
    static const char *const units[] = {"x", "\"", "\n", "\xC3\xA9", "\xF0\x9F\x94\x92", "\xFF"};
    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        for (size_t count = 100; count < 1400; count += 7) {
            AUTO_TEXT t = text_new(0);
            for (size_t i = 0; i < count; i++) text_add_str(&t, units[u]);
            const char *v = text_str(&t);
            catch_begin();
            LOG(LOG_INFO, "long", LOGS("a", v), LOGS("b", v), LOGS("c", v), LOGS("d", v), LOGS("e", v), LOGI("n", 1));
            if (!is_one_json_line(catch_end())) fail_msg("unit %zu count %zu: %s", u, count, caught);
            assert_true(strlen(caught) <= PIPE_BUF);
            bool whole = strstr(caught, ",\"n\":1}") != NULL;
            assert_true(whole || strstr(caught, ",\"cut\":true}") != NULL);
        }
}

static void log__when_one_value_is_huge__then_later_fields_stay(void **state) {
    AUTO_TEXT t = text_new(0);
    for (int i = 0; i < 100000; i++) text_add_char(&t, 'x');
    catch_begin();
    LOG(LOG_INFO, "huge", LOGS("a", text_str(&t)), LOGS("where", "here"));
    assert_true(is_one_json_line(catch_end()));
    assert_non_null(strstr(caught, "xxx\",\"where\":\"here\",\"cut\":true}"));
}

static void log__when_too_many_fields__then_marked(void **state) {
    struct log_field fields[64];
    for (int i = 0; i < 63; i++) fields[i] = LOGI("n", i);
    fields[63] = (struct log_field){LOG_END, 0, 0, 0};
    catch_begin();
    log_write(LOG_INFO, "many", fields);
    assert_true(is_one_json_line(catch_end()));
    assert_non_null(strstr(caught, "\"n\":31,\"cut\":true}"));
}

static void log_start__when_instance_is_long__then_kept_within_bounds(void **state) {
    log_start(LOG_INFO, "0123456789012345678901234567890123456789012345678901234567890123456789");
    catch_begin();
    LOG(LOG_INFO, "x");
    assert_true(is_one_json_line(catch_end()));
    log_start(LOG_INFO, "pod-1");
}

static void log_level_parse__when_named__then_that_level(void **state) {
    enum log_level level;
    assert_true(log_level_parse("debug", &level) && level == LOG_DEBUG);
    assert_true(log_level_parse("info", &level) && level == LOG_INFO);
    assert_true(log_level_parse("warn", &level) && level == LOG_WARN);
    assert_true(log_level_parse("error", &level) && level == LOG_ERROR);
    assert_false(log_level_parse("INFO", &level));
    assert_false(log_level_parse("", &level));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log__when_written__then_head_and_fields_in_order),
        cmocka_unit_test(log__when_no_fields__then_head_alone),
        cmocka_unit_test(log__when_level_is_below__then_nothing_is_written),
        cmocka_unit_test(log__when_result_failed__then_err_native_where),
        cmocka_unit_test(log__when_value_needs_escapes__then_escaped),
        cmocka_unit_test(log__when_values_are_long__then_cut_and_still_json),
        cmocka_unit_test(log__when_one_value_is_huge__then_later_fields_stay),
        cmocka_unit_test(log__when_too_many_fields__then_marked),
        cmocka_unit_test(log_start__when_instance_is_long__then_kept_within_bounds),
        cmocka_unit_test(log_level_parse__when_named__then_that_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
