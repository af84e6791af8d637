/* The rules that hold for every body, seen through one table with a field of each kind. */
#include "codec/fields.h"

#include "base/memory.h"
#include "body_cases.h"
#include "domain/limits.h"

static const char *colour(int64_t index) { return index == 0 ? "RED" : "BLUE"; }

struct values {
    int64_t number, signed_number, word;
    char name[5], note[13];
    const char *label;
    const json_t *list;
};

#define AT(member_) .offset = offsetof(struct values, member_)
static const struct field one_list[] = {
    {.name = "number", .kind = FIELD_INTEGER, AT(number), .min = 1, .max = 1000},
};
static const struct fields one = {one_list, 1};

static const struct field all_list[] = {
    {.name = "number", .kind = FIELD_INTEGER, AT(number), .max = SAFE_INTEGER_MAX, .optional = true},
    {.name = "signed",
     .kind = FIELD_INTEGER,
     AT(signed_number),
     .min = -SAFE_INTEGER_MAX,
     .max = SAFE_INTEGER_MAX,
     .not_zero = true,
     .optional = true},
    {.name = "name", .kind = FIELD_TEXT, AT(name), .min = 1, .max = 4, .optional = true},
    {.name = "note", .kind = FIELD_TEXT, AT(note), .max = 3, .in_characters = true, .optional = true},
    {.name = "label", .kind = FIELD_POINTER, AT(label), .min = 1, .max = 4, .optional = true},
    {.name = "word", .kind = FIELD_WORD, AT(word), .word = colour, .max = 2, .optional = true},
    {.name = "list", .kind = FIELD_ARRAY, AT(list), .min = 1, .max = 2, .optional = true},
};
static const struct fields all = {all_list, 7};

static struct result decode_one(const char *body, size_t len, struct field_errors *errors) {
    struct values values = {0};
    return fields_decode(&one, body, len, errors, &values);
}

static struct result decode_all(const char *body, size_t len, struct field_errors *errors) {
    struct values values = {0};
    return fields_decode(&all, body, len, errors, &values);
}

static void fields_decode__when_syntax_is_wrong__then_line_and_column_at_the_document(void **state) {
    static const struct refusal rows[] = {
        {"{", "", "line 1, column 1: "},
        {" ", "", "line 1, column 1: "},
        {"{\n  \"number\": }", "", "line 2, column 13: "},
        {"{\"number\":1,}", "", "line 1, column 13: "},
        {"{\"number\":1}}", "", "end of file expected near '}'"},
        {"{\"number\":1} x", "", "end of file expected"},
        {"{\"number\":1}{\"number\":1}", "", "end of file expected"},
        {"{'number':1}", "", "line 1, column 2: "},
        {"{number:1}", "", "line 1, column"},
        {"{\"number\":01}", "", "line 1, column"},
        {"{\"number\":+1}", "", "line 1, column"},
        {"{\"number\":.5}", "", "line 1, column"},
        {"{\"number\":1.}", "", "line 1, column"},
        {"{\"number\":0x10}", "", "line 1, column"},
        {"{\"number\":NaN}", "", "line 1, column"},
        {"{\"number\":True}", "", "line 1, column"},
        {"{\"number\":1 /* one */}", "", "line 1, column"},
        {"\xef\xbb\xbf{\"number\":1}", "", "line 1, column"},
        {"{\"number\":\"\t\"}", "", "control character"},
        {"{\"number\":\"\n\"}", "", "line 1, column"},
        {"{\"number\":\"\\x\"}", "", "invalid escape"},
    };
    CHECK_REFUSALS(decode_one, rows);
}

static void fields_decode__when_key_is_repeated__then_the_key_is_named(void **state) {
    static const struct refusal rows[] = {
        {"{\"number\":1,\"number\":1}", "", "duplicate object key near '\"number\"'"},
        {"{\"number\":1,\"n\\u0075mber\":2}", "", "duplicate object key"},
        {"{\"number\":{\"x\":1,\"x\":2}}", "", "duplicate object key near '\"x\"'"},
    };
    CHECK_REFUSALS(decode_one, rows);
}

static void fields_decode__when_text_is_not_unicode__then_refused(void **state) {
    static const struct refusal rows[] = {
        {"{\"name\":\"\xff\"}", "", "unable to decode byte 0xff"},
        {"{\"name\":\"\x80\"}", "", "unable to decode byte"},
        {"{\"name\":\"\xc0\xaf\"}", "", "unable to decode byte"},
        {"{\"name\":\"\xe2\x82\"}", "", "unable to decode byte"},
        {"{\"name\":\"\xed\xa0\x80\"}", "", "unable to decode byte"},
        {"{\"name\":\"\xf4\x90\x80\x80\"}", "", "unable to decode byte"},
        {"{\"\xff\":1}", "", "unable to decode byte"},
        {"{\"name\":\"\\ud800\"}", "", "invalid Unicode"},
        {"{\"name\":\"\\ud800x\"}", "", "invalid Unicode"},
        {"{\"name\":\"\\ud800\\u0041\"}", "", "invalid Unicode"},
        {"{\"name\":\"\\udc00\"}", "", "invalid Unicode"},
        {"{\"name\":\"\\udc00\\ud800\"}", "", "invalid Unicode"},
        {"{\"name\":\"\\u0000\"}", "", "\\u0000"},
        {"{\"name\":\"a\\u0000b\"}", "", "\\u0000"},
        {"{\"na\\u0000me\":\"a\"}", "", "\\u0000"},
    };
    CHECK_REFUSALS(decode_all, rows);
}

/* The parser's message then ends in half a character. */
static void fields_decode__when_message_quotes_half_a_character__then_findings_are_json(void **state) {
    static const char body[] = "{\"a\\\xd8\x96\"";
    struct field_errors errors = {0};
    assert_true(failed(decode_one(body, strlen(body), &errors)));
    AUTO_TEXT out = text_new(0);
    field_errors_write(&out, &errors);
    assert_true(text_is_printable_utf8(out.data, out.len));
}

static void fields_decode__when_nul_byte_stands_anywhere__then_refused(void **state) {
    static const char body[] = "{\"name\":\"ab\"}";
    for (size_t at = 0; at <= sizeof body - 1; at++) {
        char with_nul[sizeof body + 1];
        memcpy(with_nul, body, at);
        with_nul[at] = '\0';
        memcpy(with_nul + at + 1, body + at, sizeof body - at);
        struct field_errors errors = {0};
        const struct result result = decode_all(with_nul, sizeof body, &errors);
        assert_int_equal(result.code, ERROR_INVALID_REQUEST);
        assert_int_equal(errors.count, 1);
        assert_string_equal(errors.list[0].pointer, "");
    }
}

static void fields_decode__when_document_is_no_object__then_said_at_the_document(void **state) {
    static const struct refusal rows[] = {
        {"[]", "", "must be an object"},   {"[{\"number\":1}]", "", "must be an object"},
        {"1", "", "must be an object"},    {"\"x\"", "", "must be an object"},
        {"null", "", "must be an object"}, {"true", "", "must be an object"},
        {"1e5", "", "must be an object"},  {"-0", "", "must be an object"},
    };
    CHECK_REFUSALS(decode_one, rows);
}

static void fields_decode__when_integer_is_none_or_out_of_range__then_the_range_is_named(void **state) {
    static const char range[] = "must be an integer from 1 to 1000";
    static const struct refusal rows[] = {
        {"{\"number\":0}", "/number", range},
        {"{\"number\":1001}", "/number", range},
        {"{\"number\":-1}", "/number", range},
        {"{\"number\":1.0}", "/number", range},
        {"{\"number\":1.5}", "/number", range},
        {"{\"number\":1e3}", "/number", range},
        {"{\"number\":1E0}", "/number", range},
        {"{\"number\":1e-0}", "/number", range},
        {"{\"number\":-0}", "/number", range},
        {"{\"number\":-0.0}", "/number", range},
        {"{\"number\":9223372036854775807}", "/number", range},
        {"{\"number\":9223372036854775808}", "/number", range},
        {"{\"number\":-9223372036854775808}", "/number", range},
        {"{\"number\":-9223372036854775809}", "/number", range},
        {"{\"number\":18446744073709551617}", "/number", range},
        {"{\"number\":100000000000000000000000000000000000000000000}", "/number", range},
        {"{\"number\":\"1\"}", "/number", range},
        {"{\"number\":\"\"}", "/number", range},
        {"{\"number\":true}", "/number", range},
        {"{\"number\":null}", "/number", range},
        {"{\"number\":[1]}", "/number", range},
        {"{\"number\":{}}", "/number", range},
        {"{\"number\":1e999}", "", "real number overflow"},
    };
    CHECK_REFUSALS(decode_one, rows);
}

static void fields_decode__when_signed_field_varies__then_zero_is_refused(void **state) {
    static const char range[] = "from -9007199254740991 to 9007199254740991, not 0";
    static const struct refusal rows[] = {
        {"{\"signed\":0}", "/signed", range},
        {"{\"signed\":-0}", "/signed", range},
        {"{\"signed\":9007199254740992}", "/signed", range},
        {"{\"signed\":-9007199254740992}", "/signed", range},
        {"{\"signed\":9007199254740993}", "/signed", range},
        {"{\"signed\":99999999999999999999}", "/signed", range},
        {"{\"signed\":-99999999999999999999}", "/signed", range},
    };
    CHECK_REFUSALS(decode_all, rows);
}

static void fields_decode__when_other_field_has_negative_zero_or_too_much__then_only_that_is_found(void **state) {
    static const struct refusal rows[] = {
        {"{\"number\":7,\"signed\":-0}", "/signed", "not 0"},
        {"{\"signed\":7,\"number\":99999999999999999999}", "/number", "from 0 to 9007199254740991"},
        {"{\"number\":7,\"list\":[-0]}", "", "-0 or too big"},
        {"{\"number\":7,\"list\":[99999999999999999999]}", "", "-0 or too big"},
        {"{\"name\":-0}", "/name", "must be a string"},
        {"{\"else\":-0}", "/else", "not a known field"},
    };
    CHECK_REFUSALS(decode_all, rows);
}

static void fields_decode__when_text_has_wrong_type_or_size__then_the_size_is_named(void **state) {
    static const char size[] = "must be a string of 1 to 4 bytes without control characters";
    static const struct refusal rows[] = {
        {"{\"name\":\"\"}", "/name", size},
        {"{\"name\":\"abcde\"}", "/name", size},
        {"{\"name\":\"\xc3\xbc\xc3\xbcx\"}", "/name", size},
        {"{\"name\":\"a\\nb\"}", "/name", size},
        {"{\"name\":\"\\u007f\"}", "/name", size},
        {"{\"name\":\"\\u0085\"}", "/name", size},
        {"{\"name\":1}", "/name", size},
        {"{\"name\":[\"a\"]}", "/name", size},
        {"{\"name\":false}", "/name", size},
        {"{\"label\":\"abcde\"}", "/label", size},
        {"{\"note\":\"\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\"}", "/note", "0 to 3 characters"},
    };
    CHECK_REFUSALS(decode_all, rows);
}

static void fields_decode__when_word_or_array_is_wrong__then_the_choices_are_named(void **state) {
    static const struct refusal rows[] = {
        {"{\"word\":\"GREEN\"}", "/word", "must be one of RED, BLUE"},
        {"{\"word\":\"red\"}", "/word", "must be one of RED, BLUE"},
        {"{\"word\":\"\"}", "/word", "must be one of RED, BLUE"},
        {"{\"word\":0}", "/word", "must be one of RED, BLUE"},
        {"{\"list\":[]}", "/list", "must be an array of 1 to 2 elements"},
        {"{\"list\":[1,2,3]}", "/list", "must be an array of 1 to 2 elements"},
        {"{\"list\":{\"0\":1}}", "/list", "must be an array of 1 to 2 elements"},
        {"{\"list\":\"ab\"}", "/list", "must be an array of 1 to 2 elements"},
    };
    CHECK_REFUSALS(decode_all, rows);
}

static void fields_decode__when_field_is_missing__then_its_own_pointer(void **state) {
    static const struct refusal rows[] = {
        {"{}", "/number", "is required"},
        {"", "", "a JSON object is required"},
    };
    CHECK_REFUSALS(decode_one, rows);
}

static void fields_decode__when_field_is_unknown__then_its_name_is_escaped(void **state) {
    static const struct refusal rows[] = {
        {"{\"else\":1}", "/else", "is not a known field"},
        {"{\"Name\":\"a\"}", "/Name", "is not a known field"},
        {"{\"name \":\"a\"}", "/name ", "is not a known field"},
        {"{\"\":1}", "/", "is not a known field"},
        {"{\"a/b\":1}", "/a~1b", "is not a known field"},
        {"{\"a~b\":1}", "/a~0b", "is not a known field"},
        {"{\"~1/\":null}", "/~01~1", "is not a known field"},
        {"{\"gr\xc3\xbc\xc3\x9f\":1}", "/gr\xc3\xbc\xc3\x9f", "is not a known field"},
    };
    CHECK_REFUSALS(decode_all, rows);
}

/* The name's last characters fall on the end of the pointer in every way. */
static void fields_decode__when_unknown_name_is_long__then_pointer_is_cut_between_characters(void **state) {
    static const char *const tails[] = {"a", "~", "/", "\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x92\xb6"};
    for (size_t tail = 0; tail < sizeof tails / sizeof *tails; tail++) {
        for (int before = 150; before < 162; before++) {
            AUTO_TEXT body = text_new(0);
            text_add_str(&body, "{\"");
            for (int i = 0; i < before; i++) text_add_char(&body, 'a');
            for (int i = 0; i < 8; i++) text_add_str(&body, tails[tail]);
            text_add_str(&body, "\":1}");
            struct field_errors errors = {0};
            assert_true(failed(decode_all(body.data, body.len, &errors)));
            assert_int_equal(errors.count, 1);
            const char *pointer = errors.list[0].pointer;
            assert_true(strlen(pointer) >= 150);
            assert_true(text_is_printable_utf8(pointer, strlen(pointer)));
            assert_true(pointer[strlen(pointer) - 1] != '~');
        }
    }
}

static void fields_decode__when_much_is_wrong__then_every_finding_in_order(void **state) {
    static const char body[] = "{\"x\":1,\"number\":-1,\"y\":[],\"name\":\"abcde\",\"word\":\"\"}";
    static const char *const pointers[] = {"/x", "/number", "/y", "/name", "/word"};
    struct field_errors errors = {0};
    assert_true(failed(decode_all(body, strlen(body), &errors)));
    assert_int_equal(errors.count, 5);
    for (size_t i = 0; i < 5; i++) assert_string_equal(errors.list[i].pointer, pointers[i]);
}

static void fields_decode__when_more_is_wrong_than_fits__then_the_first_stay(void **state) {
    AUTO_TEXT body = text_new(0);
    text_add_char(&body, '{');
    for (int i = 0; i < 1000; i++) text_addf(&body, "%s\"f%d\":1", i == 0 ? "" : ",", i);
    text_add_char(&body, '}');
    struct field_errors errors = {0};
    assert_true(failed(decode_one(body.data, body.len, &errors)));
    assert_int_equal(errors.count, FIELD_ERRORS_MAX);
    assert_string_equal(errors.list[15].pointer, "/f15");
}

static struct result decode_nested(size_t depth, char open, char close, struct field_errors *errors) {
    AUTO_TEXT body = text_new(0);
    for (size_t i = 0; i < depth; i++) text_add_str(&body, open == '[' ? "[" : "{\"a\":");
    text_add_char(&body, '1');
    for (size_t i = 0; i < depth; i++) text_add_char(&body, close);
    return decode_all(body.data, body.len, errors);
}

static void fields_decode__when_depth_varies__then_17_is_too_deep(void **state) {
    static const struct {
        size_t depth;
        char open, close;
        const char *detail;
    } rows[] = {
        {16, '{', '}', "is not a known field"},
        {17, '{', '}', "is nested deeper than 16 levels"},
        {16, '[', ']', "must be an object"},
        {17, '[', ']', "is nested deeper than 16 levels"},
        {100000, '[', ']', "is nested deeper than 16 levels"},
        {100000, '{', '}', "is nested deeper than 16 levels"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct field_errors errors = {0};
        assert_true(failed(decode_nested(rows[i].depth, rows[i].open, rows[i].close, &errors)));
        assert_int_equal(errors.count, 1);
        assert_string_equal(errors.list[0].detail, rows[i].detail);
    }
}

static void fields_decode__when_all_is_right__then_values_are_set(void **state) {
    static const char body[] = " {\"number\" : 9007199254740991 , \"signed\":-9007199254740991,\"name\":\"\\u00fcab\","
                               "\"note\":\"\\ud83d\\udcb6\\ud83d\\udcb6\\ud83d\\udcb6\",\"word\":\"BLUE\"}\r\n\t ";
    struct values values = {0};
    struct field_errors errors = {.count = 1};
    assert_false(failed(fields_decode(&all, body, strlen(body), &errors, &values)));
    assert_int_equal(errors.count, 0);
    assert_int_equal(values.number, SAFE_INTEGER_MAX);
    assert_int_equal(values.signed_number, -SAFE_INTEGER_MAX);
    assert_string_equal(values.name, "\xc3\xbc"
                                     "ab");
    assert_string_equal(values.note, "\xf0\x9f\x92\xb6\xf0\x9f\x92\xb6\xf0\x9f\x92\xb6");
    assert_int_equal(values.word, 1);
}

static void fields_decode__when_optional_is_absent_or_null__then_the_default_stays(void **state) {
    static const char *const bodies[] = {"", "{}", "{\"number\":null,\"name\":null,\"word\":null,\"list\":null}"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct values values = {.number = 42, .name = "abc", .word = 9};
        struct field_errors errors = {.count = 1};
        assert_false(failed(fields_decode(&all, bodies[i], strlen(bodies[i]), &errors, &values)));
        assert_int_equal(errors.count, 0);
        assert_int_equal(values.number, 42);
        assert_string_equal(values.name, "abc");
        assert_int_equal(values.word, 9);
    }
}

static void fields_decode__when_body_is_null_pointer__then_as_empty(void **state) {
    struct field_errors errors = {0};
    assert_false(failed(decode_all(NULL, 0, &errors)));
    assert_true(failed(decode_one(NULL, 0, &errors)));
}

static void reader_object__when_element_is_deep__then_pointer_names_the_way(void **state) {
    AUTO_READER reader = {0};
    struct field_errors errors = {0};
    assert_false(failed(reader_open(&reader, "{\"number\":0}", 12, &errors)));
    const struct place a = {.name = "a/b"}, b = {.up = &a, .index = 12}, c = {.up = &b, .name = "c"};
    struct values values = {0};
    reader_object(&reader, &one, reader.root, &c, &values);
    assert_true(failed(reader_verdict(&reader)));
    assert_string_equal(errors.list[0].pointer, "/a~1b/12/c/number");
}

static void reader_value__when_pointer_and_array__then_borrowed_from_the_reader(void **state) {
    AUTO_READER reader = {0};
    struct field_errors errors = {0};
    static const char body[] = "{\"label\":\"ab\",\"list\":[\"x\"]}";
    assert_false(failed(reader_open(&reader, body, strlen(body), &errors)));
    struct values values = {0};
    reader_object(&reader, &all, reader.root, NULL, &values);
    assert_false(failed(reader_verdict(&reader)));
    assert_string_equal(values.label, "ab");
    assert_int_equal(json_array_size(values.list), 1);
}

int main(void) {
    json_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_decode__when_syntax_is_wrong__then_line_and_column_at_the_document),
        cmocka_unit_test(fields_decode__when_key_is_repeated__then_the_key_is_named),
        cmocka_unit_test(fields_decode__when_text_is_not_unicode__then_refused),
        cmocka_unit_test(fields_decode__when_message_quotes_half_a_character__then_findings_are_json),
        cmocka_unit_test(fields_decode__when_nul_byte_stands_anywhere__then_refused),
        cmocka_unit_test(fields_decode__when_document_is_no_object__then_said_at_the_document),
        cmocka_unit_test(fields_decode__when_integer_is_none_or_out_of_range__then_the_range_is_named),
        cmocka_unit_test(fields_decode__when_signed_field_varies__then_zero_is_refused),
        cmocka_unit_test(fields_decode__when_other_field_has_negative_zero_or_too_much__then_only_that_is_found),
        cmocka_unit_test(fields_decode__when_text_has_wrong_type_or_size__then_the_size_is_named),
        cmocka_unit_test(fields_decode__when_word_or_array_is_wrong__then_the_choices_are_named),
        cmocka_unit_test(fields_decode__when_field_is_missing__then_its_own_pointer),
        cmocka_unit_test(fields_decode__when_field_is_unknown__then_its_name_is_escaped),
        cmocka_unit_test(fields_decode__when_unknown_name_is_long__then_pointer_is_cut_between_characters),
        cmocka_unit_test(fields_decode__when_much_is_wrong__then_every_finding_in_order),
        cmocka_unit_test(fields_decode__when_more_is_wrong_than_fits__then_the_first_stay),
        cmocka_unit_test(fields_decode__when_depth_varies__then_17_is_too_deep),
        cmocka_unit_test(fields_decode__when_all_is_right__then_values_are_set),
        cmocka_unit_test(fields_decode__when_optional_is_absent_or_null__then_the_default_stays),
        cmocka_unit_test(fields_decode__when_body_is_null_pointer__then_as_empty),
        cmocka_unit_test(reader_object__when_element_is_deep__then_pointer_names_the_way),
        cmocka_unit_test(reader_value__when_pointer_and_array__then_borrowed_from_the_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
