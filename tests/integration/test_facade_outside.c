/* facade/outside.h: commands of other threads, and events that have their effect once. A loop with a facade, no Redis,
   and the workers' database. */
#include "base/clock.h"
#include "base/fault.h"
#include "facade/outside.h"
#include "store_stand.h"

#include <pthread.h>

#define GROUP "shop-group"

struct rig {
    struct loop *loop;
    struct pool *pool;
    struct redis *redis;
    struct facade *facade;
    struct loop_wake *completions, *stop;
    pthread_t thread;
};

static void notify(void *arg) { loop_wake_send(((struct rig *)arg)->completions); }
static void collect(void *arg) { pool_collect(((struct rig *)arg)->pool); }
static void end_loop(void *arg) { loop_stop(((struct rig *)arg)->loop); }
static void nothing(void *arg) {}
static void changed(void *arg, bool up) {}

static void *run(void *arg) {
    loop_run(((struct rig *)arg)->loop);
    return NULL;
}

static void rig_start(struct rig *rig, const char *faults, size_t queue_max) {
    setenv("LOCKSTOCK_FAULTS", faults, 1);
    fault_start();
    rig->loop = loop_new();
    rig->completions = loop_wake_new(rig->loop, collect, rig);
    rig->stop = loop_wake_new(rig->loop, end_loop, rig);
    struct pool_options pool = {
        .db = stand_options(), .workers = 3, .reserved = 2, .read_max = 8, .notify = notify, .notify_arg = rig};
    rig->pool = pool_new(&pool);
    struct facade_options options = {.queue_max = queue_max,
                                     .train_max = 1024,
                                     .train_products_max = 256,
                                     .train_slots = 1,
                                     .deadline_ms = 5000,
                                     .lock_wait_ms = 3000,
                                     .lock_lease_ms = 2000,
                                     .redis_timeout_ms = 100,
                                     .reservation_ttl_ms = 1800000};
    rig->facade = facade_new(rig->loop, rig->pool, &options);
    struct redis_options redis = {
        .url = "", .call_timeout_ms = 100, .clean_up = nothing, .changed = changed, .arg = rig};
    MUST(redis_new(rig->loop, &redis, &rig->redis));
    facade_use_redis(rig->facade, rig->redis);
    loop_on_turn(rig->loop, facade_pump, rig->facade);
    assert_int_equal(pthread_create(&rig->thread, NULL, run, rig), 0);
}

static void rig_stop(struct rig *rig) {
    loop_wake_send(rig->stop);
    pthread_join(rig->thread, NULL);
    pool_stop(rig->pool);
    pool_collect(rig->pool);
    facade_stop(rig->facade);
    rig->redis = redis_free(rig->redis);
    rig->facade = facade_free(rig->facade);
    rig->pool = pool_free(rig->pool);
    rig->completions = loop_wake_free(rig->completions);
    rig->stop = loop_wake_free(rig->stop);
    rig->loop = loop_free(rig->loop);
}

static struct rider *adjust(int64_t product_id, int64_t delta, const char *event_id) {
    struct rider *rider = rider_new(COMMAND_STOCK_ADJUST, 1);
    rider->lines[0] = (struct line){product_id, 1};
    rider->command.adjust.delta = delta;
    (void)text_copy(rider->command.adjust.reason, sizeof rider->command.adjust.reason, "test");
    if (event_id != NULL) assert_true(rider_set_event(rider, event_id, GROUP));
    return rider;
}

static void check_answer(const struct answer *answer, enum error error, bool duplicate, bool processed) {
    assert_int_equal(answer->error, error);
    assert_int_equal(answer->duplicate, duplicate);
    assert_int_equal(answer->processed, processed);
}

static int64_t stock_of(struct db *db, int product_id) {
    char sql[80];
    (void)snprintf(sql, sizeof sql, "SELECT stock FROM inventories WHERE product_id = %d", product_id);
    return stand_number(db, sql);
}

static int64_t noted(struct db *db) { return stand_number(db, "SELECT COUNT(*) FROM processed_events"); }

static void call__when_many_riders__then_each_has_its_answer(void **state) {
    struct stand *stand = *state;
    struct rig rig;
    struct rider *riders[FACADE_CALL_MAX];
    struct answer answers[FACADE_CALL_MAX];
    stand_products(stand->db, 2, 100);
    rig_start(&rig, "", 4096);
    for (size_t i = 0; i < FACADE_CALL_MAX; i++) riders[i] = adjust(i % 2 == 0 ? 10 : 999, 1, NULL);
    facade_call(rig.facade, riders, FACADE_CALL_MAX, answers);
    for (size_t i = 0; i < FACADE_CALL_MAX; i++)
        check_answer(&answers[i], i % 2 == 0 ? ERROR_NONE : ERROR_PRODUCT_NOT_FOUND, false, false);
    assert_int_equal(stock_of(stand->db, 10), 100 + FACADE_CALL_MAX / 2);
    answers_done(answers, FACADE_CALL_MAX);
    rig_stop(&rig);
}

static void call__when_the_queue_is_full__then_the_rest_is_refused(void **state) {
    struct stand *stand = *state;
    struct rig rig;
    struct rider *riders[8];
    struct answer answers[8];
    stand_products(stand->db, 1, 100);
    rig_start(&rig, "", 3);
    for (size_t i = 0; i < 8; i++) riders[i] = adjust(10, 1, i == 7 ? "late" : NULL);
    facade_call(rig.facade, riders, 8, answers);
    for (size_t i = 0; i < 8; i++) check_answer(&answers[i], i < 3 ? ERROR_NONE : ERROR_UNAVAILABLE, false, false);
    assert_int_equal(noted(stand->db), 0);
    answers_done(answers, 8);
    rig_stop(&rig);
}

static void call__when_the_facade_has_stopped__then_refused(void **state) {
    struct rig rig;
    struct answer answer;
    rig_start(&rig, "", 16);
    loop_wake_send(rig.stop);
    pthread_join(rig.thread, NULL);
    facade_stop(rig.facade);
    struct rider *rider = adjust(10, 1, NULL);
    facade_call(rig.facade, &rider, 1, &answer);
    check_answer(&answer, ERROR_UNAVAILABLE, false, false);
    answers_done(&answer, 1);
    assert_int_equal(pthread_create(&rig.thread, NULL, run, &rig), 0);
    rig_stop(&rig);
}

/* The adjustment has no memory of its own: only the event keeps it from happening twice. */
static int64_t stock_after_two_deliveries(struct stand *stand, const char *faults, bool in_one_call) {
    struct rig rig;
    struct answer answers[2];
    rig_start(&rig, faults, 16);
    struct rider *riders[2] = {adjust(10, 1, "event-1"), adjust(10, 1, "event-1")};
    if (in_one_call) {
        facade_call(rig.facade, riders, 2, answers);
    } else {
        facade_call(rig.facade, riders, 1, answers);
        facade_call(rig.facade, riders + 1, 1, answers + 1);
    }
    check_answer(&answers[0], ERROR_NONE, false, true);
    check_answer(&answers[1], ERROR_NONE, faults[0] == '\0', faults[0] != '\0');
    answers_done(answers, 2);
    rig_stop(&rig);
    return stock_of(stand->db, 10);
}

static void event__when_delivered_twice__then_one_effect(void **state) {
    stand_products(((struct stand *)*state)->db, 1, 100);
    assert_int_equal(stock_after_two_deliveries(*state, "", false), 101);
    assert_int_equal(noted(((struct stand *)*state)->db), 1);
}

static void event__when_twice_in_one_train__then_one_effect(void **state) {
    stand_products(((struct stand *)*state)->db, 1, 100);
    assert_int_equal(stock_after_two_deliveries(*state, "", true), 101);
    assert_int_equal(noted(((struct stand *)*state)->db), 1);
}

static void event__when_it_is_not_written_down__then_the_proof_sees_two_effects(void **state) {
    stand_products(((struct stand *)*state)->db, 1, 100);
    assert_int_equal(stock_after_two_deliveries(*state, "no-processed-events", false), 102);
}

static void event__when_another_group_has_it__then_both_have_their_effect(void **state) {
    struct stand *stand = *state;
    struct rig rig;
    struct answer answers[2];
    stand_products(stand->db, 1, 100);
    rig_start(&rig, "", 16);
    struct rider *riders[2] = {adjust(10, 1, "event-1"), adjust(10, 1, NULL)};
    assert_true(rider_set_event(riders[1], "event-1", "other-group"));
    facade_call(rig.facade, riders, 2, answers);
    for (size_t i = 0; i < 2; i++) check_answer(&answers[i], ERROR_NONE, false, true);
    assert_int_equal(stock_of(stand->db, 10), 102);
    answers_done(answers, 2);
    rig_stop(&rig);
}

static void event__when_refused_for_good__then_written_down(void **state) {
    struct stand *stand = *state;
    struct rig rig;
    struct answer answers[2];
    stand_products(stand->db, 1, 1);
    rig_start(&rig, "", 16);
    struct rider *first = adjust(10, -5, "event-1"), *again = adjust(10, -5, "event-1");
    facade_call(rig.facade, &first, 1, answers);
    facade_call(rig.facade, &again, 1, answers + 1);
    check_answer(&answers[0], ERROR_INSUFFICIENT_STOCK, false, true);
    check_answer(&answers[1], ERROR_NONE, true, false);
    answers_done(answers, 2);
    rig_stop(&rig);
}

static void event__when_its_order_is_not_there__then_to_be_delivered_again(void **state) {
    struct stand *stand = *state;
    struct rig rig;
    struct answer answer;
    rig_start(&rig, "", 16);
    struct rider *rider = rider_new(COMMAND_ORDER_CANCEL, 0);
    rider->command.order_id = 4711;
    assert_true(rider_set_event(rider, "event-1", GROUP));
    facade_call(rig.facade, &rider, 1, &answer);
    check_answer(&answer, ERROR_ORDER_NOT_FOUND, false, false);
    assert_int_equal(noted(stand->db), 0);
    answers_done(&answer, 1);
    rig_stop(&rig);
}

/* Two processes: the second learns at the primary key what the first did. */
struct race {
    struct rig rig;
    struct answer answer;
};

static void *deliver(void *arg) {
    struct race *race = arg;
    struct rider *rider = adjust(10, -5, "event-1"); /* refused: no row of its product is changed */
    facade_call(race->rig.facade, &rider, 1, &race->answer);
    return NULL;
}

static bool somebody_waits(struct db *db) {
    struct db_stmt *stmt;
    bool row;
    MUST(db_statement(db, "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'", &stmt));
    MUST(db_execute(stmt, NULL));
    MUST(db_next(stmt, &row));
    bool waits = row && strcmp(db_text(stmt, 1, NULL), "0") != 0;
    db_finish(stmt);
    return waits;
}

static void event__when_another_session_is_writing_it_down__then_duplicate(void **state) {
    struct stand *stand = *state;
    struct race race;
    pthread_t thread;
    stand_products(stand->db, 1, 1);
    rig_start(&race.rig, "", 16);
    MUST(db_begin(stand->other));
    stand_run(stand->other, "INSERT INTO processed_events VALUES ('event-1', '" GROUP "', UTC_TIMESTAMP(6))");
    assert_int_equal(pthread_create(&thread, NULL, deliver, &race), 0);
    int64_t until_ms = clock_mono_ms() + 800; /* below the second after which the train's wait would end */
    while (clock_mono_ms() < until_ms && !somebody_waits(stand->db)) continue;
    MUST(db_commit(stand->other));
    pthread_join(thread, NULL);
    check_answer(&race.answer, ERROR_NONE, true, false);
    answers_done(&race.answer, 1);
    rig_stop(&race.rig);
}

static void set_event__when_no_plain_word__then_refused(void **state) {
    char longer[EVENT_ID_MAX + 2];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    struct rider *rider = rider_new(COMMAND_STOCK_ADJUST, 1);
    assert_false(rider_set_event(rider, "", GROUP));
    assert_false(rider_set_event(rider, "a b", GROUP));
    assert_false(rider_set_event(rider, "é", GROUP));
    assert_false(rider_set_event(rider, longer, GROUP));
    assert_false(rider_set_event(rider, "event-1", ""));
    assert_null(rider->event);
    assert_true(rider_set_event(rider, longer + 1, GROUP));
    rider_free(rider);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STAND_TEST(call__when_many_riders__then_each_has_its_answer),
        STAND_TEST(call__when_the_queue_is_full__then_the_rest_is_refused),
        STAND_TEST(call__when_the_facade_has_stopped__then_refused),
        STAND_TEST(event__when_delivered_twice__then_one_effect),
        STAND_TEST(event__when_twice_in_one_train__then_one_effect),
        STAND_TEST(event__when_it_is_not_written_down__then_the_proof_sees_two_effects),
        STAND_TEST(event__when_another_group_has_it__then_both_have_their_effect),
        STAND_TEST(event__when_refused_for_good__then_written_down),
        STAND_TEST(event__when_its_order_is_not_there__then_to_be_delivered_again),
        STAND_TEST(event__when_another_session_is_writing_it_down__then_duplicate),
        STAND_TEST(set_event__when_no_plain_word__then_refused),
    };
    return cmocka_run_group_tests(tests, stand_setup, stand_teardown);
}
