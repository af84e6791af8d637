/* Counting by route and status, and what happens beyond the bounds. The table lives as long as the process: tests use
   routes of their own, and the one that fills it comes last. */
#include "metrics/requests.h"

#include "metrics/metrics.h"

#include <pthread.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_page(const char *line, bool expected) {
    AUTO_TEXT out = text_new(0);
    requests_write(&out);
    if ((strstr(text_str(&out), line) != NULL) != expected)
        fail_msg("%s line %s in\n%s", expected ? "no" : "a", line, text_str(&out));
}

static void metric_request__when_counted__then_by_route_and_status(void **state) {
    metric_request("GET /a/{id}", 200, 700);
    metric_request("GET /a/{id}", 200, 30000000);
    metric_request("GET /a/{id}", 404, 100);
    assert_page("\nlockstock_http_requests_total{route=\"GET /a/{id}\",status=\"200\"} 2\n", true);
    assert_page("\nlockstock_http_requests_total{route=\"GET /a/{id}\",status=\"404\"} 1\n", true);
    assert_page("\nlockstock_http_request_seconds_bucket{route=\"GET /a/{id}\",le=\"0.0005\"} 1\n", true);
    assert_page("\nlockstock_http_request_seconds_bucket{route=\"GET /a/{id}\",le=\"10\"} 2\n", true);
    assert_page("\nlockstock_http_request_seconds_sum{route=\"GET /a/{id}\"} 30.000800\n", true);
    assert_page("\nlockstock_http_request_seconds_count{route=\"GET /a/{id}\"} 3\n", true);
}

static void metric_request__when_same_text_at_another_address__then_one_series(void **state) {
    char route[] = "GET /same";
    metric_request("GET /same", 200, 1);
    metric_request(route, 200, 1);
    memset(route, 'x', sizeof route - 1); /* the table must not have kept our pointer */
    assert_page("{route=\"GET /same\",status=\"200\"} 2\n", true);
    assert_page("xxxx", false);
}

static void metric_request__when_too_many_statuses__then_other(void **state) {
    for (int status = 200; status < 224; status++) metric_request("GET /statuses", status, 1);
    metric_request("GET /statuses", 599, 1);
    metric_request("GET /statuses", 0, 1);
    assert_page("{route=\"GET /statuses\",status=\"223\"} 1\n", true);
    assert_page("{route=\"GET /statuses\",status=\"599\"}", false);
    assert_page("{route=\"GET /statuses\",status=\"other\"} 2\n", true);
}

enum { THREADS = 4, ROUNDS = 5000 };

static void *count_many(void *arg) {
    static const char *const routes[] = {"GET /t1", "GET /t2", "GET /t3"};
    for (int i = 0; i < ROUNDS; i++) metric_request(routes[i % 3], 200 + i % 2, 1);
    return NULL;
}

static void metric_request__when_several_threads__then_none_is_lost(void **state) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, count_many, NULL), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_page("lockstock_http_request_seconds_count{route=\"GET /t1\"} 6668\n", true);
    assert_page("lockstock_http_request_seconds_count{route=\"GET /t2\"} 6668\n", true);
    assert_page("lockstock_http_request_seconds_count{route=\"GET /t3\"} 6664\n", true);
    assert_page("{route=\"GET /t1\",status=\"200\"} 3336\n", true);
}

static void metric_request__when_too_many_routes__then_other(void **state) {
    for (int i = 0; i < 200; i++) {
        char route[32];
        text_format(route, sizeof route, "GET /many/%d", i);
        metric_request(route, 200, 1);
    }
    assert_page("{route=\"GET /many/0\",status=\"200\"} 1\n", true);
    assert_page("{route=\"GET /many/199\"", false);
    assert_page("{route=\"other\",status=\"200\"} ", true);
    metric_request("GET /a/{id}", 200, 1);
    assert_page("{route=\"GET /a/{id}\",status=\"200\"} 3\n", true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metric_request__when_counted__then_by_route_and_status),
        cmocka_unit_test(metric_request__when_same_text_at_another_address__then_one_series),
        cmocka_unit_test(metric_request__when_too_many_statuses__then_other),
        cmocka_unit_test(metric_request__when_several_threads__then_none_is_lost),
        cmocka_unit_test(metric_request__when_too_many_routes__then_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
