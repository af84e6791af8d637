/* redis/ against a real server: what the scripts answer and leave behind, flush, the breaker and its way back. What a
   stalled loop, the subscriber and unfit servers do is in test_redis_link.c. */
#include "redis_stand.h"

#include "metrics/metrics.h"

#define LEASE "2000"
#define NO_LIMIT "0"

/* ---- scripts ---- */

static void acquire__when_keys_are_free__then_layout_is_redissons(void **state) {
    struct stand *stand = stand_begin(1000);
    int64_t before_ms = clock_wall_ms();
    struct answer answer = call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("inventory-lock:1", "inventory-lock:2"),
                                WORDS("owner:7", LEASE, NO_LIMIT));
    assert_int_equal(answer.len, 3);
    assert_in_range(answer.numbers[0], before_ms, clock_wall_ms());
    assert_int_equal(answer.numbers[1], 0);
    assert_int_equal(answer.numbers[2], 0);
    assert_lock(stand, "inventory-lock:1", "owner:7", "1");
    assert_lock(stand, "inventory-lock:2", "owner:7", "1");
    assert_ttl(stand, "inventory-lock:1", 1500, 2000);
    assert_int_equal(ASK_INT(stand, "DBSIZE"), 2);
    stand_end(stand);
}

static void acquire__when_repeated__then_one_count_and_ttl_only_grows(void **state) {
    struct stand *stand = stand_begin(1000);
    call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", "20000", NO_LIMIT));
    struct answer again = call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", "1000", NO_LIMIT));
    assert_int_equal(again.numbers[1], 0);
    assert_lock(stand, "k", "o", "1");
    assert_ttl(stand, "k", 19000, 20000);
    call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", "40000", NO_LIMIT));
    assert_lock(stand, "k", "o", "1");
    assert_ttl(stand, "k", 39000, 40000);
    stand_end(stand);
}

static void acquire__when_held_by_another__then_its_ttl(void **state) {
    struct stand *stand = stand_begin(1000);
    ASK(stand, "HSET theirs java:1 2");
    ASK(stand, "PEXPIRE theirs 5000");
    ASK(stand, "HSET endless java:1 1");
    struct answer answer =
        call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("theirs", "mine", "endless"), WORDS("o", LEASE, NO_LIMIT));
    assert_int_equal(answer.len, 4);
    assert_in_range(answer.numbers[1], 4500, 5000);
    assert_int_equal(answer.numbers[2], 0);
    assert_int_equal(answer.numbers[3], -1);
    assert_lock(stand, "theirs", "java:1", "2");
    assert_lock(stand, "endless", "java:1", "1");
    assert_int_equal(ASK_INT(stand, "PTTL endless"), -1);
    stand_end(stand);
}

/* Owners that differ in one byte at the end, in case, or by a NUL are others. */
static void scripts__when_owner_differs_by_little__then_it_is_another(void **state) {
    struct stand *stand = stand_begin(1000);
    static const char *const others[] = {"owner:1", "owner:111", "OWNER:11", "owner:11 ", ""};
    call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("owner:11", "9000", NO_LIMIT));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct answer taken = call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS(others[i], LEASE, NO_LIMIT));
        struct answer renewed = call(stand, SCRIPT_TRAIN_RENEW, WORDS("k"), WORDS(others[i], "90000"));
        struct answer released = call(stand, SCRIPT_TRAIN_RELEASE, WORDS("k"), WORDS(others[i]));
        assert_true(taken.numbers[1] > 0);
        assert_int_equal(renewed.numbers[0], 0);
        assert_int_equal(released.numbers[0], -1);
        assert_lock(stand, "k", "owner:11", "1");
        assert_ttl(stand, "k", 1, 9000);
    }
    stand_end(stand);
}

static void scripts__when_key_is_no_plain_lock__then_untouched(void **state) {
    struct stand *stand = stand_begin(1000);
    ASK(stand, "SET str o");
    ASK(stand, "RPUSH list o");
    ASK(stand, "SADD set o");
    ASK(stand, "ZADD zset 1 o");
    ASK(stand, "HSET rw mode read o 1");
    const char *const *keys = WORDS("str", "list", "set", "zset", "rw");
    struct answer taken = call(stand, SCRIPT_TRAIN_ACQUIRE, keys, WORDS("o", LEASE, NO_LIMIT));
    struct answer renewed = call(stand, SCRIPT_TRAIN_RENEW, keys, WORDS("o", LEASE));
    struct answer released = call(stand, SCRIPT_TRAIN_RELEASE, keys, WORDS("o"));
    assert_int_equal(taken.len, 6);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(taken.numbers[i + 1], -2);
        assert_int_equal(renewed.numbers[i], 0);
        assert_int_equal(released.numbers[i], -1);
        assert_int_equal(ASK_INT(stand, "PTTL %s", keys[i]), -1);
    }
    assert_int_equal(ASK_INT(stand, "DBSIZE"), 5);
    stand_end(stand);
}

static void acquire__when_last_moment_is_over__then_nothing_is_done(void **state) {
    struct stand *stand = stand_begin(1000);
    char moment[32];
    (void)text_format(moment, sizeof moment, "%lld", (long long)redis_now_ms(stand->redis) - 50);
    struct answer late = call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", LEASE, moment));
    assert_int_equal(late.len, 1);
    assert_in_range(late.numbers[0], clock_wall_ms() - 1000, clock_wall_ms() + 1000);
    assert_int_equal(ASK_INT(stand, "EXISTS k"), 0);
    (void)text_format(moment, sizeof moment, "%lld", (long long)redis_now_ms(stand->redis) + 5000);
    struct answer early = call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", LEASE, moment));
    assert_int_equal(early.len, 2);
    assert_int_equal(early.numbers[1], 0);
    stand_end(stand);
}

/* An error opens the breaker: each call waits for it to close, and a call that succeeds makes the next wait short. */
static struct answer call_refused(struct stand *stand, enum redis_script script, const char *const *keys,
                                  const char *const *args) {
    run_until_up(stand);
    call(stand, SCRIPT_TRAIN_RENEW, WORDS("gone"), WORDS("o", LEASE));
    struct answer answer = call(stand, script, keys, args);
    run_until(stand, is_down, stand);
    return answer;
}

static void scripts__when_lease_is_out_of_range__then_error_and_nothing_written(void **state) {
    struct stand *stand = stand_begin(1000);
    static const char *const leases[] = {"0", "-1", "86400001", "99999999999999999999", "x", ""};
    ASK(stand, "HSET held o 1");
    for (size_t i = 0; i < sizeof leases / sizeof leases[0]; i++) {
        struct answer taken = call_refused(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", leases[i], NO_LIMIT));
        struct answer renewed = call_refused(stand, SCRIPT_TRAIN_RENEW, WORDS("held"), WORDS("o", leases[i]));
        assert_int_equal(taken.type, REDIS_ERROR);
        assert_int_equal(renewed.type, REDIS_ERROR);
        assert_false(taken.null);
    }
    assert_int_equal(ASK_INT(stand, "EXISTS k"), 0);
    assert_int_equal(ASK_INT(stand, "EXISTS held"), 1);
    stand_end(stand);
}

static void renew__when_held_or_lost__then_ttl_grows_or_nothing(void **state) {
    struct stand *stand = stand_begin(1000);
    call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("short", "long"), WORDS("o", LEASE, NO_LIMIT));
    ASK(stand, "PEXPIRE long 60000");
    struct answer answer = call(stand, SCRIPT_TRAIN_RENEW, WORDS("short", "gone", "long"), WORDS("o", "5000"));
    assert_int_equal(answer.len, 3);
    assert_int_equal(answer.numbers[0], 1);
    assert_int_equal(answer.numbers[1], 0);
    assert_int_equal(answer.numbers[2], 1);
    assert_ttl(stand, "short", 4500, 5000);
    assert_ttl(stand, "long", 59000, 60000);
    assert_int_equal(ASK_INT(stand, "EXISTS gone"), 0);
    stand_end(stand);
}

/* A listener of its own, as a Java waiter is one. */
static redisContext *listen_to(struct stand *stand, const char *channel) {
    redisContext *listener = redisConnect("127.0.0.1", stand->port);
    redisReply *reply = redisCommand(listener, "SUBSCRIBE %s", channel);
    assert_non_null(reply);
    freeReplyObject(reply);
    return listener;
}

static void assert_heard(redisContext *listener, const char *channel, const char *payload) {
    void *read = NULL;
    assert_int_equal(redisGetReply(listener, &read), REDIS_OK);
    redisReply *reply = read;
    assert_string_equal(reply->element[0]->str, "message");
    assert_string_equal(reply->element[1]->str, channel);
    assert_string_equal(reply->element[2]->str, payload);
    freeReplyObject(reply);
    redisFree(listener);
}

static void release__when_ours__then_deleted_and_published(void **state) {
    struct stand *stand = stand_begin(1000);
    const char *channel = "redisson_lock__channel:{inventory-lock:1}";
    const char *tagged = "redisson_lock__channel:a{b}c";
    redisContext *first = listen_to(stand, channel);
    redisContext *second = listen_to(stand, channel);
    redisContext *third = listen_to(stand, tagged);
    const char *const *keys = WORDS("inventory-lock:1", "unheard", "a{b}c", "absent");
    call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("inventory-lock:1", "unheard", "a{b}c"), WORDS("o", LEASE, NO_LIMIT));
    struct answer answer = call(stand, SCRIPT_TRAIN_RELEASE, keys, WORDS("o"));
    assert_int_equal(answer.len, 4);
    assert_int_equal(answer.numbers[0], 2);
    assert_int_equal(answer.numbers[1], 0);
    assert_int_equal(answer.numbers[2], 1);
    assert_int_equal(answer.numbers[3], -1);
    assert_int_equal(ASK_INT(stand, "DBSIZE"), 0);
    assert_heard(first, channel, "0");
    assert_heard(second, channel, "0");
    assert_heard(third, tagged, "0");
    stand_end(stand);
}

static void eval__when_scripts_were_flushed__then_still_answered(void **state) {
    struct stand *stand = stand_begin(1000);
    ASK(stand, "SCRIPT FLUSH");
    struct answer taken = call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", LEASE, NO_LIMIT));
    assert_int_equal(taken.numbers[1], 0);
    assert_int_equal(times_called(stand, "eval"), 1);
    call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", LEASE, NO_LIMIT));
    assert_int_equal(times_called(stand, "eval"), 1);
    stand_end(stand);
}

/* ---- flush ---- */

static bool server_sees(struct stand *stand, int64_t calls, int64_t within_ms) {
    int64_t deadline_ms = clock_mono_ms() + within_ms;
    while (times_called(stand, "evalsha") < calls && clock_mono_ms() < deadline_ms) pause_ms(2);
    return times_called(stand, "evalsha") >= calls;
}

static void flush__when_loop_does_not_poll__then_call_reaches_redis(void **state) {
    struct stand *stand = stand_begin(1000);
    struct answer held_back = {0};
    eval(stand, SCRIPT_TRAIN_RENEW, WORDS("k"), WORDS("o", LEASE), &held_back);
    assert_false(server_sees(stand, 1, 30));
    redis_flush(stand->redis);
    assert_true(server_sees(stand, 1, DEADLINE_MS));
    assert_int_equal(held_back.count, 0);
    redis_flush(stand->redis);
    run_until(stand, is_answered, &held_back);
    stand_end(stand);
}

/* Makes a second call out of the callback of the first and tries to write it there. */
struct chain {
    struct stand *stand;
    struct answer first, second;
    bool seen;
};

static void on_first(void *arg, const struct redis_value *value, bool sent) {
    struct chain *chain = arg;
    eval(chain->stand, SCRIPT_TRAIN_RENEW, WORDS("k"), WORDS("o", LEASE), &chain->second);
    redis_flush(chain->stand->redis);
    chain->seen = server_sees(chain->stand, 2, 30);
    on_answer(&chain->first, value, sent);
}

static void flush__when_in_a_callback__then_left_to_the_loop(void **state) {
    struct stand *stand = stand_begin(1000);
    struct chain chain = {.stand = stand};
    AUTO_CALL call = call_new(SCRIPT_TRAIN_RENEW);
    call_add_key(&call, "k");
    call_add_str(&call, "o");
    call_add_str(&call, LEASE);
    call_send(&call, stand->redis, on_first, &chain);
    run_until(stand, is_answered, &chain.second);
    assert_int_equal(chain.first.len, 1);
    assert_int_equal(chain.second.len, 1);
    assert_false(chain.seen);
    stand_end(stand);
}

/* ---- breaker ---- */

static void eval__when_server_is_killed__then_pending_answered_and_later_refused(void **state) {
    struct stand *stand = stand_begin(5000);
    int64_t trips = metric_get(METRIC_REDIS_TRIPS, 0);
    assert_int_equal(metric_get(METRIC_REDIS_UP, 0), 1);
    struct answer pending[3] = {{0}};
    kill(stand->server, SIGSTOP);
    for (int i = 0; i < 3; i++) eval(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", LEASE, NO_LIMIT), &pending[i]);
    run_for(stand, 20, never, NULL);
    assert_int_equal(pending[2].count, 0);
    server_kill(stand);
    int64_t killed_ms = clock_mono_ms();
    run_until(stand, is_answered, &pending[2]);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pending[i].count, 1);
        assert_true(pending[i].null);
        assert_true(pending[i].sent);
        assert_false(pending[i].up);
    }
    assert_in_range(pending[0].at_ms - killed_ms, 0, 500);
    assert_int_equal(stand->downs, 1);
    assert_int_equal(metric_get(METRIC_REDIS_UP, 0), 0);
    assert_int_equal(metric_get(METRIC_REDIS_TRIPS, 0), trips + 1);
    struct answer later = {0};
    eval(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", LEASE, NO_LIMIT), &later);
    assert_int_equal(later.count, 1);
    assert_true(later.null);
    assert_false(later.sent);
    stand_end(stand);
}

static void redis__when_server_returns_empty__then_scripts_are_loaded_again(void **state) {
    struct stand *stand = stand_begin(CALL_TIMEOUT_MS);
    call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", LEASE, NO_LIMIT));
    server_kill(stand);
    run_until(stand, is_down, stand);
    run_for(stand, 200, never, NULL); /* some attempts meet a closed port */
    server_start(stand);
    run_until_up(stand);
    assert_int_equal(stand->ups, 2);
    assert_int_equal(stand->downs, 1);
    assert_int_equal(stand->cleanings, 2);
    struct answer answer = call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("p", LEASE, NO_LIMIT));
    assert_int_equal(answer.numbers[1], 0);
    assert_int_equal(times_called(stand, "eval"), 0);
    assert_lock(stand, "k", "p", "1");
    stand_end(stand);
}

static void redis__when_server_starts_late__then_up(void **state) {
    struct stand *stand = stand_new(NULL);
    redis_begin(stand, CALL_TIMEOUT_MS);
    assert_true(redis_is_configured(stand->redis));
    run_for(stand, 100, never, NULL);
    assert_false(redis_is_up(stand->redis));
    assert_int_equal(redis_now_ms(stand->redis), 0);
    assert_int_equal(stand->downs, 0);
    server_start(stand);
    run_until_up(stand);
    assert_in_range(redis_now_ms(stand->redis), clock_wall_ms() - 100, clock_wall_ms() + 100);
    stand_end(stand);
}

/* What the frozen server has left, and then the owner's release by token. */
static struct answer cleaned;

static void on_released(void *arg, const struct redis_value *value, bool sent) {
    on_answer(&cleaned, value, sent);
    redis_cleaned(((struct stand *)arg)->redis);
}

static void release_by_token(struct stand *stand) {
    AUTO_CALL call = call_new(SCRIPT_TRAIN_RELEASE);
    call_add_key(&call, "k");
    call_add_str(&call, "o");
    call_send(&call, stand->redis, on_released, stand);
}

/* Freezes the server with an acquire on its way, lets the breaker open, thaws. Leaves when the breaker has closed. */
static struct answer freeze(struct stand *stand, const char *last_moment) {
    cleaned = (struct answer){0};
    stand->on_clean = release_by_token;
    kill(stand->server, SIGSTOP);
    struct answer frozen = {0};
    int64_t sent_ms = clock_mono_ms();
    eval(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", "60000", last_moment), &frozen);
    run_until(stand, is_down, stand);
    assert_in_range(frozen.at_ms - sent_ms, CALL_TIMEOUT_MS, CALL_TIMEOUT_MS + 100);
    assert_true(frozen.null);
    assert_true(frozen.sent);
    assert_false(frozen.up);
    run_for(stand, 300, never, NULL); /* attempts meet a server that accepts and says nothing */
    assert_false(redis_is_up(stand->redis));
    kill(stand->server, SIGCONT);
    run_until_up(stand);
    assert_int_equal(cleaned.count, 1);
    assert_false(cleaned.up);
    assert_false(stand->up_while_cleaning);
    assert_int_equal(ASK_INT(stand, "EXISTS k"), 0);
    return frozen;
}

static void acquire__when_frozen_past_its_last_moment__then_takes_nothing(void **state) {
    struct stand *stand = stand_begin(CALL_TIMEOUT_MS);
    int64_t before = times_called(stand, "hincrby");
    char moment[32];
    (void)text_format(moment, sizeof moment, "%lld", (long long)redis_now_ms(stand->redis) + CALL_TIMEOUT_MS);
    freeze(stand, moment);
    assert_int_equal(cleaned.numbers[0], -1);
    assert_int_equal(times_called(stand, "hincrby"), before);
    stand_end(stand);
}

/* The contrast: without a last moment the frozen acquire does take the lock, and only the clean-up gives it back. */
static void acquire__when_frozen_without_last_moment__then_cleaned_before_up(void **state) {
    struct stand *stand = stand_begin(CALL_TIMEOUT_MS);
    freeze(stand, NO_LIMIT);
    assert_int_equal(cleaned.numbers[0], 0);
    assert_int_equal(times_called(stand, "hincrby"), 1);
    stand_end(stand);
}

static void redis__when_clean_up_is_cut__then_asked_again(void **state) {
    struct stand *stand = stand_begin(CALL_TIMEOUT_MS);
    stand->on_clean = release_by_token;
    cleaned = (struct answer){0};
    kill(stand->server, SIGSTOP);
    struct answer frozen = {0};
    eval(stand, SCRIPT_TRAIN_RENEW, WORDS("k"), WORDS("o", LEASE), &frozen);
    run_until(stand, is_down, stand);
    kill(stand->server, SIGCONT);
    /* Calls are taken while the owner cleans, by nobody before. */
    ASK(stand, "CLIENT PAUSE 400 WRITE");
    run_until_up(stand);
    assert_true(stand->cleanings >= 3);
    assert_false(stand->up_while_cleaning);
    assert_int_equal(stand->ups, 2);
    assert_int_equal(stand->downs, 1);
    stand_end(stand);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acquire__when_keys_are_free__then_layout_is_redissons),
        cmocka_unit_test(acquire__when_repeated__then_one_count_and_ttl_only_grows),
        cmocka_unit_test(acquire__when_held_by_another__then_its_ttl),
        cmocka_unit_test(scripts__when_owner_differs_by_little__then_it_is_another),
        cmocka_unit_test(scripts__when_key_is_no_plain_lock__then_untouched),
        cmocka_unit_test(acquire__when_last_moment_is_over__then_nothing_is_done),
        cmocka_unit_test(scripts__when_lease_is_out_of_range__then_error_and_nothing_written),
        cmocka_unit_test(renew__when_held_or_lost__then_ttl_grows_or_nothing),
        cmocka_unit_test(release__when_ours__then_deleted_and_published),
        cmocka_unit_test(eval__when_scripts_were_flushed__then_still_answered),
        cmocka_unit_test(flush__when_loop_does_not_poll__then_call_reaches_redis),
        cmocka_unit_test(flush__when_in_a_callback__then_left_to_the_loop),
        cmocka_unit_test(eval__when_server_is_killed__then_pending_answered_and_later_refused),
        cmocka_unit_test(redis__when_server_returns_empty__then_scripts_are_loaded_again),
        cmocka_unit_test(redis__when_server_starts_late__then_up),
        cmocka_unit_test(acquire__when_frozen_past_its_last_moment__then_takes_nothing),
        cmocka_unit_test(acquire__when_frozen_without_last_moment__then_cleaned_before_up),
        cmocka_unit_test(redis__when_clean_up_is_cut__then_asked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
