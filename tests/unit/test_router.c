/* From method and target to the endpoint. */
#include "http/router.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

static void no_endpoint(struct request *request) { (void)request; }

/* On purpose with parameters before literals. */
static const struct route routes[] = {
    {HTTP_GET, "/", no_endpoint, 0, 0},
    {HTTP_GET, "/v1/inventory/{productId}", no_endpoint, SCOPE_INVENTORY, 0},
    {HTTP_PUT, "/v1/inventory/{productId}", no_endpoint, SCOPE_INVENTORY, 0},
    {HTTP_GET, "/v1/inventory/audit", no_endpoint, SCOPE_INVENTORY, 0},
    {HTTP_GET, "/v1/orders", no_endpoint, SCOPE_ORDERS, 0},
    {HTTP_POST, "/v1/orders", no_endpoint, SCOPE_ORDERS, 0},
    {HTTP_POST, "/v1/orders/{id}/cancel", no_endpoint, SCOPE_ORDERS, 0},
    {HTTP_POST, "/v1/{a}/{b}/{c}", no_endpoint, SCOPE_ORDERS, 0},
    {HTTP_GET, "/healthz", no_endpoint, 0, ROUTE_OPEN | ROUTE_ADMIN_PORT},
};
enum { ROUTE_COUNT = sizeof routes / sizeof *routes };

static struct router *router;

static int make_router(void **state) {
    router = router_new(routes, ROUTE_COUNT, ROUTER_ALL);
    return 0;
}

static int free_router(void **state) {
    router = router_free(router);
    return 0;
}

static char raw[128]; /* params point into it */

static struct result find(const struct router *in, enum http_method method, const char *path,
                          struct router_match *ret) {
    struct target target;
    snprintf(raw, sizeof raw, "%s", path);
    assert_false(failed(target_decode(raw, &target)));
    return router_find(in, method, &target, ret);
}

static void router_find__when_a_row_fits__then_its_label_and_params(void **state) {
    static const struct {
        enum http_method method;
        const char *path, *label, *first;
        unsigned params;
    } cases[] = {
        {HTTP_GET, "/", "GET /", NULL, 0},
        {HTTP_GET, "/v1/orders", "GET /v1/orders", NULL, 0},
        {HTTP_HEAD, "/v1/orders", "GET /v1/orders", NULL, 0},
        {HTTP_POST, "/v1/orders", "POST /v1/orders", NULL, 0},
        {HTTP_POST, "/v1/orders/42/cancel", "POST /v1/orders/{id}/cancel", "42", 1},
        {HTTP_POST, "/v1/orders/42/other", "POST /v1/{a}/{b}/{c}", "orders", 3},
        {HTTP_GET, "/v1/inventory/7", "GET /v1/inventory/{productId}", "7", 1},
        {HTTP_GET, "/v1/inventory/a%2Fb", "GET /v1/inventory/{productId}", "a/b", 1},
        {HTTP_GET, "/v1/inventory/audit", "GET /v1/inventory/audit", NULL, 0},
        {HTTP_PUT, "/v1/inventory/audit", "PUT /v1/inventory/{productId}", "audit", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct router_match match;
        assert_false(failed(find(router, cases[i].method, cases[i].path, &match)));
        assert_string_equal(match.label, cases[i].label);
        assert_int_equal(match.param_count, cases[i].params);
        if (cases[i].first) assert_string_equal(match.params[0], cases[i].first);
    }
}

static void router_find__when_no_path_fits__then_no_such_path(void **state) {
    static const char *const paths[] = {
        "/v1",           "/v1/orders/", "/V1/orders", "/v1/orderss",        "/v1/inventory/",
        "/v1/orders/42", "//",          "/healthz/x", "/1/2/3/4/5/6/7/8/9",
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct router_match match;
        assert_int_equal(find(router, HTTP_GET, paths[i], &match).code, ERROR_NO_SUCH_PATH);
        assert_null(match.route);
    }
}

static void router_find__when_only_the_method_is_wrong__then_all_allowed_are_told(void **state) {
    static const struct {
        enum http_method method;
        const char *path, *allow;
    } cases[] = {
        {HTTP_DELETE, "/v1/orders", "GET, HEAD, POST"},
        {HTTP_OTHER, "/v1/orders", "GET, HEAD, POST"},
        {HTTP_GET, "/v1/orders/42/cancel", "POST"},
        {HTTP_HEAD, "/v1/orders/42/cancel", "POST"},
        {HTTP_DELETE, "/v1/inventory/audit", "GET, HEAD, PUT"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct router_match match;
        char allow[64];
        assert_int_equal(find(router, cases[i].method, cases[i].path, &match).code, ERROR_METHOD_NOT_ALLOWED);
        router_allow_text(match.allowed, allow, sizeof allow);
        assert_string_equal(allow, cases[i].allow);
    }
}

static void router_new__when_one_side_only__then_the_other_sides_rows_are_unknown(void **state) {
    struct router_match match;
    struct router *public = router_new(routes, ROUTE_COUNT, ROUTER_PUBLIC);
    struct router *admin = router_new(routes, ROUTE_COUNT, ROUTER_ADMIN);
    assert_false(failed(find(router, HTTP_GET, "/healthz", &match)));
    assert_int_equal(find(public, HTTP_GET, "/healthz", &match).code, ERROR_NO_SUCH_PATH);
    assert_false(failed(find(public, HTTP_GET, "/v1/orders", &match)));
    assert_false(failed(find(admin, HTTP_GET, "/healthz", &match)));
    assert_int_equal(find(admin, HTTP_GET, "/v1/orders", &match).code, ERROR_NO_SUCH_PATH);
    router_free(public);
    router_free(admin);
}

/* Metrics keep the label's address beyond the router's life. */
static void router_new__when_made_again__then_labels_are_the_same_and_stay(void **state) {
    struct router_match first, second;
    assert_false(failed(find(router, HTTP_GET, "/v1/orders", &first)));
    struct router *other = router_new(routes, ROUTE_COUNT, ROUTER_ALL);
    assert_false(failed(find(other, HTTP_GET, "/v1/orders", &second)));
    assert_ptr_equal(first.label, second.label);
    router_free(other);
    assert_string_equal(second.label, "GET /v1/orders");
}

static void router_free__when_null__then_null(void **state) { assert_null(router_free(NULL)); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(router_find__when_a_row_fits__then_its_label_and_params),
        cmocka_unit_test(router_find__when_no_path_fits__then_no_such_path),
        cmocka_unit_test(router_find__when_only_the_method_is_wrong__then_all_allowed_are_told),
        cmocka_unit_test(router_new__when_one_side_only__then_the_other_sides_rows_are_unknown),
        cmocka_unit_test(router_new__when_made_again__then_labels_are_the_same_and_stay),
        cmocka_unit_test(router_free__when_null__then_null),
    };
    return cmocka_run_group_tests(tests, make_router, free_router);
}
