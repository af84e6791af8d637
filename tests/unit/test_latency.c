/* tests/bench/latency.c: percentiles within 1/64. */
#include "bench/latency.h"
#include "unit.h"

static struct latency h;

static int empty(void **state) {
    h = (struct latency){0};
    return 0;
}

static void latency_at__empty__is_zero(void **state) { assert_int_equal(latency_at(&h, 0.99), 0); }

static void latency_at__one_to_a_million__is_within_a_64th(void **state) {
    static const double shares[] = {0.01, 0.5, 0.9, 0.99, 0.999};
    for (int64_t us = 1; us <= 1000000; us++) latency_add(&h, us);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        double want = shares[i] * 1e6, got = (double)latency_at(&h, shares[i]);
        assert_true(got >= want * (1 - 1.0 / 64) && got <= want * (1 + 1.0 / 32));
    }
    assert_int_equal(latency_at(&h, 1.0), 1000000);
}

static void latency_add__outside__counts_at_the_ends(void **state) {
    latency_add(&h, -5);
    latency_add(&h, INT64_MAX);
    assert_int_equal(h.counts[0], 1);
    assert_int_equal(h.counts[LATENCY_BUCKETS - 1], 1);
    assert_int_equal(h.max_us, INT64_MAX);
}

static void latency_merge__two__counts_both(void **state) {
    static struct latency other;
    latency_add(&h, 3);
    latency_add(&other, 70);
    latency_merge(&h, &other);
    assert_int_equal(h.count, 2);
    assert_int_equal(h.max_us, 70);
    assert_int_equal(latency_at(&h, 0.4), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(latency_at__empty__is_zero, empty),
        cmocka_unit_test_setup(latency_at__one_to_a_million__is_within_a_64th, empty),
        cmocka_unit_test_setup(latency_add__outside__counts_at_the_ends, empty),
        cmocka_unit_test_setup(latency_merge__two__counts_both, empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
