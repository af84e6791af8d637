/* COMMIT was sent and the connection broke. A plain look-up could miss a commit that is still on its way, so: end the
   old connection, take the same row locks (they are free only when the old transaction is over, one way or the other),
   then look for an event of the transaction. */
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "facade/trip.h"
#include "store/reservations.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RECOVER_RETRY_MS 50

static int64_t last_deadline(const struct attempt *attempt) {
    int64_t last = 0;
    for (size_t i = 0; i < attempt->count; i++)
        if (attempt->riders[i]->deadline_ms > last) last = attempt->riders[i]->deadline_ms;
    return last;
}

/* All of them: a product or an order that is not there keeps nobody waiting. */
static RESULT lock_same_rows(struct attempt *attempt, struct db *db) {
    size_t count = 0;
    int64_t now_ms = 0;
    AUTO_FREE struct stock_row *rows = mem_array(attempt->product_count + 1, sizeof rows[0]);
    TRY(inventories_lock(db, attempt->product_ids, attempt->product_count, ROW_LOCK_WAIT, rows, &count, &now_ms));
    AUTO_FREE struct order *orders = mem_array(attempt->order_count + 1, sizeof orders[0]);
    TRY(orders_lock(db, attempt->order_ids, attempt->order_count, ROW_LOCK_WAIT, orders, &count, &now_ms));
    for (size_t i = 0; i < count; i++) free(orders[i].items);
    count = 0;
    AUTO_FREE struct reservation *reservations = mem_array(attempt->ref_count + 1, sizeof reservations[0]);
    TRY(reservations_lock(db, attempt->refs, attempt->ref_count, ROW_LOCK_WAIT, reservations, &count, &now_ms));
    for (size_t i = 0; i < count; i++) free(reservations[i].items);
    return OK;
}

static RESULT look(struct attempt *attempt, struct db *db, uint64_t old_connection, bool *ret_done) {
    char kill[48];
    (void)text_format(kill, sizeof kill, "KILL %llu", (unsigned long long)old_connection);
    (void)db_run(db, kill, NULL).code; /* it may be gone already: then there is nothing to end */
    if (!db_is_usable(db)) FAIL(STORE_LOST, 0);
    *ret_done = false;
    if (attempt->first_event_id[0] == '\0')
        return OK; /* only stored answers or processed events were written: running it again finds them */
    TRY(db_begin(db));
    struct result result = lock_same_rows(attempt, db);
    if (!failed(result)) result = outbox_has(db, attempt->first_event_id, ret_done);
    if (db_is_usable(db)) db_rollback(db);
    return result;
}

static RESULT try_once(struct attempt *attempt, struct session *session, uint64_t old_connection, const char *server,
                       bool *ret_done) {
    struct db *db = NULL;
    TRY(pool_connect(session->trip->rules->pool, &db));
    if (strcmp(db_server_identity(db), server) != 0) {
        db = db_close(db);
        FAIL(OUTCOME_UNKNOWN, 0); /* another server, or another life of it: what it lacks proves nothing */
    }
    struct result result = look(attempt, db, old_connection, ret_done);
    if (failed(result)) {
        db = db_close(db);
        return result;
    }
    session->own = db_close(session->own);
    session->db = session->own = db;
    return OK;
}

RESULT attempt_recover(struct attempt *attempt, struct session *session, uint64_t old_connection,
                       const char *old_server, bool *ret_done) {
    int64_t deadline_ms = last_deadline(attempt);
    LOG(LOG_WARN, "commit.unknown", LOGI("commands", attempt->count), LOGI("connection", old_connection));
    for (;;) {
        struct result result = try_once(attempt, session, old_connection, old_server, ret_done);
        if (!failed(result) || result.code == ERROR_OUTCOME_UNKNOWN) return result;
        if (clock_mono_ms() >= deadline_ms) FAIL(OUTCOME_UNKNOWN, result.native);
        struct timespec pause = {0, RECOVER_RETRY_MS * 1000000L};
        (void)nanosleep(&pause, NULL);
    }
}
