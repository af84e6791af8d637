/* The servers this process has seen, and until when it gives no schedule lock. Relaxed atomics: a thread that sees an
   old value a moment longer is as good as one that asked a moment earlier. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "store/db_internal.h"
#include "store/shedlock_internal.h"

#include <stdatomic.h>

#define HASH_START UINT64_C(14695981039346656037)
#define HASH_PRIME UINT64_C(1099511628211)

static _Atomic int64_t period_ms, until_ms;
static _Atomic uint64_t last_server; /* 0 = none yet */

void shedlock_guard_start(int64_t guard_ms) {
    period_ms = guard_ms;
    until_ms = 0;
    last_server = 0;
}

static uint64_t hash_of(const char *identity) {
    uint64_t hash = HASH_START;
    for (; *identity != '\0'; identity++) hash = (hash ^ (unsigned char)*identity) * HASH_PRIME;
    return hash | 1;
}

static void hold_back(const char *why) {
    int64_t now_ms = clock_mono_ms();
    bool is_begin = until_ms <= now_ms;
    until_ms = now_ms + period_ms;
    if (is_begin) LOG(LOG_WARN, "schedule.guard", LOGS("why", why), LOGI("forMs", period_ms));
}

/* A privileged user may write to a replica, and what it writes is lost. */
static RESULT check_writable(struct db *db) {
    int64_t is_read_only;
    if (db->shedlock.is_writable) return OK;
    TRY(db_number(db, "SELECT @@global.read_only", &is_read_only));
    if (is_read_only != 0) {
        shedlock_guard_failed(FAILURE(STORE_READ_ONLY, 0));
        FAIL(STORE_READ_ONLY, 0);
    }
    db->shedlock.is_writable = true;
    return OK;
}

/* What a connection that has died in the meantime led to says nothing of now. */
static RESULT note_server(struct db *db) {
    uint64_t server = hash_of(db_server_identity(db));
    if (last_server == server) return OK;
    if (!db_ping(db)) FAIL(STORE_LOST, 0);
    uint64_t before = atomic_exchange(&last_server, server);
    if (before != 0 && before != server) hold_back("the connection leads to another server");
    return OK;
}

RESULT shedlock_guard_check(struct db *db) {
    if (fault_on(FAULT_NO_SCHEDULE_GUARD)) return OK;
    TRY(note_server(db));
    TRY(check_writable(db));
    if (clock_mono_ms() < until_ms) FAIL(UNAVAILABLE, 0);
    return OK;
}

void shedlock_guard_failed(struct result result) {
    if (result.code == ERROR_STORE_READ_ONLY) hold_back("the server is read only");
}
