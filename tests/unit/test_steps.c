/* tests/bench/steps.c: cycles of requests, and the replies of Redis. */
#include "bench/steps.h"
#include "unit.h"

#include <string.h>

static const struct step_values values = {
    .connection = 7, .number = 9, .product = 3, .quantity = 2, .taken = "t", .kept = "k"};

static bool parse(struct steps *steps, const char *text) {
    memset(steps, 0, sizeof *steps);
    memcpy(steps->text, text, strlen(text) + 1);
    return steps_parse(steps);
}

static void steps_parse__when_good__then_fields(void **state) {
    static struct steps steps;
    assert_true(parse(&steps, "http\tPUT\t/l/@c@\t\t{}\t\nresp\tGET\t\n"));
    assert_int_equal(steps.count, 2);
    assert_string_equal(steps.list[0].fields[1], "/l/@c@");
    assert_string_equal(steps.list[0].fields[4], "");
    assert_true(steps.list[1].resp);
    assert_int_equal(steps.list[1].count, 2);
}

static void steps_parse__when_bad__then_false(void **state) {
    static struct steps steps;
    assert_false(parse(&steps, ""));
    assert_false(parse(&steps, "ftp\tx\n"));
    assert_false(parse(&steps, "http\tPUT\t/\n"));
    assert_false(parse(&steps, "resp\n"));
}

static void step_fill__marks__are_replaced_and_the_rest_stays(void **state) {
    AUTO_TEXT out = text_new(0);
    step_fill(&out, "a@c@b@n@@product@/@quantity@@taken@@kept@@x@", &values);
    assert_string_equal(text_str(&out), "a000007b93/2tk@x@");
}

static void step_command__then_resp(void **state) {
    const struct step step = {.resp = true, .count = 3, .fields = {"SET", "k@c@", ""}};
    AUTO_TEXT out = text_new(0);
    step_command(&out, &step, &values);
    assert_string_equal(text_str(&out), "*3\r\n$3\r\nSET\r\n$7\r\nk000007\r\n$0\r\n\r\n");
}

static void step_take__when_there__then_its_text(void **state) {
    const char reply[] = "HTTP/1.1 200 OK\r\n\r\n{\"a\":{\"ID\":\"123\",\"n\":45},\"key\":\"x/y==\"}";
    char out[STEP_TAKEN_MAX];
    assert_true(step_take(reply, sizeof reply - 1, "ID", out));
    assert_string_equal(out, "123");
    assert_true(step_take(reply, sizeof reply - 1, "n", out));
    assert_string_equal(out, "45");
    assert_true(step_take(reply, sizeof reply - 1, "key", out));
    assert_string_equal(out, "x/y==");
    assert_false(step_take(reply, sizeof reply - 1, "none", out));
}

static void resp_length__when_whole__then_its_bytes(void **state) {
    static const struct {
        const char *data;
        int64_t length;
    } cases[] = {{"+OK\r\n", 5},
                 {":12\r\n", 5},
                 {"$3\r\nabc\r\n", 9},
                 {"$-1\r\n", 5},
                 {"*2\r\n:1\r\n$0\r\n\r\n", 14},
                 {"*-1\r\n", 5},
                 {"*1\r\n*2\r\n:1\r\n:2\r\n", 16},
                 {"*0\r\n", 4},
                 {"-ERR x\r\n", -1},
                 {"*1\r\n-ERR\r\n", -1},
                 {"HTTP\r\n", -1},
                 {"$x\r\n", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t len = strlen(cases[i].data);
        assert_int_equal(resp_length(cases[i].data, len), cases[i].length);
        for (size_t part = 0; cases[i].length > 0 && part < len; part++)
            assert_int_equal(resp_length(cases[i].data, part), 0);
    }
    assert_int_equal(resp_length(":1\r\n:2\r\n", 8), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_parse__when_good__then_fields),
        cmocka_unit_test(steps_parse__when_bad__then_false),
        cmocka_unit_test(step_fill__marks__are_replaced_and_the_rest_stays),
        cmocka_unit_test(step_command__then_resp),
        cmocka_unit_test(step_take__when_there__then_its_text),
        cmocka_unit_test(resp_length__when_whole__then_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
