/* When a lease must be renewed and when its command must be dead; what answers mean. */
#include "unit.h"

#include "run/lease.h"

#include <signal.h>

static const struct lease_terms terms = {.ttl_ms = 30000, .grace_ms = 5000};

static struct lock_reply grant(int64_t safe_for_ms) {
    return (struct lock_reply){.fence = 7, .safe_for_ms = safe_for_ms, .retry_after_ms = -1, .safety = "redis"};
}

static void lease_of__when_granted__then_counted_from_the_sending(void **state) {
    struct lease lease = lease_of(&terms, 1000000, 29695);
    assert_int_equal(lease.kill_at, 1000000 + 29695 - 200);
    assert_int_equal(lease.term_at, lease.kill_at - 5000);
    assert_int_equal(lease.renew_at, 1010000);
}

static void lease_of__when_any_lease__then_in_order_and_dead_before_its_end(void **state) {
    static const int64_t ttls_ms[] = {1000, 1500, 2000, 10000, 30000, 3600000, 86400000};
    for (size_t i = 0; i < sizeof ttls_ms / sizeof ttls_ms[0]; i++) {
        for (int part = 0; part <= 4; part++) {
            struct lease_terms some = {ttls_ms[i], ttls_ms[i] / 4};
            int64_t safe_ms = ttls_ms[i] * part / 4;
            struct lease lease = lease_of(&some, 50, safe_ms);
            assert_true(lease.kill_at <= 50 + safe_ms - 10);
            assert_true(lease.kill_at >= 50 + safe_ms - 200);
            assert_true(lease.term_at <= lease.kill_at);
            assert_true(lease.renew_at <= lease.term_at);
        }
    }
}

static void lease_of__when_most_is_used_up__then_renewal_is_overdue(void **state) {
    struct lease lease = lease_of(&terms, 0, 4000);
    assert_true(lease.term_at < 0);
    assert_int_equal(lease.renew_at, lease.term_at);
    assert_true(lease.kill_at < 4000);
}

static void renewals__when_unanswered__then_two_fit_before_term(void **state) {
    static const int64_t ttls_ms[] = {1000, 2000, 30000, 86400000};
    for (size_t i = 0; i < sizeof ttls_ms / sizeof ttls_ms[0]; i++) {
        struct lease_terms some = {ttls_ms[i], ttls_ms[i] / 4};
        struct lease lease = lease_of(&some, 0, ttls_ms[i] - ttls_ms[i] / 100 - 5);
        int64_t second_at = lease.renew_at + renewal_timeout_ms(&some) + pause_ms(1, -1, &some);
        assert_true(second_at < lease.term_at);
    }
}

static void verdict_on_put__when_answered__then_by_status(void **state) {
    static const struct {
        int status;
        enum verdict verdict;
    } rows[] = {
        {200, VERDICT_HELD},      {201, VERDICT_HELD},    {202, VERDICT_QUEUED},  {0, VERDICT_AGAIN},
        {204, VERDICT_REFUSED},   {302, VERDICT_REFUSED}, {400, VERDICT_REFUSED}, {401, VERDICT_FORBIDDEN},
        {403, VERDICT_FORBIDDEN}, {404, VERDICT_REFUSED}, {409, VERDICT_REFUSED}, {410, VERDICT_AGAIN},
        {423, VERDICT_AGAIN},     {429, VERDICT_AGAIN},   {500, VERDICT_AGAIN},   {503, VERDICT_AGAIN},
    };
    struct lock_reply reply = grant(29000);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(verdict_on_put(rows[i].status, &reply, &terms), rows[i].verdict);
}

static void verdicts__when_the_grant_is_none__then_not_believed(void **state) {
    struct lock_reply absent = grant(-1), longer = grant(30001), open = grant(29000);
    open.safety[0] = 'n', open.safety[1] = 'o', open.safety[2] = 'n', open.safety[3] = 'e', open.safety[4] = '\0';
    const struct lock_reply *replies[] = {NULL, &absent, &longer, &open};
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        assert_int_equal(verdict_on_put(201, replies[i], &terms), VERDICT_AGAIN);
        assert_int_equal(verdict_on_renewal(200, replies[i], &terms), VERDICT_AGAIN);
    }
}

static void verdict_on_renewal__when_no_410__then_never_lost(void **state) {
    struct lock_reply reply = grant(29000);
    assert_int_equal(verdict_on_renewal(200, &reply, &terms), VERDICT_HELD);
    assert_int_equal(verdict_on_renewal(410, &reply, &terms), VERDICT_LOST);
    assert_int_equal(verdict_on_renewal(410, NULL, &terms), VERDICT_LOST);
    for (int status = 0; status < 600; status++)
        if (status != 200 && status != 410) assert_int_equal(verdict_on_renewal(status, &reply, &terms), VERDICT_AGAIN);
}

static void verdict_on_release__when_answered__then_by_status(void **state) {
    assert_int_equal(verdict_on_release(204), VERDICT_HELD);
    assert_int_equal(verdict_on_release(410), VERDICT_LOST);
    assert_int_equal(verdict_on_release(0), VERDICT_AGAIN);
    assert_int_equal(verdict_on_release(503), VERDICT_AGAIN);
    assert_int_equal(verdict_on_release(403), VERDICT_REFUSED);
}

static void pause__when_failures_go_on__then_longer_up_to_a_bound(void **state) {
    int64_t before_ms = 0;
    for (unsigned failures = 1; failures < 100; failures++) {
        int64_t pause = pause_ms(failures, -1, &terms);
        assert_true(pause >= before_ms && pause >= 100 && pause <= 1500);
        before_ms = pause;
    }
    assert_int_equal(pause_ms(1, -1, &terms), 100);
    assert_int_equal(before_ms, 1500);
    assert_int_equal(pause_ms(1, 1000, &terms), 1000);
    assert_int_equal(pause_ms(1, 3600000, &terms), 2000);
    assert_int_equal(pause_ms(9, 0, &terms), 1500);
}

static void put_timeout__when_waiting__then_a_slice_and_a_little(void **state) {
    assert_int_equal(put_timeout_ms(0), 5000);
    assert_int_equal(put_timeout_ms(7000), 12000);
    assert_int_equal(put_timeout_ms(86400000), 25000);
}

static void exit_status__when_ended__then_as_shells_say(void **state) {
    assert_int_equal(exit_status_of(0), 0);
    assert_int_equal(exit_status_of(42 << 8), 42);
    assert_int_equal(exit_status_of(SIGTERM), 143);
    assert_int_equal(exit_status_of(SIGSEGV | 0x80), 139); /* with a core dump */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lease_of__when_granted__then_counted_from_the_sending),
        cmocka_unit_test(lease_of__when_any_lease__then_in_order_and_dead_before_its_end),
        cmocka_unit_test(lease_of__when_most_is_used_up__then_renewal_is_overdue),
        cmocka_unit_test(renewals__when_unanswered__then_two_fit_before_term),
        cmocka_unit_test(verdict_on_put__when_answered__then_by_status),
        cmocka_unit_test(verdicts__when_the_grant_is_none__then_not_believed),
        cmocka_unit_test(verdict_on_renewal__when_no_410__then_never_lost),
        cmocka_unit_test(verdict_on_release__when_answered__then_by_status),
        cmocka_unit_test(pause__when_failures_go_on__then_longer_up_to_a_bound),
        cmocka_unit_test(put_timeout__when_waiting__then_a_slice_and_a_little),
        cmocka_unit_test(exit_status__when_ended__then_as_shells_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
