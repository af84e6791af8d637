#include "unit.h"

#include "store/db_errors.h"

static void db_error_of__when_each_kind__then_ours(void **state) {
    static const struct {
        unsigned number;
        const char *sqlstate;
        struct db_error expected;
    } cases[] = {
        {1213, "40001", {ERROR_DEADLOCK, false, true}},         {1205, "HY000", {ERROR_LOCK_WAIT, false, false}},
        {3572, "HY000", {ERROR_LOCK_WAIT, false, false}},       {1062, "23000", {ERROR_DUPLICATE, false, false}},
        {1264, "22003", {ERROR_BAD_DATA, false, false}},        {1406, "22001", {ERROR_BAD_DATA, false, false}},
        {1048, "23000", {ERROR_BAD_DATA, false, false}},        {1366, "HY000", {ERROR_BAD_DATA, false, false}},
        {1267, "HY000", {ERROR_BAD_DATA, false, false}},        {3819, "HY000", {ERROR_BAD_DATA, false, false}},
        {4025, "23000", {ERROR_BAD_DATA, false, false}},        {1146, "42S02", {ERROR_STORE_SCHEMA, false, false}},
        {1054, "42S22", {ERROR_STORE_SCHEMA, false, false}},    {1290, "HY000", {ERROR_STORE_READ_ONLY, false, false}},
        {1836, "HY000", {ERROR_STORE_READ_ONLY, false, false}}, {1040, "08004", {ERROR_STORE_DOWN, true, false}},
        {1053, "08S01", {ERROR_STORE_LOST, true, false}},       {1927, "70100", {ERROR_STORE_LOST, true, false}},
        {1317, "70100", {ERROR_STORE_LOST, true, false}},       {2006, "HY000", {ERROR_STORE_LOST, true, false}},
        {2013, "HY000", {ERROR_STORE_LOST, true, false}},       {2014, "HY000", {ERROR_STORE_OTHER, true, false}},
        {1159, "08S01", {ERROR_STORE_LOST, true, false}},       {1180, "40000", {ERROR_DEADLOCK, false, true}},
        {1064, "42000", {ERROR_STORE_OTHER, false, false}},     {1105, "", {ERROR_STORE_OTHER, false, false}},
        {3854, "HY000", {ERROR_BAD_DATA, false, false}},        {3988, "HY000", {ERROR_BAD_DATA, false, false}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct db_error e = db_error_of(cases[i].number, cases[i].sqlstate);
        assert_int_equal(e.error, cases[i].expected.error);
        assert_int_equal(e.unusable, cases[i].expected.unusable);
        assert_int_equal(e.aborted, cases[i].expected.aborted);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(db_error_of__when_each_kind__then_ours)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
