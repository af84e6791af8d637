#include "codec/bodies.h"

#include "body_cases.h"

static struct result decode_order(const char *body, size_t len, struct field_errors *errors) {
    struct order_body value;
    return body_order(body, len, errors, &value);
}

/* {"userId":user,"items":[…]} */
#define ORDER(items_) "{\"userId\":\"u-1\",\"items\":[" items_ "]}"
#define LINE(product_, quantity_) "{\"productId\":" product_ ",\"quantity\":" quantity_ "}"

static void body_order__when_right__then_lines_are_merged_and_sorted(void **state) {
    static const struct {
        const char *body;
        size_t count;
        struct line lines[3];
    } rows[] = {
        {ORDER(LINE("1", "2")), 1, {{1, 2}}},
        {ORDER("{\"quantity\":2,\"productId\":1}"), 1, {{1, 2}}},
        {ORDER(LINE("9007199254740991", "1000000")), 1, {{PRODUCT_ID_MAX, QUANTITY_MAX}}},
        {ORDER(LINE("3", "1") "," LINE("1", "2") "," LINE("2", "3")), 3, {{1, 2}, {2, 3}, {3, 1}}},
        {ORDER(LINE("7", "1") "," LINE("5", "2") "," LINE("7", "3")), 2, {{5, 2}, {7, 4}}},
        {ORDER(LINE("7", "999999") "," LINE("7", "1")), 1, {{7, QUANTITY_MAX}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct order_body value;
        struct field_errors errors;
        assert_false(failed(body_order(rows[i].body, strlen(rows[i].body), &errors, &value)));
        assert_int_equal(errors.count, 0);
        assert_string_equal(value.user_id, "u-1");
        assert_int_equal(value.line_count, rows[i].count);
        for (size_t j = 0; j < rows[i].count; j++) {
            assert_int_equal(value.lines[j].product_id, rows[i].lines[j].product_id);
            assert_int_equal(value.lines[j].quantity, rows[i].lines[j].quantity);
        }
    }
}

static void body_order__when_one_thing_is_wrong__then_its_pointer(void **state) {
    static const struct refusal rows[] = {
        {"", "", "a JSON object is required"},
        {"[]", "", "must be an object"},
        {"{\"items\":[" LINE("1", "1") "]}", "/userId", "is required"},
        {"{\"userId\":\"u\"}", "/items", "is required"},
        {"{\"userId\":null,\"items\":[" LINE("1", "1") "]}", "/userId", "1 to 64 bytes"},
        {"{\"userId\":\"\",\"items\":[" LINE("1", "1") "]}", "/userId", "1 to 64 bytes"},
        {"{\"userId\":17,\"items\":[" LINE("1", "1") "]}", "/userId", "1 to 64 bytes"},
        {"{\"userId\":\"a\\u0000\",\"items\":[" LINE("1", "1") "]}", "", "\\u0000"},
        {"{\"userId\":\"a\\tb\",\"items\":[" LINE("1", "1") "]}", "/userId", "without control characters"},
        {"{\"userId\":\"u\",\"items\":null}", "/items", "an array of 1 to 100 elements"},
        {"{\"userId\":\"u\",\"items\":{}}", "/items", "an array of 1 to 100 elements"},
        {ORDER(""), "/items", "an array of 1 to 100 elements"},
        {ORDER("1"), "/items/0", "must be an object"},
        {ORDER("null"), "/items/0", "must be an object"},
        {ORDER("[]"), "/items/0", "must be an object"},
        {ORDER("{\"productId\":1}"), "/items/0/quantity", "is required"},
        {ORDER("{\"quantity\":1}"), "/items/0/productId", "is required"},
        {ORDER(LINE("0", "1")), "/items/0/productId", "from 1 to 9007199254740991"},
        {ORDER(LINE("9007199254740992", "1")), "/items/0/productId", "from 1 to 9007199254740991"},
        {ORDER(LINE("\"1\"", "1")), "/items/0/productId", "must be an integer"},
        {ORDER(LINE("1", "0")), "/items/0/quantity", "from 1 to 1000000"},
        {ORDER(LINE("1", "-1")), "/items/0/quantity", "from 1 to 1000000"},
        {ORDER(LINE("1", "1000001")), "/items/0/quantity", "from 1 to 1000000"},
        {ORDER(LINE("1", "1.0")), "/items/0/quantity", "must be an integer"},
        {ORDER(LINE("1", "1e3")), "/items/0/quantity", "must be an integer"},
        {ORDER(LINE("1", "null")), "/items/0/quantity", "must be an integer"},
        {ORDER(LINE("1", "1") "," LINE("2", "-0")), "/items/1/quantity", "must be an integer"},
        {ORDER(LINE("1", "1") "," LINE("2", "99999999999999999999")), "/items/1/quantity", "from 1 to 1000000"},
        {ORDER(LINE("1", "1") ",{\"productId\":1,\"quantity\":1,\"a/~\":1}"), "/items/1/a~1~0", "not a known field"},
        {ORDER("{\"productId\":1,\"productId\":1,\"quantity\":1}"), "", "duplicate object key near '\"productId\"'"},
        {ORDER(LINE("4", "1000000") "," LINE("4", "1")), "/items", "must sum to at most 1000000"},
        {"{\"userId\":\"u\",\"items\":[" LINE("1", "1") "],\"note\":\"x\"}", "/note", "not a known field"},
        {ORDER(LINE("1", "1")) " x", "", "end of file expected"},
    };
    CHECK_REFUSALS(decode_order, rows);
}

static void body_order__when_much_is_wrong__then_every_pointer(void **state) {
    static const char body[] =
        "{\"userId\":\"\",\"items\":[{\"productId\":0},7,{\"quantity\":1.5,\"productId\":1}],\"x\":0}";
    static const char *const pointers[] = {"/userId",           "/x",       "/items/0/productId",
                                           "/items/0/quantity", "/items/1", "/items/2/quantity"};
    struct field_errors errors;
    assert_true(failed(decode_order(body, strlen(body), &errors)));
    assert_int_equal(errors.count, 6);
    for (size_t i = 0; i < 6; i++) assert_string_equal(errors.list[i].pointer, pointers[i]);
}

static struct result decode_lines(int count, struct field_errors *errors, struct order_body *ret) {
    AUTO_TEXT body = text_new(0);
    text_add_str(&body, "{\"userId\":\"u\",\"items\":[");
    for (int i = 0; i < count; i++) {
        text_addf(&body, "%s" LINE("%d", "1"), i == 0 ? "" : ",", 1000 - i);
    }
    text_add_str(&body, "]}");
    return body_order(body.data, body.len, errors, ret);
}

static void body_order__when_lines_are_many__then_100_are_the_limit(void **state) {
    struct order_body value;
    struct field_errors errors;
    assert_false(failed(decode_lines(100, &errors, &value)));
    assert_int_equal(value.line_count, 100);
    assert_int_equal(value.lines[0].product_id, 901);
    assert_true(failed(decode_lines(101, &errors, &value)));
    assert_int_equal(errors.count, 1);
    assert_string_equal(errors.list[0].pointer, "/items");
}

static void body_order__when_user_id_is_long__then_64_bytes_are_the_limit(void **state) {
    static const struct {
        const char *unit;
        int count;
        bool fits;
    } rows[] = {
        {"a", 64, true},       {"a", 65, false},       {"\xc3\xbc", 32, true},         {"\xc3\xbc", 33, false},
        {"\\u00fc", 32, true}, {"\\u00fc", 33, false}, {"\xf0\x9f\x92\xb6", 16, true}, {"\\ud83d\\udcb6", 17, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_TEXT body = text_new(0);
        text_add_str(&body, "{\"userId\":\"");
        for (int j = 0; j < rows[i].count; j++) text_add_str(&body, rows[i].unit);
        text_add_str(&body, "\",\"items\":[" LINE("1", "1") "]}");
        struct order_body value = {0};
        struct field_errors errors;
        assert_int_equal(failed(body_order(body.data, body.len, &errors, &value)), !rows[i].fits);
        assert_int_equal(strlen(value.user_id), rows[i].fits ? 64 : 0);
    }
}

static struct result only_reservation(const char *body, size_t len, struct field_errors *errors) {
    struct reservation_body value;
    return body_reservation(body, len, errors, &value);
}

static void body_reservation__when_right__then_lines_are_merged_and_sorted(void **state) {
    static const char body[] =
        "{\"orderId\":\"ext-42\",\"items\":[" LINE("2", "1") "," LINE("1", "3") "," LINE("2", "4") "],\"ttlMs\":1000}";
    struct reservation_body value;
    struct field_errors errors;
    assert_false(failed(body_reservation(body, strlen(body), &errors, &value)));
    assert_string_equal(value.order_id, "ext-42");
    assert_int_equal(value.ttl_ms, 1000);
    assert_int_equal(value.line_count, 2);
    assert_int_equal(value.lines[1].quantity, 5);
}

static void body_reservation__when_no_ttl__then_0(void **state) {
    static const char body[] = "{\"orderId\":\"ext-42\",\"items\":[" LINE("2", "1") "]}";
    struct reservation_body value;
    struct field_errors errors;
    assert_false(failed(body_reservation(body, strlen(body), &errors, &value)));
    assert_int_equal(value.ttl_ms, 0);
}

static void body_reservation__when_one_thing_is_wrong__then_its_pointer(void **state) {
    static const struct refusal rows[] = {
        {"{\"items\":[" LINE("1", "1") "]}", "/orderId", "is required"},
        {"{\"orderId\":42,\"items\":[" LINE("1", "1") "]}", "/orderId", "must be a string"},
        {"{\"orderId\":\"x \",\"items\":[" LINE("1", "1") "]}", "/orderId", "space"},
        {"{\"orderId\":\"x\",\"items\":[]}", "/items", "1 to 100"},
        {"{\"orderId\":\"x\",\"items\":[" LINE("1", "1000000") "," LINE("1", "1") "]}", "/items", "sum"},
        {"{\"orderId\":\"x\",\"items\":[" LINE("1", "1") "],\"ttlMs\":999}", "/ttlMs", "1000"},
        {"{\"orderId\":\"x\",\"items\":[" LINE("1", "1") "],\"ttlMs\":31536000001}", "/ttlMs", "31536000000"},
        {"{\"orderId\":\"x\",\"items\":[" LINE("1", "1") "],\"userId\":\"u\"}", "/userId", "not a known field"},
    };
    CHECK_REFUSALS(only_reservation, rows);
}

int main(void) {
    json_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(body_order__when_right__then_lines_are_merged_and_sorted),
        cmocka_unit_test(body_order__when_one_thing_is_wrong__then_its_pointer),
        cmocka_unit_test(body_order__when_much_is_wrong__then_every_pointer),
        cmocka_unit_test(body_order__when_lines_are_many__then_100_are_the_limit),
        cmocka_unit_test(body_order__when_user_id_is_long__then_64_bytes_are_the_limit),
        cmocka_unit_test(body_reservation__when_right__then_lines_are_merged_and_sorted),
        cmocka_unit_test(body_reservation__when_no_ttl__then_0),
        cmocka_unit_test(body_reservation__when_one_thing_is_wrong__then_its_pointer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
