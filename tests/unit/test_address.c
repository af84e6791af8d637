/* Who may be asked: a row for each range, on both sides of its edges. */
#include "unit.h"

#include "client/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

static bool allowed(const char *text, enum reach reach) {
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) return address_is_allowed((struct sockaddr *)&v4, reach);
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return address_is_allowed((struct sockaddr *)&v6, reach);
}

static void check_all(const char *const *texts, bool for_public, bool for_private) {
    for (; *texts != NULL; texts++) {
        if (allowed(*texts, REACH_PUBLIC) != for_public || allowed(*texts, REACH_PRIVATE) != for_private)
            fail_msg("%s", *texts);
        assert_true(allowed(*texts, REACH_ANY));
    }
}

static void address__when_public__then_allowed(void **state) {
    static const char *const texts[] = {"1.1.1.1",        "9.255.255.255",    "11.0.0.0",    "100.63.255.255",
                                        "100.128.0.0",    "126.255.255.255",  "128.0.0.0",   "169.253.255.255",
                                        "169.255.0.0",    "172.15.255.255",   "172.32.0.0",  "192.167.255.255",
                                        "192.169.0.0",    "198.17.255.255",   "198.20.0.0",  "223.255.255.255",
                                        "168.63.129.17",  "2606:4700::1111",  "2001:200::1", "2a00:1450::1",
                                        "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", NULL};
    check_all(texts, true, true);
}

static void address__when_of_a_private_network__then_only_when_that_is_allowed(void **state) {
    static const char *const texts[] = {
        "10.0.0.0",         "10.255.255.255",  "100.64.0.1",           "127.0.0.1", "127.8.9.10", "172.16.0.0",
        "172.31.255.255",   "192.168.0.1",     "198.18.0.1",           "::1",       "fc00::1",    "fd12:3456::1",
        "::ffff:127.0.0.1", "::ffff:10.1.2.3", "64:ff9b::192.168.1.1", NULL};
    check_all(texts, false, true);
}

static void address__when_metadata_or_nobodys__then_never(void **state) {
    static const char *const texts[] = {"0.0.0.0",
                                        "0.1.2.3",
                                        "169.254.169.254",
                                        "169.254.0.1",
                                        "100.100.100.200",
                                        "168.63.129.16",
                                        "192.0.0.192",
                                        "192.0.2.1",
                                        "224.0.0.1",
                                        "240.0.0.1",
                                        "255.255.255.255",
                                        "::",
                                        "fe80::1",
                                        "ff02::1",
                                        "fd00:ec2::254",
                                        "fd20:ce::254",
                                        "2001::1",
                                        "2001:db8::1",
                                        "2002:7f00:1::",
                                        "::ffff:169.254.169.254",
                                        "64:ff9b::a9fe:a9fe",
                                        "64:ff9b:1::1",
                                        "::7f00:1",
                                        "3fff::1",
                                        NULL};
    check_all(texts, false, false);
}

static void address__when_of_another_family__then_only_for_any(void **state) {
    struct sockaddr_un here = {.sun_family = AF_UNIX};
    assert_true(address_is_allowed((struct sockaddr *)&here, REACH_ANY));
    assert_false(address_is_allowed((struct sockaddr *)&here, REACH_PRIVATE));
    assert_false(address_is_allowed((struct sockaddr *)&here, REACH_PUBLIC));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address__when_public__then_allowed),
        cmocka_unit_test(address__when_of_a_private_network__then_only_when_that_is_allowed),
        cmocka_unit_test(address__when_metadata_or_nobodys__then_never),
        cmocka_unit_test(address__when_of_another_family__then_only_for_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
