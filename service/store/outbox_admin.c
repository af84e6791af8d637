/* A failure is changed before the event's own status, as relays do it. */
#include "store/outbox_admin.h"

#include "store/many.h"
#include "store/outbox.h"

#define NOW "UTC_TIMESTAMP(6)"
#define COLUMNS                                                                                                        \
    "SELECT id, event_id, event_type, aggregate_type, aggregate_id, aggregate_version, status, retry_count, "          \
    "created_at, published_at"
enum { PAYLOAD_COLUMN = 10 };
#define ROUND 200 /* events of one statement */

/* -- looking */

static struct outbox_event event_of(struct db_stmt *row) {
    struct outbox_event event = {.id = db_i64(row, 0),
                                 .aggregate_version = db_i64(row, 5),
                                 .retry_count = db_i64(row, 7),
                                 .created_at_ms = db_time(row, 8),
                                 .published_at_ms = db_time(row, 9)};
    db_copy_text(row, 1, event.event_id, sizeof event.event_id);
    db_copy_text(row, 2, event.event_type, sizeof event.event_type);
    db_copy_text(row, 3, event.aggregate_type, sizeof event.aggregate_type);
    db_copy_text(row, 4, event.aggregate_id, sizeof event.aggregate_id);
    db_copy_text(row, 6, event.status, sizeof event.status);
    return event;
}

struct lister {
    void (*fn)(void *arg, const struct outbox_event *event);
    void *arg;
};

static void pass_event(void *arg, struct db_stmt *row) {
    const struct lister *lister = arg;
    struct outbox_event event = event_of(row);
    lister->fn(lister->arg, &event);
}

RESULT outbox_list(struct db *db, const struct outbox_page *page,
                   void (*fn)(void *arg, const struct outbox_event *event), void *arg) {
    struct lister lister = {fn, arg};
    struct db_stmt *stmt;
    unsigned param = 0;
    TRY(db_statement(db,
                     page->status != NULL ? COLUMNS
                         " FROM outbox_events WHERE status = ? AND id < ? ORDER BY id DESC LIMIT ?"
                                          : COLUMNS " FROM outbox_events WHERE id < ? ORDER BY id DESC LIMIT ?",
                     &stmt));
    if (page->status != NULL) db_set_str(stmt, param++, page->status);
    db_set_i64(stmt, param++, page->before_id);
    db_set_i64(stmt, param, (int64_t)page->limit);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, pass_event, &lister);
}

static void pass_failure(void *arg, struct db_stmt *row) {
    const struct outbox_reader *reader = arg;
    struct sink_failure failure = {.attempts = db_i64(row, 2), .available_at_ms = db_time(row, 3)};
    db_copy_text(row, 0, failure.sink, sizeof failure.sink);
    db_copy_text(row, 1, failure.status, sizeof failure.status);
    db_copy_text(row, 4, failure.error, sizeof failure.error);
    reader->on_failure(reader->arg, &failure);
}

static RESULT read_failures(struct db *db, int64_t id, const struct outbox_reader *reader) {
    struct db_stmt *stmt;
    TRY(db_statement(db,
                     "SELECT sink, status, attempts, available_at, error FROM outbox_failures WHERE id = ? "
                     "ORDER BY sink",
                     &stmt));
    db_set_i64(stmt, 0, id);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, pass_failure, (void *)reader);
}

RESULT outbox_get(struct db *db, const char *event_id, const struct outbox_reader *reader) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, COLUMNS ", payload FROM outbox_events WHERE event_id = ?", &stmt));
    db_set_str(stmt, 0, event_id);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) FAIL(EVENT_NOT_FOUND, 0);
    struct outbox_event event = event_of(stmt);
    event.payload = db_text(stmt, PAYLOAD_COLUMN, &event.payload_len);
    reader->on_event(reader->arg, &event);
    db_finish(stmt);
    return read_failures(db, event.id, reader);
}

/* -- changing */

/* What a change needs to know of an event. */
struct subject {
    int64_t id, part;
    bool published;
    char aggregate_id[OUTBOX_AGGREGATE_SIZE];
};

static RESULT find(struct db *db, const char *event_id, struct subject *ret) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, "SELECT id, part, aggregate_id, status = 'PUBLISHED' FROM outbox_events WHERE event_id = ?",
                     &stmt));
    db_set_str(stmt, 0, event_id);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) FAIL(EVENT_NOT_FOUND, 0);
    *ret = (struct subject){.id = db_i64(stmt, 0), .part = db_i64(stmt, 1), .published = db_i64(stmt, 3) != 0};
    db_copy_text(stmt, 2, ret->aggregate_id, sizeof ret->aggregate_id);
    db_finish(stmt);
    return OK;
}

static RESULT write_audit(struct db *db, const char *action, const char *event_id, const char *detail,
                          const struct outbox_actor *actor) {
    struct db_stmt *stmt;
    TRY(db_statement(db,
                     "INSERT INTO outbox_audit (at, action, event_id, credential, request_id, detail) "
                     "VALUES (" NOW ", ?, ?, ?, ?, ?)",
                     &stmt));
    db_set_str(stmt, 0, action);
    db_set_str_or_null(stmt, 1, event_id);
    db_set_str(stmt, 2, actor->credential);
    db_set_str(stmt, 3, actor->request_id);
    db_set_str(stmt, 4, detail);
    return db_execute(stmt, NULL);
}

static RESULT run_for_id(struct db *db, const char *sql, int64_t id, uint64_t *ret_affected) {
    struct db_stmt *stmt;
    TRY(db_statement(db, sql, &stmt));
    db_set_i64(stmt, 0, id);
    return db_execute(stmt, ret_affected);
}

static RESULT send_once_more(struct db *db, const struct subject *subject, const char *const *sinks, size_t count) {
    struct outbox_failure failure = {
        .id = subject->id, .part = (unsigned)subject->part, .aggregate_id = subject->aggregate_id, .error = ""};
    for (size_t i = 0; i < count; i++) TRY(outbox_failures_put(db, sinks[i], &failure, 1));
    return OK;
}

#define REOPEN "UPDATE outbox_events SET status = 'PENDING', published_at = NULL, retry_count = 0 WHERE id "

static RESULT replay(struct db *db, const char *event_id, const char *const *sinks, size_t count) {
    struct subject subject;
    uint64_t failures;
    TRY(find(db, event_id, &subject));
    TRY(run_for_id(db,
                   "UPDATE outbox_failures SET status = 'PENDING', attempts = 0, available_at = " NOW " WHERE id = ?",
                   subject.id, &failures));
    if (failures == 0 && !subject.published) return OK;
    if (failures == 0) TRY(send_once_more(db, &subject, sinks, count));
    return run_for_id(db, REOPEN "= ?", subject.id, NULL);
}

static RESULT discard(struct db *db, const char *event_id) {
    struct subject subject;
    uint64_t failures;
    TRY(find(db, event_id, &subject));
    TRY(run_for_id(db, "UPDATE outbox_failures SET status = 'DISCARDED' WHERE id = ?", subject.id, &failures));
    if (failures == 0) return OK;
    return run_for_id(db, "UPDATE outbox_events SET status = 'DISCARDED' WHERE id = ?", subject.id, NULL);
}

static RESULT end(struct db *db, struct result result) {
    if (!failed(result)) return db_commit(db);
    if (db_is_usable(db)) db_rollback(db);
    return result;
}

RESULT outbox_replay(struct db *db, const char *event_id, const char *const *sinks, size_t sink_count,
                     const struct outbox_actor *actor) {
    TRY(db_begin(db));
    struct result result = replay(db, event_id, sinks, sink_count);
    if (!failed(result)) result = write_audit(db, "REPLAY", event_id, "", actor);
    return end(db, result);
}

RESULT outbox_discard(struct db *db, const char *event_id, const struct outbox_actor *actor) {
    TRY(db_begin(db));
    struct result result = discard(db, event_id);
    if (!failed(result)) result = write_audit(db, "DISCARD", event_id, "", actor);
    return end(db, result);
}

/* -- all that are FAILED */

struct round {
    int64_t ids[ROUND];
    size_t count;
};

static void note_id(void *arg, struct db_stmt *row) {
    struct round *round = arg;
    if (round->count < ROUND) round->ids[round->count++] = db_i64(row, 0);
}

static void set_id(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    db_set_i64(stmt, first, ((struct round *)arg)->ids[row]);
}

static RESULT change_round(struct db *db, struct round *round, const char *head) {
    struct many many = {.head = head, .group = "?", .tail = ")", .columns = 1, .set = set_id, .arg = round};
    return many_write(db, &many, round->count, NULL);
}

static RESULT replay_round(struct db *db, struct round *round) {
    struct db_stmt *stmt;
    round->count = 0;
    TRY(db_statement(db, "SELECT DISTINCT id FROM outbox_failures WHERE status = 'FAILED' ORDER BY id LIMIT " STRINGIZE(ROUND), &stmt));
    TRY(db_execute(stmt, NULL));
    TRY(many_rows(stmt, note_id, round));
    if (round->count == 0) return OK;
    TRY(change_round(db, round,
                     "UPDATE outbox_failures SET status = 'PENDING', attempts = 0, available_at = " NOW
                     " WHERE status = 'FAILED' AND id IN ("));
    return change_round(db, round, REOPEN "IN (");
}

static RESULT replay_rounds(struct db *db, const struct outbox_actor *actor, int64_t *ret_count) {
    struct round round = {.count = ROUND};
    char detail[64];
    for (*ret_count = 0; round.count == ROUND && *ret_count < OUTBOX_REPLAY_MAX; *ret_count += (int64_t)round.count)
        TRY(replay_round(db, &round));
    (void)text_format(detail, sizeof detail, "%lld FAILED events", (long long)*ret_count);
    return write_audit(db, "REPLAY", "", detail, actor);
}

RESULT outbox_replay_failed(struct db *db, const struct outbox_actor *actor, int64_t *ret_count) {
    TRY(db_begin(db));
    return end(db, replay_rounds(db, actor, ret_count));
}
