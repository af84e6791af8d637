/* Which Host and which pages may speak without a token. */
#include "http/site.h"

#include "unit.h"

static void site_is_loopback__when_asked__then_only_names_of_this_machine(void **state) {
    static const char *const yes[] = {
        "localhost",       "LocalHost", "localhost:8080", "127.0.0.1",  "127.0.0.1:1",
        "127.8.9.10:8080", "[::1]",     "[::1]:8080",     "localhost:", /* an empty port is legal */
    };
    static const char *const no[] = {
        "",
        "example.org",
        "localhost.example.org",
        "localhost.",
        "localhostx",
        "127.0.0.1.example.org",
        "128.0.0.1",
        "1127.0.0.1",
        "127.0.0",
        "[::2]",
        "[::1]x",
        "::1",
        "localhost:80x",
        "127.0.0.1:80@evil",
        "0.0.0.0",
        "10.0.0.1:80",
        "evil:80",
        "[::1",
        "localhost:80:80",
        "0x7f.0.0.1",
        " localhost",
    };
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) assert_true(site_is_loopback(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) assert_false(site_is_loopback(no[i]));
    assert_false(site_is_loopback(NULL));
}

static void site_is_own__when_headers_tell__then_other_sites_are_seen(void **state) {
    static const struct {
        const char *origin, *fetch_site;
        bool own;
    } cases[] = {
        {NULL, NULL, true},
        {NULL, "none", true},
        {NULL, "same-origin", true},
        {"http://localhost:3000", "same-site", true},
        {"http://127.0.0.1:8080", NULL, true},
        {"https://[::1]:8080", NULL, true},
        {NULL, "cross-site", false},
        {NULL, "Cross-Site", false},
        {"http://localhost:3000", "cross-site", false},
        {"https://example.org", NULL, false},
        {"https://localhost.example.org", NULL, false},
        {"null", NULL, false},
        {"", NULL, false},
        {"localhost", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(site_is_own(cases[i].origin, cases[i].fetch_site), cases[i].own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(site_is_loopback__when_asked__then_only_names_of_this_machine),
        cmocka_unit_test(site_is_own__when_headers_tell__then_other_sites_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
