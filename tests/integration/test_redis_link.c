/* redis/ against real servers: the subscriber and its reconnects, what a stalled loop must not do, full queues, and
   servers that are unfit or ask for a password. The scripts and the breaker's circle are in test_redis.c. */
#include "redis_stand.h"

#include "metrics/metrics.h"
#include "redis/connection.h"

/* ---- subscriber ---- */

/* One owner of a subscription. */
struct owner {
    struct redis_subscription *subscription;
    int readies, messages;
    char payload[32];
    bool leaves_on_message;
    struct owner *drops; /* whom it unsubscribes on a message */
};

static void on_ready(void *arg) {
    struct owner *owner = arg;
    owner->readies++;
    /* Not before redis_subscribe has returned. */
    assert_non_null(owner->subscription);
    assert_true(redis_subscription_is_live(owner->subscription));
}

static void on_message(void *arg, const char *channel, const char *payload, size_t len) {
    struct owner *owner = arg;
    owner->messages++;
    assert_string_equal(channel, "ch");
    (void)text_format(owner->payload, sizeof owner->payload, "%.*s", (int)len, payload);
    if (owner->drops != NULL) owner->drops->subscription = redis_unsubscribe(owner->drops->subscription);
    if (owner->leaves_on_message) owner->subscription = redis_unsubscribe(owner->subscription);
}

static void join(struct stand *stand, struct owner *owner) {
    owner->subscription = redis_subscribe(stand->redis, "ch", on_message, on_ready, owner);
}

static bool is_ready(void *arg) { return ((struct owner *)arg)->readies > 0; }
static bool is_ready_again(void *arg) { return ((struct owner *)arg)->readies > 1; }
static bool has_message(void *arg) { return ((struct owner *)arg)->messages > 0; }

static int64_t subscribers_of(struct stand *stand) {
    redisReply *reply = ask(stand, "PUBSUB NUMSUB ch");
    int64_t count = reply->element[1]->integer;
    freeReplyObject(reply);
    return count;
}

static bool has_no_subscriber(void *arg) { return subscribers_of(arg) == 0; }

static void subscribe__when_two_owners__then_one_on_the_wire_and_both_hear(void **state) {
    struct stand *stand = stand_begin(1000);
    struct owner first = {0};
    struct owner second = {0};
    join(stand, &first);
    assert_false(redis_subscription_is_live(first.subscription));
    run_until(stand, is_ready, &first);
    join(stand, &second);
    assert_int_equal(second.readies, 0);
    run_until(stand, is_ready, &second);
    assert_int_equal(subscribers_of(stand), 1);
    assert_int_equal(ASK_INT(stand, "PUBLISH ch hello"), 1);
    run_until(stand, has_message, &first);
    run_until(stand, has_message, &second);
    assert_string_equal(first.payload, "hello");
    assert_string_equal(second.payload, "hello");
    first.subscription = redis_unsubscribe(first.subscription);
    run_for(stand, 30, never, NULL);
    assert_int_equal(subscribers_of(stand), 1);
    second.subscription = redis_unsubscribe(second.subscription);
    run_until(stand, has_no_subscriber, stand);
    assert_int_equal(first.readies + second.readies, 2);
    stand_end(stand);
}

static void subscribe__when_owners_leave_in_a_callback__then_no_call_after(void **state) {
    struct stand *stand = stand_begin(1000);
    struct owner owners[3] = {{0}};
    for (int i = 0; i < 3; i++) join(stand, &owners[i]);
    run_until(stand, is_ready, &owners[2]);
    owners[0].leaves_on_message = true;
    owners[0].drops = &owners[1];
    ASK(stand, "PUBLISH ch 1");
    ASK(stand, "PUBLISH ch 2");
    run_until(stand, has_message, &owners[2]);
    run_for(stand, 30, never, NULL);
    assert_int_equal(owners[0].messages, 1);
    assert_int_equal(owners[1].messages, 0);
    assert_int_equal(owners[2].messages, 2);
    owners[2].leaves_on_message = true;
    ASK(stand, "PUBLISH ch 3");
    run_until(stand, has_no_subscriber, stand);
    assert_int_equal(owners[2].messages, 3);
    stand_end(stand);
}

static void subscribe__when_left_and_joined_at_once__then_ready_once_and_heard(void **state) {
    struct stand *stand = stand_begin(1000);
    struct owner gone = {0};
    struct owner owner = {0};
    for (int i = 0; i < 5; i++) {
        join(stand, &gone);
        gone.subscription = redis_unsubscribe(gone.subscription);
    }
    join(stand, &owner);
    run_until(stand, is_ready, &owner);
    assert_int_equal(subscribers_of(stand), 1);
    ASK(stand, "PUBLISH ch x");
    run_until(stand, has_message, &owner);
    assert_int_equal(owner.readies, 1);
    assert_int_equal(gone.readies, 0);
    redis_unsubscribe(owner.subscription);
    stand_end(stand);
}

static void subscribe__when_only_its_link_is_cut__then_ready_again_and_breaker_closed(void **state) {
    struct stand *stand = stand_begin(1000);
    struct owner owner = {0};
    join(stand, &owner);
    run_until(stand, is_ready, &owner);
    assert_int_equal(ASK_INT(stand, "CLIENT KILL TYPE pubsub"), 1);
    run_until(stand, is_ready_again, &owner);
    assert_int_equal(stand->downs, 0);
    assert_true(redis_is_up(stand->redis));
    ASK(stand, "PUBLISH ch x");
    run_until(stand, has_message, &owner);
    stand_end(stand); /* what is still subscribed ends with redis_free */
}

/* The server goes on, but says nothing on the subscriber's connection: only the beat can tell. */
static void subscribe__when_its_link_falls_silent__then_ready_again(void **state) {
    struct stand *stand = stand_begin(CALL_TIMEOUT_MS);
    struct owner owner = {0};
    join(stand, &owner);
    run_until(stand, is_ready, &owner);
    ASK(stand, "CLIENT PAUSE 10500 ALL");
    run_until(stand, is_ready_again, &owner);
    assert_int_equal(stand->downs, 0);
    stand_end(stand);
}

static void subscribe__when_server_returns__then_ready_again(void **state) {
    struct stand *stand = stand_begin(CALL_TIMEOUT_MS);
    struct owner owner = {0};
    struct owner left = {0};
    join(stand, &owner);
    run_until(stand, is_ready, &owner);
    server_kill(stand);
    run_until(stand, is_down, stand);
    assert_false(redis_subscription_is_live(owner.subscription));
    join(stand, &left);
    left.subscription = redis_unsubscribe(left.subscription);
    server_start(stand);
    run_until(stand, is_ready_again, &owner);
    assert_int_equal(stand->ups, 2);
    assert_int_equal(ASK_INT(stand, "PUBLISH ch x"), 1);
    run_until(stand, has_message, &owner);
    assert_int_equal(left.readies, 0);
    stand_end(stand);
}

static void on_release(void *arg, const char *channel, const char *payload, size_t len) {
    assert_string_equal(channel, "redisson_lock__channel:{k}");
    assert_int_equal(len, 1);
    assert_memory_equal(payload, "0", 1);
    ((struct owner *)arg)->messages++;
}

/* The release script's count of listeners is what tells an instance that others wait. */
static void release__when_we_listen_ourselves__then_counted_and_heard(void **state) {
    struct stand *stand = stand_begin(1000);
    struct owner owner = {0};
    owner.subscription = redis_subscribe(stand->redis, "redisson_lock__channel:{k}", on_release, on_ready, &owner);
    run_until(stand, is_ready, &owner);
    call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", "2000", "0"));
    struct answer listened = call(stand, SCRIPT_TRAIN_RELEASE, WORDS("k"), WORDS("o"));
    assert_int_equal(listened.numbers[0], 1);
    run_until(stand, has_message, &owner);
    owner.subscription = redis_unsubscribe(owner.subscription);
    run_for(stand, 30, never, NULL);
    call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", "2000", "0"));
    struct answer alone = call(stand, SCRIPT_TRAIN_RELEASE, WORDS("k"), WORDS("o"));
    assert_int_equal(alone.numbers[0], 0);
    assert_int_equal(owner.messages, 1);
    stand_end(stand);
}

/* ---- a stalled loop, a full queue, an early end ---- */

/* Keeps the loop busy for a while, once: from a timer, or from a descriptor's callback, after which the loop runs the
   timers that are due before it polls again. */
struct stall {
    struct loop_timer *timer;
    struct loop_wake *wake;
    int64_t ms;
};

static void be_busy(void *arg) {
    int64_t until_ms = clock_mono_ms() + ((struct stall *)arg)->ms;
    while (clock_mono_ms() < until_ms) {
    }
}

static void wake_up(void *arg) { loop_wake_send(((struct stall *)arg)->wake); }

static void stall_begin(struct stand *stand, struct stall *stall, int64_t after_ms, bool in_timer) {
    stall->timer = loop_timer_new(stand->loop, in_timer ? be_busy : wake_up, stall);
    stall->wake = loop_wake_new(stand->loop, be_busy, stall);
    loop_timer_start(stall->timer, after_ms, 0);
}

static void stall_end(struct stall *stall) {
    loop_timer_free(stall->timer);
    loop_wake_free(stall->wake);
}

static void eval__when_the_loop_was_stalled__then_breaker_stays_closed(void **state) {
    static const int64_t delays_ms[] = {0, 1, 2, 50, 95};
    struct stand *stand = stand_begin(CALL_TIMEOUT_MS);
    for (size_t i = 0; i < 2 * sizeof delays_ms / sizeof delays_ms[0]; i++) {
        struct stall stall = {.ms = 3 * CALL_TIMEOUT_MS};
        struct answer answer = {0};
        eval(stand, SCRIPT_TRAIN_RENEW, WORDS("k"), WORDS("o", "2000"), &answer);
        stall_begin(stand, &stall, delays_ms[i / 2], i % 2 == 0);
        run_until(stand, is_answered, &answer);
        assert_false(answer.null);
        run_for(stand, delays_ms[i / 2] + stall.ms, never, NULL);
        stall_end(&stall);
    }
    assert_int_equal(stand->downs, 0);
    stand_end(stand);
}

/* Redis answers pause_for_ms after a call whose limit is limit_ms; the loop is busy from busy_ms on, over both moments.
 */
static void assert_read_late(int64_t limit_ms, int pause_for_ms, int64_t busy_ms) {
    struct stand *stand = stand_begin(limit_ms);
    struct stall stall = {.ms = 3 * CALL_TIMEOUT_MS};
    ASK(stand, "CLIENT PAUSE %d WRITE", pause_for_ms);
    struct answer answer = {0};
    eval(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", "2000", "0"), &answer);
    stall_begin(stand, &stall, busy_ms, false);
    run_until(stand, is_answered, &answer);
    assert_false(answer.null);
    assert_int_equal(stand->downs, 0);
    stall_end(&stall);
    stand_end(stand);
}

static void eval__when_answered_in_time_but_read_late__then_breaker_stays_closed(void **state) {
    assert_read_late(CALL_TIMEOUT_MS, 80, 70);
}

/* Overdue by any count, but the answer lies in the socket: one more poll finds it. The loop is busy from half a tick
   before the one that holds the call to be too old. */
static void eval__when_overdue_but_the_answer_is_there__then_breaker_stays_closed(void **state) {
    assert_read_late(10 * CALL_TIMEOUT_MS, 1120, 1050);
}

static void eval__when_too_many_wait__then_refused_at_once(void **state) {
    struct stand *stand = stand_begin(8000);
    struct answer *answers = mem_array(CONNECTION_CALLS_MAX + 1, sizeof *answers);
    kill(stand->server, SIGSTOP);
    for (size_t i = 0; i <= CONNECTION_CALLS_MAX; i++)
        eval(stand, SCRIPT_TRAIN_RENEW, WORDS("k"), WORDS("o", "2000"), &answers[i]);
    assert_int_equal(answers[CONNECTION_CALLS_MAX].count, 1);
    assert_true(answers[CONNECTION_CALLS_MAX].null);
    assert_false(answers[CONNECTION_CALLS_MAX].sent);
    assert_int_equal(answers[0].count, 0);
    kill(stand->server, SIGCONT);
    run_until(stand, is_answered, &answers[CONNECTION_CALLS_MAX - 1]);
    for (size_t i = 0; i < CONNECTION_CALLS_MAX; i++) {
        assert_int_equal(answers[i].count, 1);
        assert_int_equal(answers[i].len, 1);
    }
    assert_int_equal(stand->downs, 0);
    free(answers);
    stand_end(stand);
}

static void redis_free__when_calls_are_pending__then_answered_first(void **state) {
    struct stand *stand = stand_begin(5000);
    struct answer unsent = {0};
    struct answer sent = {0};
    kill(stand->server, SIGSTOP);
    eval(stand, SCRIPT_TRAIN_RENEW, WORDS("k"), WORDS("o", "2000"), &sent);
    run_for(stand, 20, never, NULL);
    eval(stand, SCRIPT_TRAIN_RENEW, WORDS("k"), WORDS("o", "2000"), &unsent);
    struct redis *redis = stand->redis;
    assert_null(redis_free(redis));
    stand->redis = NULL;
    assert_int_equal(sent.count, 1);
    assert_true(sent.null && sent.sent);
    assert_int_equal(unsent.count, 1);
    assert_true(unsent.null);
    assert_false(unsent.sent);
    assert_null(redis_free(NULL));
    stand_end(stand);
}

/* ---- servers ---- */

/* Starts a server with these words and connects; true when the breaker closes within `ms`. */
static bool comes_up(struct stand *stand, const char *prefix, const char *suffix, int64_t ms) {
    server_start(stand);
    redis_begin_as(stand, prefix, suffix, CALL_TIMEOUT_MS);
    return run_for(stand, ms, is_up, stand);
}

static void redis__when_server_is_unfit__then_stays_open(void **state) {
    static const char *const replica[] = {"--replicaof", "127.0.0.1 1", NULL};
    static const char *const cluster[] = {"--cluster-enabled", "yes", NULL};
    static const char *const *const kinds[] = {replica, cluster};
    for (size_t i = 0; i < 2; i++) {
        struct stand *stand = stand_new(kinds[i]);
        assert_false(comes_up(stand, "redis://127.0.0.1:", "", 400));
        assert_int_equal(stand->cleanings, 0);
        struct answer refused = {0};
        eval(stand, SCRIPT_TRAIN_RENEW, WORDS("k"), WORDS("o", "2000"), &refused);
        assert_true(refused.count == 1 && refused.null && !refused.sent);
        if (kinds[i] == replica) {
            ASK(stand, "REPLICAOF NO ONE");
            run_until_up(stand);
        }
        stand_end(stand);
    }
}

static void eval__when_server_became_a_replica__then_open_until_primary_again(void **state) {
    struct stand *stand = stand_begin(1000);
    ASK(stand, "REPLICAOF 127.0.0.1 1");
    struct answer answer = call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", "2000", "0"));
    assert_int_equal(answer.type, REDIS_ERROR);
    assert_non_null(strstr(answer.text, "READONLY"));
    assert_true(answer.sent);
    run_until(stand, is_down, stand);
    assert_int_equal(stand->downs, 1);
    ASK(stand, "REPLICAOF NO ONE");
    run_until_up(stand);
    stand_end(stand);
}

static void eval__when_server_refuses_to_write__then_open_and_slower_each_time_until_it_writes_again(void **state) {
    struct stand *stand = stand_begin(1000);
    ASK(stand, "CONFIG SET min-replicas-to-write 1");
    for (int trips = 1; trips <= 4; trips++) {
        struct answer answer = call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", "2000", "0"));
        assert_int_equal(answer.type, REDIS_ERROR);
        run_until(stand, is_down, stand);
        assert_int_equal(stand->downs, trips);
        if (trips == 4) assert_false(run_for(stand, 200, is_up, stand));
        run_until_up(stand);
    }
    ASK(stand, "CONFIG SET min-replicas-to-write 0");
    call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", "2000", "0"));
    run_for(stand, 100, never, NULL);
    assert_int_equal(stand->downs, 4);
    stand_end(stand);
}

static void redis__when_password_and_database__then_used(void **state) {
    static const char *const words[] = {"--requirepass", "p@ss word", NULL};
    struct stand *stand = stand_new(words);
    assert_false(comes_up(stand, "redis://:wrong@127.0.0.1:", "/3", 300));
    stand->redis = redis_free(stand->redis);
    redis_begin_as(stand, "redis://default:p%40ss%20word@127.0.0.1:", "/3", CALL_TIMEOUT_MS);
    run_until_up(stand);
    struct owner owner = {0};
    join(stand, &owner);
    run_until(stand, is_ready, &owner);
    call(stand, SCRIPT_TRAIN_ACQUIRE, WORDS("k"), WORDS("o", "2000", "0"));
    ASK(stand, "AUTH %s", "p@ss word");
    assert_int_equal(ASK_INT(stand, "EXISTS k"), 0);
    ASK(stand, "SELECT 3");
    assert_int_equal(ASK_INT(stand, "EXISTS k"), 1);
    stand_end(stand);
}

static void redis__when_host_is_a_name__then_resolved(void **state) {
    struct stand *stand = stand_new(NULL);
    assert_true(comes_up(stand, "redis://localhost:", "", DEADLINE_MS));
    stand_end(stand);
}

static void redis__when_server_may_evict__then_metric(void **state) {
    static const char *const words[] = {"--maxmemory-policy", "volatile-lru", NULL};
    struct stand *stand = stand_new(words);
    assert_true(comes_up(stand, "redis://127.0.0.1:", "", DEADLINE_MS));
    assert_int_equal(metric_get(METRIC_REDIS_EVICTS, 0), 1);
    stand_end(stand);
    stand = stand_begin(1000);
    assert_int_equal(metric_get(METRIC_REDIS_EVICTS, 0), 0);
    stand_end(stand);
}

static void redis__when_no_url__then_open_for_ever(void **state) {
    static const char *const urls[] = {NULL, ""};
    for (size_t i = 0; i < 2; i++) {
        struct stand *stand = stand_new(NULL);
        stand->options = (struct redis_options){.url = urls[i], .call_timeout_ms = CALL_TIMEOUT_MS, .arg = stand};
        stand->options.changed = on_changed;
        assert_false(failed(redis_new(stand->loop, &stand->options, &stand->redis)));
        assert_false(redis_is_configured(stand->redis));
        struct owner owner = {0};
        join(stand, &owner);
        run_for(stand, 100, never, NULL);
        struct answer answer = {0};
        eval(stand, SCRIPT_TRAIN_RENEW, WORDS("k"), WORDS("o", "2000"), &answer);
        assert_true(answer.count == 1 && answer.null && !answer.sent);
        assert_int_equal(redis_now_ms(stand->redis), 0);
        assert_int_equal(owner.readies + stand->ups + stand->downs, 0);
        redis_unsubscribe(owner.subscription);
        stand_end(stand);
    }
}

static void redis_new__when_url_is_malformed__then_invalid(void **state) {
    struct loop *loop = loop_new();
    struct redis_options options = {.url = "rediss://h", .call_timeout_ms = CALL_TIMEOUT_MS};
    struct redis *redis = NULL;
    assert_int_equal(redis_new(loop, &options, &redis).code, ERROR_INVALID_REQUEST);
    assert_null(redis);
    loop_free(loop);
}

static void redis_saw_time__when_samples_differ__then_estimate_stays_within(void **state) {
    struct loop *loop = loop_new();
    struct redis_options options = {.call_timeout_ms = CALL_TIMEOUT_MS};
    struct redis *redis = NULL;
    assert_false(failed(redis_new(loop, &options, &redis)));
    int64_t now_ms = clock_mono_ms();
    redis_saw_time(redis, 1000000, now_ms - 100);
    int64_t estimate_ms = redis_now_ms(redis);
    assert_in_range(estimate_ms, 1000000, 1000100 + 50);
    redis_saw_time(redis, 999990, now_ms - 100); /* what was known fits this too */
    assert_in_range(redis_now_ms(redis), estimate_ms, estimate_ms + 50);
    redis_saw_time(redis, 5000000, now_ms); /* the clock of Redis was set */
    assert_in_range(redis_now_ms(redis), 5000000, 5000000 + 100);
    redis_free(redis);
    loop_free(loop);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subscribe__when_two_owners__then_one_on_the_wire_and_both_hear),
        cmocka_unit_test(subscribe__when_owners_leave_in_a_callback__then_no_call_after),
        cmocka_unit_test(subscribe__when_left_and_joined_at_once__then_ready_once_and_heard),
        cmocka_unit_test(subscribe__when_only_its_link_is_cut__then_ready_again_and_breaker_closed),
        cmocka_unit_test(subscribe__when_its_link_falls_silent__then_ready_again),
        cmocka_unit_test(subscribe__when_server_returns__then_ready_again),
        cmocka_unit_test(release__when_we_listen_ourselves__then_counted_and_heard),
        cmocka_unit_test(eval__when_the_loop_was_stalled__then_breaker_stays_closed),
        cmocka_unit_test(eval__when_answered_in_time_but_read_late__then_breaker_stays_closed),
        cmocka_unit_test(eval__when_overdue_but_the_answer_is_there__then_breaker_stays_closed),
        cmocka_unit_test(eval__when_too_many_wait__then_refused_at_once),
        cmocka_unit_test(redis_free__when_calls_are_pending__then_answered_first),
        cmocka_unit_test(redis__when_server_is_unfit__then_stays_open),
        cmocka_unit_test(eval__when_server_became_a_replica__then_open_until_primary_again),
        cmocka_unit_test(eval__when_server_refuses_to_write__then_open_and_slower_each_time_until_it_writes_again),
        cmocka_unit_test(redis__when_password_and_database__then_used),
        cmocka_unit_test(redis__when_host_is_a_name__then_resolved),
        cmocka_unit_test(redis__when_server_may_evict__then_metric),
        cmocka_unit_test(redis__when_no_url__then_open_for_ever),
        cmocka_unit_test(redis_new__when_url_is_malformed__then_invalid),
        cmocka_unit_test(redis_saw_time__when_samples_differ__then_estimate_stays_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
