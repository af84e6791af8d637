/* The transaction of a train, from BEGIN to COMMIT, and what becomes of its riders when something goes wrong:

     ok ─────────────────────────────▶ answered
     deadlock, duplicate, version, lost connection ─▶ the whole group again (bounded, with jitter)
     lock wait ─▶ again with SKIP LOCKED: riders on locked rows leave blocked, the rest commits;
                  while writing (a unique key held open): parts, down to the one that meets it
     bad data ─▶ two halves in order, down to the one bad rider
     commit unknown ─▶ ask the database (recover.c): done, again, or SYS-012
     anything else ─▶ every rider of the group gets the error

   Invariant: an attempt ends with COMMIT answered, or with nothing written, or as unknown. */
#include "facade/trip.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "facade/answer.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RETRIES_MAX 3        /* of one cause, then the riders get the error */
#define RETRY_JITTER_US 4000 /* two trains that met must not meet again */
#define LOCK_WAIT_PART 32    /* 1024 riders in two steps of a second each; halves would take ten */
#define ID_BLOCK 1000        /* order ids reserved at once: one statement per thousand orders */

enum retry_cause {
    RETRY_DEADLOCK,
    RETRY_LOCK_WAIT,
    RETRY_DUPLICATE,
    RETRY_VERSION,
    RETRY_LOST,
    RETRY_SPLIT,
    RETRY_UNKNOWN,
    RETRY_CAUSES
};

struct group {
    struct session *session;
    struct rider **riders;
    size_t count;
    enum row_lock row_lock;
    unsigned tries[RETRY_CAUSES];
    bool fresh_ids; /* a foreign insert used our block: draw above what exists */
    bool writing;   /* the attempt had its rows and wrote */
};

static void pause_us(int64_t us) {
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    (void)nanosleep(&t, NULL);
}

static void fail_riders(struct rider **riders, size_t count, enum error error, const char *detail) {
    for (size_t i = 0; i < count; i++) {
        riders[i]->fate = FATE_ANSWERED;
        answer_problem(riders[i], error, detail, NULL);
    }
}

/* Riders whose deadline has passed are answered and leave; nothing of theirs is written. */
static void drop_expired(struct group *group) {
    int64_t now_ms = clock_mono_ms();
    size_t kept = 0;
    for (size_t i = 0; i < group->count; i++) {
        struct rider *rider = group->riders[i];
        if (rider->deadline_ms > now_ms) {
            group->riders[kept++] = rider;
            continue;
        }
        metric_add(METRIC_REFUSED, 1, 1);
        fail_riders(&rider, 1, ERROR_DEADLINE, "the deadline passed before the transaction");
    }
    group->count = kept;
}

/* Enough order ids for every rider that may need one. Outside the transaction, so that a rollback never hands one out
 * twice. */
static RESULT reserve_ids(struct group *group) {
    struct trip *trip = group->session->trip;
    int64_t wanted = 0;
    for (size_t i = 0; i < group->count; i++) wanted += group->riders[i]->command.kind == COMMAND_ORDER_CREATE;
    if (!group->fresh_ids && trip->id_end - trip->id_next >= wanted) return OK;
    size_t count = wanted > ID_BLOCK ? (size_t)wanted : ID_BLOCK;
    TRY(id_blocks_reserve(group->session->db, count, group->fresh_ids, &trip->id_next));
    trip->id_end = trip->id_next + (int64_t)count;
    group->fresh_ids = false;
    return OK;
}

static void keep_blocked(struct trip *trip, const struct attempt *attempt) {
    if (attempt->skipped_count == 0) return;
    size_t count = trip->blocked_count + attempt->skipped_count;
    trip->blocked = mem_grow(trip->blocked, count, sizeof trip->blocked[0]);
    memcpy(trip->blocked + trip->blocked_count, attempt->skipped, attempt->skipped_count * sizeof trip->blocked[0]);
    trip->blocked_count = count;
}

static RESULT commit(struct attempt *attempt) {
    struct trip *trip = attempt->trip;
    if (fault_on(FAULT_HOLD_BEFORE_COMMIT)) pause_us(fault_value(FAULT_HOLD_BEFORE_COMMIT) * 1000);
    int64_t start_us = clock_mono_us();
    struct result result = db_commit(attempt->db);
    trip->commit_us += clock_mono_us() - start_us;
    return result;
}

static void note_committed(struct attempt *attempt) {
    attempt->trip->committed = true;
    attempt->trip->id_next = attempt->next_id;
    keep_blocked(attempt->trip, attempt);
}

/* COMMIT was sent and not answered: what does the database say? */
static RESULT resolve_unknown(struct group *group, struct attempt *attempt, uint64_t connection, const char *server) {
    bool done = false;
    struct result result = attempt_recover(attempt, group->session, connection, server, &done);
    metric_add(METRIC_COMMIT_UNKNOWN, failed(result) ? 2 : done ? 0 : 1, 1);
    if (failed(result)) {
        attempt->trip->unknown = true;
        attempt->trip->id_next = attempt->next_id; /* its orders may stand: their ids are spent */
        return result;
    }
    if (!done) FAIL(STORE_LOST, 0); /* surely nothing was written: run it again */
    note_committed(attempt);
    return OK;
}

static RESULT finish(struct group *group, struct attempt *attempt, bool wrote) {
    if (!wrote) {
        db_rollback(attempt->db);
        keep_blocked(attempt->trip, attempt);
        return OK;
    }
    uint64_t connection = db_connection_id(attempt->db);
    char server[160];
    (void)text_copy(server, sizeof server, db_server_identity(attempt->db));
    struct result result = commit(attempt);
    if (result.code == ERROR_COMMIT_UNKNOWN) return resolve_unknown(group, attempt, connection, server);
    TRY(result);
    note_committed(attempt);
    return OK;
}

static RESULT run_statements(struct group *group, struct attempt *attempt) {
    bool wrote = false;
    group->writing = false;
    TRY(db_begin(attempt->db));
    TRY(attempt_load(attempt));
    attempt_settle(attempt);
    group->writing = true;
    TRY(attempt_write(attempt, &wrote));
    return finish(group, attempt, wrote);
}

/* One attempt on the whole group; after a failure nothing of it stands. */
static RESULT attempt_run(struct group *group) {
    struct session *session = group->session;
    if (session->db == NULL || !db_is_usable(session->db)) {
        session->own = db_close(session->own);
        session->db = NULL;
        TRY(pool_connect(session->trip->rules->pool, &session->own));
        session->db = session->own;
    }
    TRY(reserve_ids(group));
    struct attempt attempt = {.trip = session->trip,
                              .db = session->db,
                              .riders = group->riders,
                              .count = group->count,
                              .row_lock = group->row_lock,
                              .next_id = session->trip->id_next};
    struct result result = run_statements(group, &attempt);
    if (failed(result) && session->db == attempt.db && db_is_usable(attempt.db)) db_rollback(attempt.db);
    attempt_done(&attempt);
    return result;
}

static void run_group(struct session *session, struct rider **riders, size_t count, enum row_lock row_lock);

/* Parts in order, so that only the bad rider fails; one alone gets the error. */
static void split(struct group *group, struct result why, size_t part) {
    if (group->count == 1) {
        group->session->trip->failed = true;
        LOG(LOG_ERROR, "command.refused", LOGS("requestId", group->riders[0]->request_id), LOGR(why));
        fail_riders(group->riders, 1, (enum error)why.code, NULL);
        return;
    }
    metric_add(METRIC_RETRIES, RETRY_SPLIT, 1);
    for (size_t at = 0; at < group->count; at += part) {
        size_t rest = group->count - at;
        run_group(group->session, group->riders + at, rest < part ? rest : part, group->row_lock);
    }
}

static void split_in_halves(struct group *group, struct result why) { split(group, why, (group->count + 1) / 2); }

/* Each part that meets the lock costs its whole wait. */
static void split_by_lock_wait(struct group *group, struct result why) {
    split(group, why, group->count > LOCK_WAIT_PART ? LOCK_WAIT_PART : 1);
}

static bool may_retry(struct group *group, enum retry_cause cause) {
    metric_add(METRIC_RETRIES, cause, 1);
    return ++group->tries[cause] <= RETRIES_MAX;
}

static bool retry_deadlock(struct group *group) {
    metric_add(METRIC_DEADLOCKS, 0, 1);
    pause_us(clock_mono_us() % RETRY_JITTER_US);
    return may_retry(group, RETRY_DEADLOCK);
}

/* 1205 first: take what is free. While writing that is no help: the lock (a unique key held open by a foreign session)
 * is not among the rows. */
static bool retry_lock_wait(struct group *group) {
    bool first = group->row_lock != ROW_LOCK_SKIP;
    bool helps = !group->writing || group->count == 1;
    group->row_lock = ROW_LOCK_SKIP;
    return may_retry(group, RETRY_LOCK_WAIT) && first && helps;
}

static bool retry_version(struct group *group) {
    metric_add(METRIC_VERSION_CONFLICTS, 0, 1);
    pause_us(clock_mono_us() % RETRY_JITTER_US);
    return may_retry(group, RETRY_VERSION);
}

static bool retry_duplicate(struct group *group) {
    group->fresh_ids = true;
    return may_retry(group, RETRY_DUPLICATE);
}

/* PRD-004 after versions that kept moving: as when the lock was not had. */
static void fail_busy(struct group *group) {
    for (size_t i = 0; i < group->count; i++) {
        struct rider *rider = group->riders[i];
        char extras[96];
        (void)text_format(extras, sizeof extras, STOCK_BUSY_EXTRAS,
                          rider->command.line_count > 0 ? (long long)rider->command.lines[0].product_id : 0LL);
        rider->fate = FATE_ANSWERED;
        answer_problem(rider, ERROR_VERSION_CONFLICT, "other writers kept changing the stock", extras);
    }
}

/* After a failed attempt: true = run the group again. Otherwise its riders have been answered. */
static bool after_failure(struct group *group, struct result why) {
    switch (why.code) {
    case ERROR_DEADLOCK:
        if (retry_deadlock(group)) return true;
        break;
    case ERROR_LOCK_WAIT:
        if (retry_lock_wait(group)) return true;
        if (group->count > 1) {
            split_by_lock_wait(group, why);
            return false;
        }
        break;
    case ERROR_VERSION_CONFLICT:
        if (retry_version(group)) return true;
        fail_busy(group);
        return false;
    case ERROR_DUPLICATE:
        if (retry_duplicate(group)) return true;
        split_in_halves(group, why);
        return false;
    case ERROR_BAD_DATA:
        split_in_halves(group, why);
        return false;
    case ERROR_STORE_LOST:
        if (may_retry(group, RETRY_LOST)) return true;
        break;
    default:
        break;
    }
    group->session->trip->failed = true;
    LOG(LOG_WARN, "transaction.failed", LOGI("commands", group->count), LOGR(why));
    fail_riders(group->riders, group->count, (enum error)why.code, NULL);
    return false;
}

static void run_group(struct session *session, struct rider **riders, size_t count, enum row_lock row_lock) {
    struct group group = {.session = session, .riders = riders, .count = count, .row_lock = row_lock};
    for (;;) {
        drop_expired(&group);
        if (group.count == 0) return;
        struct result result = attempt_run(&group);
        if (!failed(result) || !after_failure(&group, result)) return;
    }
}

void trip_run(struct db_job *job, struct db *db) {
    struct trip *trip = CONTAINER_OF(job, struct trip, job);
    struct session session = {.trip = trip, .db = db};
    /* Expired riders are sorted out of this copy: the train keeps all of them. */
    AUTO_FREE struct rider **riders = mem_array(trip->count, sizeof riders[0]);
    memcpy(riders, trip->riders, trip->count * sizeof riders[0]);
    trip->began_us = clock_mono_us();
    run_group(&session, riders, trip->count, trip->row_lock);
    trip->committed_us = clock_mono_us();
    trip->transaction_us = trip->committed_us - trip->began_us;
    session.own = db_close(session.own);
}

void trip_done(struct trip *trip) {
    free(TAKE(trip->blocked));
    trip->blocked_count = 0;
}
