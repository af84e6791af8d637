/* Tokens, scopes and prefixes from a token file; reload; anonymous use. */
#include "http/access.h"

#include "base/text.h"
#include "codec/digest.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/test_access_XXXXXX";
static char error[256];

static int make_file(void **state) {
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state) { return unlink(path); }

static void write_file(const char *content) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    assert_int_equal(fclose(file), 0);
}

static const char *hash(const char *token) {
    static char hex[2 * DIGEST_SIZE + 1];
    unsigned char digest[DIGEST_SIZE];
    digest_bytes(token, strlen(token), digest);
    text_hex(digest, sizeof digest, hex);
    return hex;
}

static void add_token(struct text *out, const char *name, const char *token, const char *rest) {
    text_addf(out, "%s{\"name\":\"%s\",\"sha256\":\"%s\",%s}", out->len ? "," : "", name, hash(token), rest);
}

static void write_tokens(const struct text *tokens) {
    AUTO_TEXT file = text_new(0);
    text_addf(&file, "{\"tokens\":[%s]}", text_str(tokens));
    write_file(text_str(&file));
}

static struct access *load(void) {
    struct access *access = NULL;
    assert_false(failed(access_new(path, error, sizeof error, &access)));
    assert_non_null(access);
    return access;
}

static struct access *three_tokens(void) {
    AUTO_TEXT tokens = text_new(0);
    add_token(&tokens, "billing", "secret-1", "\"scopes\":[\"locks\",\"read\"],\"prefixes\":[\"billing/\",\"b2/\"]");
    add_token(&tokens, "shop", "secret-2", "\"scopes\":[\"orders\",\"inventory\"]");
    add_token(&tokens, "root", "secret-3", "\"scopes\":[\"admin\"]");
    write_tokens(&tokens);
    return load();
}

static const char *name_of(const struct access *access, const char *authorization) {
    const struct credential *credential = access_find(access, authorization);
    return credential ? credential->name : "";
}

static void access_find__when_a_header_came__then_its_credential_or_none(void **state) {
    static const struct {
        const char *header, *name;
    } cases[] = {
        {"Bearer secret-1", "billing"},
        {"bearer secret-2", "shop"},
        {"BEARER   secret-3 ", "root"},
        {"Bearer secret-4", ""},
        {"Bearer secret-1x", ""},
        {"Bearer secret-", ""},
        {"Bearer ", ""},
        {"Bearer", ""},
        {"Bearersecret-1", ""},
        {"Basic secret-1", ""},
        {"secret-1", ""},
        {"", ""},
        {NULL, ""},
    };
    struct access *access = three_tokens();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(name_of(access, cases[i].header), cases[i].name);
    assert_false(access_is_anonymous(access));
    access_free(access);
}

static void credential_may__when_asked__then_any_scope_or_admin(void **state) {
    struct access *access = three_tokens();
    const struct credential *billing = access_find(access, "Bearer secret-1");
    const struct credential *shop = access_find(access, "Bearer secret-2");
    const struct credential *root = access_find(access, "Bearer secret-3");
    assert_int_equal(billing->scopes, SCOPE_LOCKS | SCOPE_READ);
    assert_true(credential_may(billing, SCOPE_LOCKS));
    assert_true(credential_may(billing, SCOPE_ORDERS | SCOPE_READ));
    assert_false(credential_may(billing, SCOPE_ORDERS));
    assert_true(credential_may(shop, SCOPE_INVENTORY));
    assert_false(credential_may(shop, SCOPE_ADMIN));
    assert_true(credential_may(root, SCOPE_ORDERS));
    access_free(access);
}

static void credential_may_name__when_prefixes_bind__then_only_names_that_begin_so(void **state) {
    struct access *access = three_tokens();
    const struct credential *billing = access_find(access, "Bearer secret-1");
    assert_true(credential_may_name(billing, "billing/run"));
    assert_true(credential_may_name(billing, "b2/x"));
    assert_false(credential_may_name(billing, "billing"));
    assert_false(credential_may_name(billing, "xbilling/"));
    assert_true(credential_may_name(access_find(access, "Bearer secret-2"), "anything"));
    access_free(access);
}

/* prefixes billing/ and b2/ */
static void credential_seek__when_a_page_ends__then_nothing_hidden_is_named_or_skipped(void **state) {
    static const struct {
        const char *after, *next; /* NULL: the end */
    } table[] = {
        {"a secret", "b2.\xf4\x8f\xbf\xbf"},
        {"b2/x", "b2/x"},
        {"b3", "billing.\xf4\x8f\xbf\xbf"},
        {"billing", "billing.\xf4\x8f\xbf\xbf"},
        {"billing.\xf4\x8f\xbf\xbf", "billing.\xf4\x8f\xbf\xbf"},
        {"billing/run", "billing/run"},
        {"billing0", NULL},
        {"secret", NULL},
    };
    struct access *access = three_tokens();
    const struct credential *billing = access_find(access, "Bearer secret-1");
    char next[CREDENTIAL_SEEK_SIZE];
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(credential_seek(billing, table[i].after, next), table[i].next != NULL);
        if (table[i].next == NULL) continue;
        assert_string_equal(next, table[i].next);
        assert_true(strcmp(next, table[i].after) >= 0);
    }
    assert_true(credential_seek(access_find(access, "Bearer secret-2"), "anything", next));
    assert_string_equal(next, "anything");
    access_free(access);
}

static void access_new__when_many_tokens__then_each_is_found(void **state) {
    AUTO_TEXT tokens = text_new(0);
    char name[16];
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "t%d", i);
        add_token(&tokens, name, name, "\"scopes\":[\"jobs\"]");
    }
    write_tokens(&tokens);
    struct access *access = load();
    for (int i = 0; i < 200; i++) {
        char header[32];
        snprintf(name, sizeof name, "t%d", i);
        snprintf(header, sizeof header, "Bearer t%d", i);
        assert_string_equal(name_of(access, header), name);
    }
    access_free(access);
}

static void access_new__when_the_file_is_bad__then_refused_with_the_reason(void **state) {
    char twice[512], scope[256], prefix[512];
    snprintf(scope, sizeof scope, "{\"tokens\":[{\"name\":\"a\",\"sha256\":\"%s\",\"scopes\":[\"lock\"]}]}", hash("x"));
    snprintf(twice, sizeof twice,
             "{\"tokens\":[{\"name\":\"a\",\"sha256\":\"%s\",\"scopes\":[\"locks\"]},"
             "{\"name\":\"b\",\"sha256\":\"%s\",\"scopes\":[\"read\"]}]}",
             hash("x"), hash("x"));
    snprintf(prefix, sizeof prefix,
             "{\"tokens\":[{\"name\":\"a\",\"sha256\":\"%s\",\"scopes\":[\"locks\"],\"prefixes\":[\"%0201d\"]}]}",
             hash("x"), 0);
    const struct {
        const char *content, *reason;
    } cases[] = {
        {"", ""},
        {"{", ""},
        {"{\"tokens\":[{\"name\":\"a\",\"sha256\":\"12\",\"scopes\":[\"locks\"]}]}", "sha256"},
        {scope, "lock"},
        {twice, "one sha256"},
        {prefix, "prefix"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct access *access = NULL;
        write_file(cases[i].content);
        error[0] = '\0';
        assert_int_equal(access_new(path, error, sizeof error, &access).code, ERROR_INVALID_REQUEST);
        assert_null(access);
        assert_true(error[0] != '\0');
        assert_non_null(strstr(error, cases[i].reason));
    }
}

static void access_new__when_the_file_is_missing__then_refused_with_its_path(void **state) {
    struct access *access = NULL;
    struct result result = access_new("/nonexistent/tokens.json", error, sizeof error, &access);
    assert_int_equal(result.code, ERROR_INVALID_REQUEST);
    assert_non_null(strstr(error, "/nonexistent/tokens.json"));
}

static void access_new__when_no_path__then_everyone_may_everything(void **state) {
    static const char *const paths[] = {NULL, ""};
    for (int i = 0; i < 2; i++) {
        struct access *access = NULL;
        assert_false(failed(access_new(paths[i], error, sizeof error, &access)));
        assert_true(access_is_anonymous(access));
        assert_string_equal(name_of(access, NULL), "anonymous");
        assert_true(credential_may(access_find(access, NULL), SCOPE_ADMIN));
        assert_false(failed(access_reload(access, error, sizeof error)));
        access_free(access);
    }
}

static void access_reload__when_the_file_is_good__then_swapped_whole_and_old_credentials_live(void **state) {
    struct access *access = three_tokens();
    const struct credential *old = access_find(access, "Bearer secret-1");
    AUTO_TEXT tokens = text_new(0);
    add_token(&tokens, "new", "secret-9", "\"scopes\":[\"read\"]");
    write_tokens(&tokens);
    assert_false(failed(access_reload(access, error, sizeof error)));
    assert_null(access_find(access, "Bearer secret-1"));
    assert_string_equal(name_of(access, "Bearer secret-9"), "new");
    assert_string_equal(old->name, "billing");
    access_free(access);
}

static void access_reload__when_the_file_is_bad__then_the_old_table_stays(void **state) {
    struct access *access = three_tokens();
    write_file("{\"tokens\":");
    assert_true(failed(access_reload(access, error, sizeof error)));
    assert_string_equal(name_of(access, "Bearer secret-1"), "billing");
    access_free(access);
}

static void access_find__when_the_file_has_no_tokens__then_nobody(void **state) {
    write_file("{\"tokens\":[]}");
    struct access *access = load();
    assert_false(access_is_anonymous(access));
    assert_null(access_find(access, "Bearer secret-1"));
    access_free(access);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(access_find__when_a_header_came__then_its_credential_or_none),
        cmocka_unit_test(credential_may__when_asked__then_any_scope_or_admin),
        cmocka_unit_test(credential_may_name__when_prefixes_bind__then_only_names_that_begin_so),
        cmocka_unit_test(credential_seek__when_a_page_ends__then_nothing_hidden_is_named_or_skipped),
        cmocka_unit_test(access_new__when_many_tokens__then_each_is_found),
        cmocka_unit_test(access_new__when_the_file_is_bad__then_refused_with_the_reason),
        cmocka_unit_test(access_new__when_the_file_is_missing__then_refused_with_its_path),
        cmocka_unit_test(access_new__when_no_path__then_everyone_may_everything),
        cmocka_unit_test(access_reload__when_the_file_is_good__then_swapped_whole_and_old_credentials_live),
        cmocka_unit_test(access_reload__when_the_file_is_bad__then_the_old_table_stays),
        cmocka_unit_test(access_find__when_the_file_has_no_tokens__then_nobody),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
