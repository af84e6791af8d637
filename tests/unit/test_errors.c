/* Every row of errors.def is whole, and the two macros do what they say. */
#include "base/result.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void error_info__when_public__then_row_is_whole(void **state) {
    for (int i = 1; i < ERROR_COUNT; i++) {
        const struct error_info *info = error_info((enum error)i);
        assert_non_null(info->name);
        assert_non_null(info->title);
        if (!info->code) continue;
        assert_in_range(info->status, 400, 599);
        assert_non_null(info->slug);
        assert_non_null(info->advice);
        assert_int_equal(error_public((enum error)i), i);
        assert_int_equal(error_by_slug(info->slug), i);
    }
}

static void error_info__when_two_rows__then_codes_and_slugs_differ(void **state) {
    for (int i = 1; i < ERROR_COUNT; i++)
        for (int j = 1; j < i; j++) {
            const struct error_info *a = error_info((enum error)i), *b = error_info((enum error)j);
            if (!a->code || !b->code) continue;
            assert_string_not_equal(a->code, b->code);
            assert_string_not_equal(a->slug, b->slug);
        }
}

static void error_info__when_known_row__then_as_written(void **state) {
    const struct error_info *info = error_info(ERROR_INSUFFICIENT_STOCK);
    assert_string_equal(info->name, "INSUFFICIENT_STOCK");
    assert_string_equal(info->code, "PRD-002");
    assert_int_equal(info->status, 409);
    assert_string_equal(info->slug, "insufficient-stock");
}

static void error_public__when_inner__then_a_public_row(void **state) {
    for (int i = 1; i < ERROR_COUNT; i++) assert_non_null(error_info(error_public((enum error)i))->code);
    assert_null(error_info(ERROR_COMMIT_UNKNOWN)->code);
    assert_int_equal(error_public(ERROR_COMMIT_UNKNOWN), ERROR_OUTCOME_UNKNOWN);
    assert_int_equal(error_public(ERROR_REDIS_DOWN), ERROR_LOCK_STORE_DOWN);
    assert_int_equal(error_public(ERROR_NONE), ERROR_NONE);
}

static void error_by_slug__when_unknown__then_none(void **state) {
    assert_int_equal(error_by_slug("no-such-slug"), ERROR_NONE);
    assert_int_equal(error_by_slug(""), ERROR_NONE);
}

static RESULT fails(void) { FAIL(DEADLOCK, 1213); }
static RESULT tries(int *steps) {
    (*steps)++;
    TRY(OK);
    (*steps)++;
    TRY(fails());
    (*steps)++;
    return OK;
}

static void try__when_inner_call_fails__then_returns_its_result(void **state) {
    int steps = 0;
    struct result r = tries(&steps);
    assert_true(failed(r));
    assert_int_equal(r.code, ERROR_DEADLOCK);
    assert_int_equal(r.native, 1213);
    assert_non_null(strstr(r.where, "test_errors.c:"));
    assert_int_equal(steps, 2);
    assert_false(failed(OK));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_info__when_public__then_row_is_whole),
        cmocka_unit_test(error_info__when_two_rows__then_codes_and_slugs_differ),
        cmocka_unit_test(error_info__when_known_row__then_as_written),
        cmocka_unit_test(error_public__when_inner__then_a_public_row),
        cmocka_unit_test(error_by_slug__when_unknown__then_none),
        cmocka_unit_test(try__when_inner_call_fails__then_returns_its_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
