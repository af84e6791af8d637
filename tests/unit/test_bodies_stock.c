#include "codec/bodies.h"

#include "body_cases.h"

static struct result decode_product(const char *body, size_t len, struct field_errors *errors) {
    struct product_body value;
    return body_product(body, len, errors, &value);
}
static struct result decode_stock(const char *body, size_t len, struct field_errors *errors) {
    struct stock_body value;
    return body_stock(body, len, errors, &value);
}
static struct result decode_adjustment(const char *body, size_t len, struct field_errors *errors) {
    struct adjustment_body value;
    return body_adjustment(body, len, errors, &value);
}

static void body_product__when_right__then_values(void **state) {
    static const struct {
        const char *body, *name;
        int64_t price, stock;
    } rows[] = {
        {"{\"name\":\"Tea\",\"price\":0}", "Tea", 0, -1},
        {"{\"name\":\"Tea\",\"price\":1,\"stock\":null}", "Tea", 1, -1},
        {"{\"name\":\"Tea\",\"price\":1,\"stock\":0}", "Tea", 1, 0},
        {"{\"stock\":9007199254740991,\"price\":9007199254740991,\"name\":\"\xc3\x9c\"}", "\xc3\x9c", MONEY_MAX,
         STOCK_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct product_body value;
        struct field_errors errors;
        assert_false(failed(body_product(rows[i].body, strlen(rows[i].body), &errors, &value)));
        assert_string_equal(value.name, rows[i].name);
        assert_int_equal(value.price, rows[i].price);
        assert_int_equal(value.stock, rows[i].stock);
    }
}

static void body_product__when_wrong__then_refused(void **state) {
    static const struct refusal rows[] = {
        {"", "", "a JSON object is required"},
        {"{\"price\":1}", "/name", "is required"},
        {"{\"name\":\"a\"}", "/price", "is required"},
        {"{\"name\":\"\",\"price\":1}", "/name", "1 to 255 characters"},
        {"{\"name\":\"a\\u0085\",\"price\":1}", "/name", "without control characters"},
        {"{\"name\":\"a\",\"price\":-1}", "/price", "from 0 to 9007199254740991"},
        {"{\"name\":\"a\",\"price\":9.99}", "/price", "must be an integer"},
        {"{\"name\":\"a\",\"price\":null}", "/price", "must be an integer"},
        {"{\"name\":\"a\",\"price\":1,\"stock\":-1}", "/stock", "from 0 to 9007199254740991"},
        {"{\"name\":\"a\",\"price\":1,\"stock\":9007199254740992}", "/stock", "from 0 to 9007199254740991"},
        {"{\"name\":\"a\",\"price\":1,\"status\":\"ON_SALE\"}", "/status", "not a known field"},
    };
    CHECK_REFUSALS(decode_product, rows);
}

static void body_product__when_name_is_long__then_255_characters_are_the_limit(void **state) {
    static const struct {
        const char *character;
        int count;
        bool fits;
    } rows[] = {
        {"a", 255, true},
        {"a", 256, false},
        {"\xe2\x82\xac", 255, true},
        {"\xe2\x82\xac", 256, false},
        {"\xf0\x9f\x92\xb6", 255, true},
        {"\xf0\x9f\x92\xb6", 256, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_TEXT body = text_new(0);
        text_add_str(&body, "{\"price\":1,\"name\":\"");
        for (int j = 0; j < rows[i].count; j++) text_add_str(&body, rows[i].character);
        text_add_str(&body, "\"}");
        struct product_body value = {0};
        struct field_errors errors;
        assert_int_equal(failed(body_product(body.data, body.len, &errors, &value)), !rows[i].fits);
        assert_int_equal(strlen(value.name), rows[i].fits ? 255 * strlen(rows[i].character) : 0);
    }
}

static void body_stock__when_in_range__then_value(void **state) {
    static const struct {
        const char *body;
        int64_t stock;
    } rows[] = {{"{\"stock\":0}", 0}, {"{\"stock\":5}", 5}, {"{\"stock\":9007199254740991}", STOCK_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stock_body value;
        struct field_errors errors;
        assert_false(failed(body_stock(rows[i].body, strlen(rows[i].body), &errors, &value)));
        assert_int_equal(value.stock, rows[i].stock);
    }
}

static void body_stock__when_wrong__then_refused(void **state) {
    static const struct refusal rows[] = {
        {"", "", "a JSON object is required"},
        {"{}", "/stock", "is required"},
        {"{\"stock\":-1}", "/stock", "from 0 to 9007199254740991"},
        {"{\"stock\":-0}", "/stock", "from 0 to 9007199254740991"},
        {"{\"stock\":9007199254740992}", "/stock", "from 0 to 9007199254740991"},
        {"{\"stock\":\"5\"}", "/stock", "must be an integer"},
        {"{\"stock\":5,\"version\":1}", "/version", "not a known field"},
    };
    CHECK_REFUSALS(decode_stock, rows);
}

static void body_adjustment__when_in_range__then_values(void **state) {
    static const struct {
        const char *body;
        int64_t delta;
    } rows[] = {
        {"{\"delta\":1,\"reason\":\"found\"}", 1},
        {"{\"delta\":-1,\"reason\":\"found\"}", -1},
        {"{\"delta\":9007199254740991,\"reason\":\"found\"}", STOCK_MAX},
        {"{\"delta\":-9007199254740991,\"reason\":\"found\"}", -STOCK_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct adjustment_body value;
        struct field_errors errors;
        assert_false(failed(body_adjustment(rows[i].body, strlen(rows[i].body), &errors, &value)));
        assert_int_equal(value.delta, rows[i].delta);
        assert_string_equal(value.reason, "found");
    }
}

static void body_adjustment__when_wrong__then_refused(void **state) {
    static const struct refusal rows[] = {
        {"", "", "a JSON object is required"},
        {"{\"reason\":\"x\"}", "/delta", "is required"},
        {"{\"delta\":1}", "/reason", "is required"},
        {"{\"delta\":0,\"reason\":\"x\"}", "/delta", "from -9007199254740991 to 9007199254740991, not 0"},
        {"{\"delta\":9007199254740992,\"reason\":\"x\"}", "/delta", "from -9007199254740991"},
        {"{\"delta\":-9007199254740992,\"reason\":\"x\"}", "/delta", "from -9007199254740991"},
        {"{\"delta\":1,\"reason\":\"\"}", "/reason", "1 to 200 bytes"},
        {"{\"delta\":1,\"reason\":null}", "/reason", "1 to 200 bytes"},
        {"{\"delta\":1,\"reason\":\"x\",\"at\":1}", "/at", "not a known field"},
    };
    CHECK_REFUSALS(decode_adjustment, rows);
}

int main(void) {
    json_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(body_product__when_right__then_values),
        cmocka_unit_test(body_product__when_wrong__then_refused),
        cmocka_unit_test(body_product__when_name_is_long__then_255_characters_are_the_limit),
        cmocka_unit_test(body_stock__when_in_range__then_value),
        cmocka_unit_test(body_stock__when_wrong__then_refused),
        cmocka_unit_test(body_adjustment__when_in_range__then_values),
        cmocka_unit_test(body_adjustment__when_wrong__then_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
