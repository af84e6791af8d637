/* Which servers are used, by what their INFO says. */
#include "redis/server_info.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct server_info parse(const char *text) { return server_info_parse(text, strlen(text)); }

static void server_info_parse__when_a_whole_reply__then_fields(void **state) {
    struct server_info info =
        parse("# Server\r\nredis_version:7.0.15\r\nrun_id:0123456789012345678901234567890123456789\r\n"
              "redis_mode:standalone\r\n\r\n"
              "# Memory\r\nmaxmemory_policy:noeviction\r\n\r\n"
              "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n# Cluster\r\n"
              "cluster_enabled:0\r\n");
    assert_true(info.is_master);
    assert_false(info.is_cluster);
    assert_string_equal(info.version, "7.0.15");
    assert_string_equal(info.run_id, "0123456789012345678901234567890123456789");
    assert_int_equal(info.major, 7);
    assert_int_equal(info.minor, 0);
    assert_false(server_info_may_evict(&info));
    assert_null(server_info_refusal(&info));
}

static void server_info_refusal__when_server_is_unfit__then_says_why(void **state) {
    static const struct {
        const char *info, *reason; /* NULL = used */
    } cases[] = {
        {"role:master\r\nredis_version:6.2.0\r\n", NULL},
        {"role:master\r\nredis_version:10.1\r\n", NULL},
        {"role:master\nredis_version:7.2.4\nserver_name:valkey\nvalkey_version:8.0.1\nserver_mode:standalone", NULL},
        {"role:master\r\nredis_version:6.0.16\r\n", "6.2"},
        {"role:master\r\nredis_version:5.9.9\r\n", "6.2"},
        {"role:master\r\nredis_version:x\r\n", "6.2"},
        {"role:master\r\n", "6.2"},
        {"role:slave\r\nredis_version:7.0.0\r\n", "replica"},
        {"redis_version:7.0.0\r\n", "replica"},
        {"", "replica"},
        {"role:master\r\nredis_version:7.0.0\r\nredis_mode:cluster\r\n", "cluster"},
        {"role:master\r\nredis_version:7.2.4\r\nserver_mode:cluster\r\n", "cluster"},
        {"role:master\r\nredis_version:7.0.0\r\ncluster_enabled:1\r\n", "cluster"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct server_info info = parse(cases[i].info);
        const char *refusal = server_info_refusal(&info);
        if (cases[i].reason == NULL)
            assert_null(refusal);
        else
            assert_non_null(strstr(refusal != NULL ? refusal : "", cases[i].reason));
    }
}

static void server_info_may_evict__when_policy_is_not_noeviction__then_true(void **state) {
    struct server_info evicts = parse("maxmemory_policy:volatile-lru\r\n");
    struct server_info silent = parse("role:master\r\n");
    assert_true(server_info_may_evict(&evicts));
    assert_false(server_info_may_evict(&silent));
}

static void server_info_parse__when_values_are_long__then_cut(void **state) {
    struct server_info info = parse("redis_version:7.0.123456789012345678901234567890123456789\r\n");
    assert_int_equal(strlen(info.version), SERVER_VERSION_SIZE - 1);
    assert_int_equal(info.major, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_info_parse__when_a_whole_reply__then_fields),
        cmocka_unit_test(server_info_refusal__when_server_is_unfit__then_says_why),
        cmocka_unit_test(server_info_may_evict__when_policy_is_not_noeviction__then_true),
        cmocka_unit_test(server_info_parse__when_values_are_long__then_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
