#include "unit.h"

#include "codec/lock_documents.h"

static const struct lock_holder_view ours = {
    .owner = "o\"1", .metadata = "{\"a\":1}", .fence = 7, .held_for_ms = 0, .expires_in_ms = 5};
static const struct lock_holder_view foreign = {.metadata = "", .held_for_ms = -1, .expires_in_ms = -1};

#define OURS "{\"owner\":\"o\\\"1\",\"fence\":7,\"heldForMs\":0,\"expiresInMs\":5,\"metadata\":{\"a\":1}}"
#define FOREIGN "{\"owner\":null,\"fence\":null,\"heldForMs\":null,\"expiresInMs\":null,\"metadata\":null}"

static void document_lock_holder__when_ours_or_foreign__then_values_or_null(void **state) {
    AUTO_TEXT out = text_new(0);
    document_lock_holder(&out, &ours);
    assert_string_equal(text_str(&out), OURS);
    text_clear(&out);
    document_lock_holder(&out, &foreign);
    assert_string_equal(text_str(&out), FOREIGN);
}

static void document_lock_grant__when_protected_or_not__then_fence_or_null(void **state) {
    const int64_t fence = INT64_C(4294967297);
    const char *const names[] = {"n", "m"};
    struct lock_grant_view view = {.names = names, .count = 1, .token = "t", .owner = "o", .kind = "lock"};
    view.fences = &fence;
    view.ttl_ms = 30000;
    view.safe_for_ms = 29000;
    view.waited_ms = 3;
    AUTO_TEXT out = text_new(0);
    document_lock_grant(&out, &view);
    assert_string_equal(text_str(&out),
                        "{\"name\":\"n\",\"status\":\"held\",\"token\":\"t\",\"owner\":\"o\",\"kind\":\"lock\","
                        "\"mode\":\"exclusive\",\"fence\":4294967297,\"ttlMs\":30000,\"safeForMs\":29000,"
                        "\"safety\":\"redis\",\"degraded\":false,\"waitedMs\":3}");
    view.fences = NULL;
    view.safety = LOCK_SAFETY_NONE;
    text_clear(&out);
    document_lock_grant(&out, &view);
    assert_string_equal(text_str(&out),
                        "{\"name\":\"n\",\"status\":\"held\",\"token\":\"t\",\"owner\":\"o\",\"kind\":\"lock\","
                        "\"mode\":\"exclusive\",\"fence\":null,\"ttlMs\":30000,\"safeForMs\":29000,"
                        "\"safety\":\"none\",\"degraded\":true,\"waitedMs\":3}");
    view.is_set = true;
    view.count = 2;
    view.fences = (const int64_t[]){8, 9};
    view.safety = LOCK_SAFETY_REDIS;
    text_clear(&out);
    document_lock_grant(&out, &view);
    assert_string_equal(text_str(&out), "{\"status\":\"held\",\"token\":\"t\",\"owner\":\"o\",\"kind\":\"lock\","
                                        "\"mode\":\"exclusive\",\"locks\":[{\"name\":\"n\",\"fence\":8},"
                                        "{\"name\":\"m\",\"fence\":9}],\"ttlMs\":30000,\"safeForMs\":29000,"
                                        "\"safety\":\"redis\",\"degraded\":false,\"waitedMs\":3}");
}

static void document_lock_grant__when_of_a_semaphore__then_permits_instead_of_a_mode(void **state) {
    const int64_t fence = 8;
    const char *const name = "n";
    const struct lock_grant_view view = {.names = &name,
                                         .count = 1,
                                         .token = "t",
                                         .owner = "o",
                                         .kind = "semaphore",
                                         .fences = &fence,
                                         .ttl_ms = 5,
                                         .permits = 3};
    AUTO_TEXT out = text_new(0);
    document_lock_grant(&out, &view);
    assert_string_equal(text_str(&out),
                        "{\"name\":\"n\",\"status\":\"held\",\"token\":\"t\",\"owner\":\"o\",\"kind\":\"semaphore\","
                        "\"permits\":3,\"fence\":8,\"ttlMs\":5,\"safeForMs\":0,\"safety\":\"redis\",\"degraded\":false,"
                        "\"waitedMs\":0}");
}

static void document_semaphore_status__when_in_use_or_not__then_holders_with_permits_or_null(void **state) {
    const struct semaphore_holder_view holders[] = {{.lock = ours, .permits = 2}, {.lock = foreign, .permits = 1}};
    struct semaphore_status_view view = {.name = "n", .kind = "semaphore", .exists = true, .limit = 4, .available = 1};
    view.holders = holders;
    view.holder_count = 2;
    view.fence = 7;
    view.waiters = 3;
    AUTO_TEXT out = text_new(0);
    document_semaphore_status(&out, &view);
    assert_string_equal(text_str(&out),
                        "{\"name\":\"n\",\"kind\":\"semaphore\",\"limit\":4,\"available\":1,\"holders\":["
                        "{\"owner\":\"o\\\"1\",\"fence\":7,\"heldForMs\":0,\"expiresInMs\":5,\"metadata\":{\"a\":1},"
                        "\"permits\":2},{\"owner\":null,\"fence\":null,\"heldForMs\":null,\"expiresInMs\":null,"
                        "\"metadata\":null,\"permits\":1}],\"fence\":7,\"waiters\":3}");
    view = (struct semaphore_status_view){.name = "n", .kind = ""};
    text_clear(&out);
    document_semaphore_status(&out, &view);
    assert_string_equal(text_str(&out),
                        "{\"name\":\"n\",\"kind\":null,\"limit\":null,\"available\":null,\"holders\":[],"
                        "\"fence\":null,\"waiters\":0}");
}

static void document_lock_status__when_held_free_or_unknown__then_so(void **state) {
    struct lock_status_view view = {
        .name = "n", .kind = "lock", .held = true, .holders = &ours, .holder_count = 1, .fence = 7, .waiters = 2};
    AUTO_TEXT out = text_new(0);
    document_lock_status(&out, &view);
    assert_string_equal(text_str(&out), "{\"name\":\"n\",\"kind\":\"lock\",\"held\":true,\"mode\":\"exclusive\","
                                        "\"holders\":[" OURS "],\"fence\":7,\"waiters\":2}");
    text_clear(&out);
    const struct lock_holder_view readers[] = {ours, foreign};
    view = (struct lock_status_view){.name = "n", .kind = "rw", .held = true, .mode = LOCK_MODE_SHARED};
    view.holders = readers;
    view.holder_count = 2;
    document_lock_status(&out, &view);
    assert_string_equal(text_str(&out), "{\"name\":\"n\",\"kind\":\"rw\",\"held\":true,\"mode\":\"shared\","
                                        "\"holders\":[" OURS ",{\"owner\":null,\"fence\":null,\"heldForMs\":null,"
                                        "\"expiresInMs\":null,\"metadata\":null}],\"fence\":null,\"waiters\":0}");
    text_clear(&out);
    view = (struct lock_status_view){.name = "n", .kind = ""};
    document_lock_status(&out, &view);
    assert_string_equal(text_str(&out), "{\"name\":\"n\",\"kind\":null,\"held\":false,\"mode\":null,\"holders\":[],"
                                        "\"fence\":null,\"waiters\":0}");
}

static void status__when_an_item_of_the_list__then_with_its_store(void **state) {
    const struct lock_status_view lock = {.name = "n", .kind = "lock", .store = "database", .held = true};
    const struct semaphore_status_view permits = {
        .name = "n", .kind = "semaphore", .store = "redis", .exists = true, .limit = 4, .available = 1};
    AUTO_TEXT out = text_new(0);
    document_lock_status(&out, &lock);
    assert_string_equal(text_str(&out), "{\"name\":\"n\",\"kind\":\"lock\",\"store\":\"database\",\"held\":true,"
                                        "\"mode\":\"exclusive\",\"holders\":[],\"fence\":null,\"waiters\":0}");
    text_clear(&out);
    document_semaphore_status(&out, &permits);
    assert_string_equal(text_str(&out),
                        "{\"name\":\"n\",\"kind\":\"semaphore\",\"store\":\"redis\",\"held\":true,\"mode\":null,"
                        "\"limit\":4,\"available\":1,\"holders\":[],\"fence\":null,\"waiters\":0}");
}

static void members__when_refused_or_lost__then_extras(void **state) {
    AUTO_TEXT out = text_new(0);
    members_lock_held(&out, &(struct lock_held_view){.holder = &ours, .waiters = 3, .retry_after_ms = 5});
    assert_string_equal(text_str(&out), "\"holder\":" OURS ",\"waiters\":3,\"retryAfterMs\":5");
    text_clear(&out);
    members_lock_held(&out, &(struct lock_held_view){.name = "n", .waiters = 1, .retry_after_ms = 1000});
    assert_string_equal(text_str(&out), "\"name\":\"n\",\"holder\":null,\"waiters\":1,\"retryAfterMs\":1000");
    text_clear(&out);
    members_lease_lost(&out, "expired", 1000);
    assert_string_equal(text_str(&out), "\"reason\":\"expired\",\"heldByOtherSince\":\"1970-01-01T00:00:01.000Z\"");
    text_clear(&out);
    members_lease_lost(&out, "unknown", 0);
    assert_string_equal(text_str(&out), "\"reason\":\"unknown\",\"heldByOtherSince\":null");
    text_clear(&out);
    members_lock_kind(&out, "rw");
    assert_string_equal(text_str(&out), "\"kind\":\"rw\"");
    text_clear(&out);
    const struct lock_link_view links[] = {
        {.name = "a", .owner = "o", .fence = 5, .waits_for = "b", .waited_ms = 7},
        {.waits_for = "a"},
    };
    members_lock_cycle(&out, links, 2);
    assert_string_equal(text_str(&out),
                        "\"cycle\":[{\"name\":\"a\",\"owner\":\"o\",\"fence\":5,\"waitsFor\":\"b\",\"waitedMs\":7},"
                        "{\"name\":null,\"owner\":null,\"fence\":null,\"waitsFor\":\"a\",\"waitedMs\":0}]");
}

static void small_documents__then_as_in_the_api(void **state) {
    AUTO_TEXT out = text_new(0);
    document_lock_queued(&out, "t", 4, 10000);
    assert_string_equal(text_str(&out),
                        "{\"status\":\"queued\",\"token\":\"t\",\"position\":4,\"retryWithinMs\":10000}");
    text_clear(&out);
    document_lock_renewed(&out, "n", 5);
    document_lock_lost(&out, "n", "expired");
    assert_string_equal(text_str(&out), "{\"name\":\"n\",\"fence\":5}{\"name\":\"n\",\"reason\":\"expired\"}");
    text_clear(&out);
    document_fence(&out, 9);
    assert_string_equal(text_str(&out), "{\"highest\":9}");
}

static void document_lock_event__when_of_a_holder_or_nobody__then_one_shape(void **state) {
    struct lock_event_view view = {.name = "n\n", .kind = "lock", .held = true, .holder = &ours, .waiters = 2};
    AUTO_TEXT out = text_new(0);
    document_lock_event(&out, &view);
    assert_string_equal(text_str(&out),
                        "{\"name\":\"n\\n\",\"kind\":\"lock\",\"held\":true,\"holder\":" OURS ",\"waiters\":2}");
    text_clear(&out);
    view = (struct lock_event_view){.name = "n", .kind = ""};
    document_lock_event(&out, &view);
    assert_string_equal(text_str(&out), "{\"name\":\"n\",\"kind\":null,\"held\":false,\"holder\":null,\"waiters\":0}");
    text_clear(&out);
    document_lock_unknown(&out, "n");
    assert_string_equal(text_str(&out), "{\"name\":\"n\"}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document_lock_event__when_of_a_holder_or_nobody__then_one_shape),
        cmocka_unit_test(document_lock_holder__when_ours_or_foreign__then_values_or_null),
        cmocka_unit_test(document_lock_grant__when_protected_or_not__then_fence_or_null),
        cmocka_unit_test(document_lock_grant__when_of_a_semaphore__then_permits_instead_of_a_mode),
        cmocka_unit_test(document_semaphore_status__when_in_use_or_not__then_holders_with_permits_or_null),
        cmocka_unit_test(document_lock_status__when_held_free_or_unknown__then_so),
        cmocka_unit_test(status__when_an_item_of_the_list__then_with_its_store),
        cmocka_unit_test(members__when_refused_or_lost__then_extras),
        cmocka_unit_test(small_documents__then_as_in_the_api),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
