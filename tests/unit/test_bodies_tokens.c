#include "codec/bodies.h"

#include "body_cases.h"

#define HASH "00ff102030405060708090a0b0c0d0e0F0112233445566778899aabbccddeeff"
#define TOKEN(name_) "{\"name\":\"" name_ "\",\"sha256\":\"" HASH "\",\"scopes\":[\"locks\"]}"
#define FILE_OF(tokens_) "{\"tokens\":[" tokens_ "]}"

/* What was delivered. */
struct seen {
    int count;
    char line[200];            /* name:scope,scope:prefix,prefix; of every entry */
    unsigned char first, last; /* bytes of the last hash */
};

static void note(void *arg, const struct token_entry *entry) {
    struct seen *seen = arg;
    AUTO_TEXT line = text_new(0);
    text_addf(&line, "%s%s:", seen->line, entry->name);
    for (size_t i = 0; i < entry->scope_count; i++) text_addf(&line, "%s,", entry->scopes[i]);
    text_add_char(&line, ':');
    for (size_t i = 0; i < entry->prefix_count; i++) text_addf(&line, "%s,", entry->prefixes[i]);
    text_add_char(&line, ';');
    assert_true(text_format(seen->line, sizeof seen->line, "%s", text_str(&line)));
    seen->count++;
    seen->first = entry->sha256[0];
    seen->last = entry->sha256[31];
}

static struct result decode_tokens(const char *body, size_t len, struct field_errors *errors) {
    struct seen seen = {0};
    const struct result result = body_tokens(body, len, errors, note, &seen);
    if (failed(result)) assert_int_equal(seen.count, 0);
    return result;
}

static void body_tokens__when_right__then_each_entry_is_delivered_once(void **state) {
    static const struct {
        const char *body, *line;
        int count;
    } rows[] = {
        {FILE_OF(""), "", 0},
        {FILE_OF(TOKEN("billing")), "billing:locks,:;", 1},
        {FILE_OF(TOKEN("a") "," TOKEN("b")), "a:locks,:;b:locks,:;", 2},
        {FILE_OF("{\"name\":\"c\",\"sha256\":\"" HASH
                 "\",\"scopes\":[\"locks\",\"read\"],\"prefixes\":[\"c/\",\"d/\"]}"),
         "c:locks,read,:c/,d/,;", 1},
        {FILE_OF("{\"name\":\"c\",\"sha256\":\"" HASH "\",\"scopes\":[\"read\"],\"prefixes\":[]}"), "c:read,:;", 1},
        {FILE_OF("{\"name\":\"c\",\"sha256\":\"" HASH "\",\"scopes\":[\"read\"],\"prefixes\":null}"), "c:read,:;", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct seen seen = {0};
        struct field_errors errors;
        assert_false(failed(body_tokens(rows[i].body, strlen(rows[i].body), &errors, note, &seen)));
        assert_int_equal(errors.count, 0);
        assert_int_equal(seen.count, rows[i].count);
        assert_string_equal(seen.line, rows[i].line);
        if (seen.count > 0) assert_int_equal(seen.first, 0x00);
        if (seen.count > 0) assert_int_equal(seen.last, 0xff);
    }
}

static void body_tokens__when_anything_is_wrong__then_refused_and_none_delivered(void **state) {
    static const struct refusal rows[] = {
        {"", "", "a JSON object is required"},
        {"{}", "/tokens", "is required"},
        {"{\"tokens\":{}}", "/tokens", "must be an array"},
        {"{\"tokens\":[],\"x\":1}", "/x", "not a known field"},
        {FILE_OF("1"), "/tokens/0", "must be an object"},
        {FILE_OF(TOKEN("a") "," TOKEN("")), "/tokens/1/name", "1 to 64 bytes"},
        {FILE_OF(TOKEN("a") ",{\"sha256\":\"" HASH "\",\"scopes\":[\"locks\"]}"), "/tokens/1/name", "is required"},
        {FILE_OF("{\"name\":\"a\",\"scopes\":[\"locks\"]}"), "/tokens/0/sha256", "is required"},
        {FILE_OF("{\"name\":\"a\",\"sha256\":\"ab\",\"scopes\":[\"locks\"]}"), "/tokens/0/sha256", "64 to 64 bytes"},
        {FILE_OF("{\"name\":\"a\",\"sha256\":\"" HASH "0\",\"scopes\":[\"locks\"]}"), "/tokens/0/sha256", "64 to 64"},
        {FILE_OF("{\"name\":\"a\",\"sha256\":\"g0ff102030405060708090a0b0c0d0e0f0112233445566778899aabbccddeeff\","
                 "\"scopes\":[\"locks\"]}"),
         "/tokens/0/sha256", "must be 64 hexadecimal digits"},
        {FILE_OF("{\"name\":\"a\",\"sha256\":\"" HASH "\"}"), "/tokens/0/scopes", "is required"},
        {FILE_OF("{\"name\":\"a\",\"sha256\":\"" HASH "\",\"scopes\":[]}"), "/tokens/0/scopes", "1 to 16 elements"},
        {FILE_OF("{\"name\":\"a\",\"sha256\":\"" HASH "\",\"scopes\":\"locks\"}"), "/tokens/0/scopes", "an array"},
        {FILE_OF("{\"name\":\"a\",\"sha256\":\"" HASH "\",\"scopes\":[\"locks\",1]}"), "/tokens/0/scopes/1",
         "must be a string"},
        {FILE_OF("{\"name\":\"a\",\"sha256\":\"" HASH "\",\"scopes\":[null]}"), "/tokens/0/scopes/0",
         "must be a string"},
        {FILE_OF("{\"name\":\"a\",\"sha256\":\"" HASH "\",\"scopes\":[\"locks\"],\"prefixes\":[\"\"]}"),
         "/tokens/0/prefixes/0", "1 to 200 bytes"},
        {FILE_OF("{\"name\":\"a\",\"sha256\":\"" HASH
                 "\",\"scopes\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\",\"13\","
                 "\"14\",\"15\",\"16\",\"17\"]}"),
         "/tokens/0/scopes", "1 to 16 elements"},
        {FILE_OF("{\"name\":\"a\",\"sha256\":\"" HASH "\",\"scopes\":[\"locks\"],\"token\":\"secret\"}"),
         "/tokens/0/token", "not a known field"},
    };
    CHECK_REFUSALS(decode_tokens, rows);
}

static void body_tokens__when_sixteen_scopes__then_all_arrive(void **state) {
    AUTO_TEXT body = text_new(0);
    text_add_str(&body, "{\"tokens\":[{\"name\":\"a\",\"sha256\":\"" HASH "\",\"scopes\":[\"s\"");
    for (int i = 1; i < 16; i++) text_add_str(&body, ",\"s\"");
    text_add_str(&body, "],\"prefixes\":[\"p\"");
    for (int i = 1; i < 16; i++) text_add_str(&body, ",\"p\"");
    text_add_str(&body, "]}]}");
    struct seen seen = {0};
    struct field_errors errors;
    assert_false(failed(body_tokens(body.data, body.len, &errors, note, &seen)));
    assert_string_equal(seen.line, "a:s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,:p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,;");
}

int main(void) {
    json_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(body_tokens__when_right__then_each_entry_is_delivered_once),
        cmocka_unit_test(body_tokens__when_anything_is_wrong__then_refused_and_none_delivered),
        cmocka_unit_test(body_tokens__when_sixteen_scopes__then_all_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
