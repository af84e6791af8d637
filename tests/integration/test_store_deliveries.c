/* store/: webhooks and their deliveries against a real server. */
#include "base/memory.h"
#include "store/webhooks.h"

#include "store_stand.h"

#include <pthread.h>

#define LEASE_MS 30000
#define STRESS 200

static struct webhook make_webhook(struct db *db, event_type_set types) {
    struct webhook webhook = {
        .url = "https://a.example/", .event_types = types, .secret = "whsec_x", .credential = "c"};
    bool full;
    text_uuid(webhook.id);
    MUST(webhooks_insert(db, &webhook, &full));
    assert_false(full);
    return webhook;
}

static void fan_out(struct db *db, const char *event_id, const char *type, const char *key) {
    const struct delivery_event event = {event_id, type, key, "", "{}", 2};
    size_t rows;
    MUST(deliveries_fan_out(db, &event, 1, &rows));
}

static int64_t count(struct db *db, const char *status) {
    char sql[128];
    (void)snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM webhook_deliveries WHERE status = '%s'", status);
    return stand_number(db, sql);
}

static bool take(struct db *db, const struct webhook *webhook, struct delivery_claim *ret) {
    bool found;
    MUST(deliveries_claim(db, webhook->id, "w", LEASE_MS, ret, &found));
    return found;
}

static bool settle(struct db *db, struct delivery_claim *claim, enum delivery_fate fate) {
    const struct delivery_end end = {.fate = fate, .status = 500, .error = "HTTP 500", .retry_in_ms = 5000};
    bool ours;
    MUST(deliveries_settle(db, claim, &end, &ours));
    free(TAKE(claim->body));
    return ours;
}

static int clean(void **state) {
    struct stand *stand = *state;
    if (stand_each(state) != 0) return 1;
    stand_run(stand->db, "DELETE FROM webhooks");
    stand_run(stand->db, "DELETE FROM webhook_deliveries");
    return 0;
}

/* -- webhooks -- */

static void webhook__when_made__then_read_back_and_gone_when_deleted(void **state) {
    struct stand *stand = *state;
    struct webhook made = make_webhook(stand->db, 3), read;
    MUST(webhooks_read(stand->other, made.id, &read));
    assert_string_equal(read.url, made.url);
    assert_string_equal(read.secret, "whsec_x");
    assert_string_equal(read.status, "ACTIVE");
    assert_int_equal(read.event_types, 3);
    assert_true(read.created_at_ms > 0);
    MUST(webhooks_disable(stand->db, made.id, "410"));
    MUST(webhooks_read(stand->other, made.id, &read));
    assert_string_equal(read.status, "DISABLED");
    MUST(webhooks_delete(stand->db, made.id));
    MUST_FAIL(NOT_FOUND, webhooks_read(stand->db, made.id, &read));
    MUST_FAIL(NOT_FOUND, webhooks_delete(stand->db, made.id));
}

static void webhooks__when_as_many_as_there_may_be__then_full(void **state) {
    struct stand *stand = *state;
    struct webhook one = {.url = "u", .secret = "s", .credential = "c"};
    bool full = false;
    for (int i = 0; i < WEBHOOKS_MAX; i++) make_webhook(stand->db, 0);
    text_uuid(one.id);
    MUST(webhooks_insert(stand->db, &one, &full));
    assert_true(full);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM webhooks"), WEBHOOKS_MAX);
}

/* -- fan-out and order -- */

static void fan_out__when_types_differ__then_who_wants_it(void **state) {
    struct stand *stand = *state;
    event_type_set created = 0;
    assert_true(event_types_add(&created, "order.created"));
    struct webhook some = make_webhook(stand->db, created), all = make_webhook(stand->db, 0);
    struct delivery_claim claim;
    fan_out(stand->db, "e1", "order.created", "1");
    fan_out(stand->db, "e2", "stock.changed", "p1");
    assert_int_equal(count(stand->db, "PENDING"), 3);
    assert_true(take(stand->db, &some, &claim));
    assert_string_equal(claim.delivery.event_id, "e1");
    assert_string_equal(claim.body, "{}");
    free(claim.body);
    assert_true(take(stand->db, &all, &claim));
    free(claim.body);
}

static void fan_out__when_repeated__then_nothing_twice(void **state) {
    struct stand *stand = *state;
    struct webhook webhook = make_webhook(stand->db, 0);
    struct delivery_claim claim;
    fan_out(stand->db, "e1", "order.created", "1");
    fan_out(stand->db, "e1", "order.created", "1");
    assert_true(take(stand->db, &webhook, &claim));
    assert_true(settle(stand->db, &claim, DELIVERY_DONE));
    fan_out(stand->db, "e1", "order.created", "1");
    assert_int_equal(count(stand->db, "DELIVERED"), 1);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM webhook_deliveries"), 1);
}

static void delivery__when_one_before_it_is_not_done__then_held_and_let_go_by_its_end(void **state) {
    struct stand *stand = *state;
    struct webhook webhook = make_webhook(stand->db, 0);
    struct delivery_claim first, second;
    fan_out(stand->db, "e1", "order.created", "1");
    fan_out(stand->db, "e2", "order.cancelled", "1");
    fan_out(stand->db, "e3", "order.created", "2");
    assert_int_equal(count(stand->db, "HELD"), 1);
    assert_true(take(stand->db, &webhook, &first));
    assert_string_equal(first.delivery.event_id, "e1");
    assert_true(settle(stand->db, &first, DELIVERY_AGAIN)); /* holds back its own key alone */
    assert_true(take(stand->db, &webhook, &second));
    assert_string_equal(second.delivery.event_id, "e3");
    assert_true(settle(stand->db, &second, DELIVERY_DONE));
    assert_false(take(stand->db, &webhook, &second));
    stand_run(stand->db, "UPDATE webhook_deliveries SET due_at = UTC_TIMESTAMP(6) WHERE event_id = 'e1'");
    assert_true(take(stand->db, &webhook, &first));
    assert_int_equal(first.delivery.attempts, 1);
    assert_int_equal(first.delivery.last_status, 500);
    assert_true(settle(stand->db, &first, DELIVERY_FAILED));
    assert_true(take(stand->db, &webhook, &second));
    assert_string_equal(second.delivery.event_id, "e2");
    assert_true(settle(stand->db, &second, DELIVERY_DONE));
    assert_int_equal(count(stand->db, "HELD"), 0);
}

static void delivery__when_given_back__then_no_attempt_counted(void **state) {
    struct stand *stand = *state;
    struct webhook webhook = make_webhook(stand->db, 0);
    struct delivery_claim claim;
    fan_out(stand->db, "e1", "order.created", "1");
    assert_true(take(stand->db, &webhook, &claim));
    assert_true(settle(stand->db, &claim, DELIVERY_BACK));
    assert_true(take(stand->db, &webhook, &claim));
    assert_int_equal(claim.delivery.attempts, 0);
    free(claim.body);
}

static void settle__when_the_lease_is_over__then_nothing_changes(void **state) {
    struct stand *stand = *state;
    struct webhook webhook = make_webhook(stand->db, 0);
    struct delivery_claim old, new;
    fan_out(stand->db, "e1", "order.created", "1");
    fan_out(stand->db, "e2", "order.cancelled", "1");
    assert_true(take(stand->db, &webhook, &old));
    stand_run(stand->db, "UPDATE webhook_deliveries SET lease_until = UTC_TIMESTAMP(6), due_at = UTC_TIMESTAMP(6) "
                         "WHERE event_id = 'e1'");
    assert_true(take(stand->db, &webhook, &new));
    assert_string_equal(new.delivery.event_id, "e1");
    assert_false(settle(stand->db, &old, DELIVERY_DONE));
    assert_int_equal(count(stand->db, "HELD"), 1);
    assert_true(settle(stand->db, &new, DELIVERY_DONE));
    assert_int_equal(count(stand->db, "HELD"), 0);
}

struct stress {
    struct db *db;
    struct webhook webhook;
};

static void *send_all(void *arg) {
    struct stress *stress = arg;
    db_thread_start();
    for (int done = 0, idle = 0; done < STRESS && idle < 100000;) {
        struct delivery_claim claim;
        if (!take(stress->db, &stress->webhook, &claim)) {
            idle++;
            continue;
        }
        if (settle(stress->db, &claim, DELIVERY_DONE)) done++;
    }
    db_thread_end();
    return NULL;
}

static void fan_out__when_beside_settles_of_the_same_key__then_none_stays_held(void **state) {
    struct stand *stand = *state;
    struct stress stress = {stand->other, make_webhook(stand->db, 0)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, send_all, &stress), 0);
    for (int i = 0; i < STRESS; i++) {
        char event_id[16];
        (void)snprintf(event_id, sizeof event_id, "e%d", i);
        fan_out(stand->db, event_id, "order.created", "1");
    }
    (void)pthread_join(thread, NULL);
    assert_int_equal(count(stand->db, "DELIVERED"), STRESS);
}

/* -- looking, replaying, removing -- */

static void note(void *arg, const struct delivery *row) { text_addf(arg, "%s %s;", row->event_id, row->status); }

static void list__when_asked__then_newest_first_and_by_status(void **state) {
    struct stand *stand = *state;
    struct webhook webhook = make_webhook(stand->db, 0);
    struct deliveries_page page = {webhook.id, "", INT64_MAX, 10};
    AUTO_TEXT seen = text_new(0);
    fan_out(stand->db, "e1", "order.created", "1");
    fan_out(stand->db, "e2", "order.cancelled", "1");
    MUST(deliveries_list(stand->db, &page, note, &seen));
    assert_string_equal(text_str(&seen), "e2 HELD;e1 PENDING;");
    page.status = "HELD";
    text_clear(&seen);
    MUST(deliveries_list(stand->db, &page, note, &seen));
    assert_string_equal(text_str(&seen), "e2 HELD;");
    page.webhook_id = "nobody";
    MUST_FAIL(NOT_FOUND, deliveries_list(stand->db, &page, note, &seen));
}

static void replay__when_failed_or_done__then_pending_with_all_attempts(void **state) {
    struct stand *stand = *state;
    struct webhook webhook = make_webhook(stand->db, 0);
    struct delivery_claim claim;
    struct delivery row;
    fan_out(stand->db, "e1", "order.created", "1");
    fan_out(stand->db, "e2", "order.created", "1");
    assert_true(take(stand->db, &webhook, &claim));
    int64_t id = claim.delivery.id;
    MUST(deliveries_replay(stand->db, webhook.id, id, &row)); /* being sent: left alone */
    assert_true(settle(stand->db, &claim, DELIVERY_FAILED));
    MUST(deliveries_replay(stand->db, webhook.id, id, &row));
    assert_string_equal(row.status, "PENDING");
    assert_int_equal(row.attempts, 0);
    assert_true(row.next_attempt_at_ms > 0);
    MUST_FAIL(NOT_FOUND, deliveries_replay(stand->db, webhook.id, id + 1000, &row));
    MUST_FAIL(NOT_FOUND, deliveries_replay(stand->db, "nobody", id, &row));
}

static int64_t purge(struct db *db, int64_t keep_s) {
    int64_t removed, all = 0;
    do {
        MUST(deliveries_purge(db, keep_s, 2, &removed));
        assert_in_range(removed, 0, 2);
        all += removed;
    } while (removed > 0);
    return all;
}

static void purge__when_done_or_deleted__then_gone_and_the_rest_stays(void **state) {
    struct stand *stand = *state;
    struct webhook webhook = make_webhook(stand->db, 0), other = make_webhook(stand->db, 0);
    struct delivery_claim claim;
    struct delivery_counts counts;
    for (int i = 0; i < 5; i++) {
        char event_id[16];
        (void)snprintf(event_id, sizeof event_id, "e%d", i);
        fan_out(stand->db, event_id, "order.created", event_id);
    }
    assert_true(take(stand->db, &webhook, &claim));
    assert_true(settle(stand->db, &claim, DELIVERY_DONE));
    assert_int_equal(purge(stand->db, 3600), 0);
    assert_int_equal(purge(stand->db, -1), 1);
    MUST(webhooks_delete(stand->db, other.id));
    assert_int_equal(purge(stand->db, 3600), 6); /* five deliveries and the webhook */
    MUST(deliveries_count(stand->db, &counts));
    assert_int_equal(counts.waiting, 4);
    assert_int_equal(counts.failed, 0);
    assert_int_equal(stand_number(stand->db, "SELECT COUNT(*) FROM webhooks"), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(webhook__when_made__then_read_back_and_gone_when_deleted, clean),
        cmocka_unit_test_setup(webhooks__when_as_many_as_there_may_be__then_full, clean),
        cmocka_unit_test_setup(fan_out__when_types_differ__then_who_wants_it, clean),
        cmocka_unit_test_setup(fan_out__when_repeated__then_nothing_twice, clean),
        cmocka_unit_test_setup(delivery__when_one_before_it_is_not_done__then_held_and_let_go_by_its_end, clean),
        cmocka_unit_test_setup(delivery__when_given_back__then_no_attempt_counted, clean),
        cmocka_unit_test_setup(settle__when_the_lease_is_over__then_nothing_changes, clean),
        cmocka_unit_test_setup(fan_out__when_beside_settles_of_the_same_key__then_none_stays_held, clean),
        cmocka_unit_test_setup(list__when_asked__then_newest_first_and_by_status, clean),
        cmocka_unit_test_setup(replay__when_failed_or_done__then_pending_with_all_attempts, clean),
        cmocka_unit_test_setup(purge__when_done_or_deleted__then_gone_and_the_rest_stays, clean),
    };
    return cmocka_run_group_tests(tests, stand_setup, stand_teardown);
}
