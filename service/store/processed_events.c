/* Events that have had their effect. Rows are inserted sorted by their key, so that two instances with the same events
   meet in one order: one waits and then learns DUPLICATE. */
#include "store/many.h"
#include "store/tables.h"

struct reader {
    void (*fn)(void *arg, const struct processed_event *row);
    void *arg;
};

static void pass_row(void *arg, struct db_stmt *row) {
    struct reader *reader = arg;
    struct processed_event found;
    db_copy_text(row, 0, found.event_id, sizeof found.event_id);
    db_copy_text(row, 1, found.consumer_group, sizeof found.consumer_group);
    reader->fn(reader->arg, &found);
}

static void set_id(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    db_set_str(stmt, first, ((const char *const *)arg)[row]);
}

/* By id alone: few groups share an event, and a list of pairs is no range for every server. */
RESULT processed_events_find(struct db *db, const char *const *event_ids, size_t count,
                             void (*fn)(void *arg, const struct processed_event *row), void *arg) {
    struct reader reader = {fn, arg};
    struct many many = {.head = "SELECT event_id, consumer_group FROM processed_events WHERE event_id IN (",
                        .group = "?",
                        .tail = ")",
                        .columns = 1,
                        .set = set_id,
                        .arg = (void *)event_ids};
    return many_read(db, &many, count, pass_row, &reader);
}

struct events {
    const struct processed_event *const *rows;
    int64_t now_ms;
};

static void set_event(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    const struct events *events = arg;
    db_set_str(stmt, first, events->rows[row]->event_id);
    db_set_str(stmt, first + 1, events->rows[row]->consumer_group);
    db_set_time(stmt, first + 2, events->now_ms);
}

RESULT processed_events_insert(struct db *db, const struct processed_event *const *rows, size_t count, int64_t now_ms) {
    struct events events = {rows, now_ms};
    struct many many = {.head = "INSERT INTO processed_events (event_id, consumer_group, processed_at) VALUES ",
                        .group = "(?,?,?)",
                        .tail = "",
                        .columns = 3,
                        .set = set_event,
                        .arg = &events};
    return many_write(db, &many, count, NULL);
}
