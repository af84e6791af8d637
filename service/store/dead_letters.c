#include "store/dead_letters.h"

#include "store/many.h"

#include <string.h>

#define INSERT                                                                                                         \
    "INSERT INTO dead_letters (topic, consumer_group, position, event_id, error, payload, traceparent, created_at) "   \
    "VALUES (?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(3)) ON DUPLICATE KEY UPDATE position = VALUES(position)"
#define COLUMNS                                                                                                        \
    "id, topic, consumer_group, position, event_id, error, traceparent, status, created_at, settled_at, "              \
    "LENGTH(payload), "
#define PAGE "SELECT " COLUMNS "LEFT(payload, ?) FROM dead_letters WHERE "
#define PAGE_TAIL "id < ? ORDER BY id DESC LIMIT ?"

RESULT dead_letters_insert(struct db *db, const struct dead_letter *letter) {
    struct db_stmt *stmt;
    TRY(db_statement(db, INSERT, &stmt));
    db_set_str(stmt, 0, letter->topic);
    db_set_str(stmt, 1, letter->consumer_group);
    db_set_str(stmt, 2, letter->position);
    db_set_str_or_null(stmt, 3, letter->event_id);
    db_set_str(stmt, 4, letter->error);
    db_set_bytes(stmt, 5, letter->payload, letter->payload_len);
    db_set_str_or_null(stmt, 6, letter->traceparent);
    return db_execute(stmt, NULL);
}

static void take_row(struct db_stmt *row, struct dead_letter *ret) {
    *ret = (struct dead_letter){.id = db_i64(row, 0),
                                .created_at_ms = db_time(row, 8),
                                .settled_at_ms = db_time(row, 9),
                                .payload_bytes = (size_t)db_i64(row, 10)};
    db_copy_text(row, 1, ret->topic, sizeof ret->topic);
    db_copy_text(row, 2, ret->consumer_group, sizeof ret->consumer_group);
    db_copy_text(row, 3, ret->position, sizeof ret->position);
    db_copy_text(row, 4, ret->event_id, sizeof ret->event_id);
    db_copy_text(row, 5, ret->error, sizeof ret->error);
    db_copy_text(row, 6, ret->traceparent, sizeof ret->traceparent);
    db_copy_text(row, 7, ret->status, sizeof ret->status);
    ret->payload = db_text(row, 11, &ret->payload_len);
}

struct letter_reader {
    void (*fn)(void *arg, const struct dead_letter *row);
    void *arg;
};

static void pass_row(void *arg, struct db_stmt *row) {
    const struct letter_reader *reader = arg;
    struct dead_letter letter;
    take_row(row, &letter);
    reader->fn(reader->arg, &letter);
}

RESULT dead_letters_list(struct db *db, const struct dead_letters_page *page,
                         void (*fn)(void *arg, const struct dead_letter *row), void *arg) {
    struct letter_reader reader = {fn, arg};
    struct db_stmt *stmt;
    unsigned param = 0;
    bool any = page->status[0] == '\0';
    TRY(db_statement(db, any ? PAGE PAGE_TAIL : PAGE "status = ? AND " PAGE_TAIL, &stmt));
    db_set_i64(stmt, param++, (int64_t)page->payload_max);
    if (!any) db_set_str(stmt, param++, page->status);
    db_set_i64(stmt, param++, page->before_id);
    db_set_i64(stmt, param, (int64_t)page->limit);
    TRY(db_execute(stmt, NULL));
    return many_rows(stmt, pass_row, &reader);
}

RESULT dead_letters_read(struct db *db, int64_t id, void (*fn)(void *arg, const struct dead_letter *row), void *arg) {
    struct letter_reader reader = {fn, arg};
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, "SELECT " COLUMNS "payload FROM dead_letters WHERE id = ?", &stmt));
    db_set_i64(stmt, 0, id);
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) FAIL(NOT_FOUND, 0);
    pass_row(&reader, stmt);
    db_finish(stmt);
    return OK;
}

static RESULT write_audit(struct db *db, const struct dead_letter_act *act) {
    struct db_stmt *stmt;
    TRY(db_statement(db,
                     "INSERT INTO dead_letter_audit (dead_letter_id, action, outcome, credential, request_id, at) "
                     "VALUES (?, ?, ?, ?, ?, UTC_TIMESTAMP(6))",
                     &stmt));
    db_set_i64(stmt, 0, act->id);
    db_set_str(stmt, 1, act->action);
    db_set_str(stmt, 2, act->outcome);
    db_set_str(stmt, 3, act->credential);
    db_set_str(stmt, 4, act->request_id);
    return db_execute(stmt, NULL);
}

static RESULT settle(struct db *db, const struct dead_letter_act *act) {
    struct db_stmt *stmt;
    if (act->to != NULL) {
        TRY(db_statement(db,
                         "UPDATE dead_letters SET status = ?, settled_at = UTC_TIMESTAMP(3) "
                         "WHERE id = ? AND status = 'OPEN'",
                         &stmt));
        db_set_str(stmt, 0, act->to);
        db_set_i64(stmt, 1, act->id);
        TRY(db_execute(stmt, NULL));
    }
    return write_audit(db, act);
}

RESULT dead_letters_settle(struct db *db, const struct dead_letter_act *act) {
    TRY(db_begin(db));
    struct result result = settle(db, act);
    if (!failed(result)) return db_commit(db);
    db_rollback(db);
    return result;
}

RESULT dead_letters_count(struct db *db, int64_t *ret) {
    return db_number(db, "SELECT COUNT(*) FROM dead_letters WHERE status = 'OPEN'", ret);
}
