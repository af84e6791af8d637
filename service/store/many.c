/* A prepared statement per size would be thousands; powers of two make at most nine a family. Rows are not padded (they
   would be written), key lists are (a repeated key selects nothing new). */
#include "store/many.h"

#include "store/db_internal.h"

#include <assert.h>
#include <string.h>

static_assert((DB_CHUNK_MAX & (DB_CHUNK_MAX - 1)) == 0, "sizes are powers of two");

size_t db_chunk(size_t n) {
    size_t chunk = DB_CHUNK_MAX;
    while (chunk > 1 && chunk > n) chunk /= 2;
    return chunk;
}

size_t db_chunk_up(size_t n) {
    size_t chunk = 1;
    while (chunk < n && chunk < DB_CHUNK_MAX) chunk *= 2;
    return chunk;
}

static RESULT statement_of(struct db *db, const struct many *many, size_t size, struct db_stmt **ret) {
    struct db_sql sql = {many->head, many->group, many->separator != NULL ? many->separator : ",", many->tail, size};
    return db_statement_of(db, &sql, ret);
}

RESULT many_write(struct db *db, const struct many *many, size_t count, uint64_t *ret_affected) {
    uint64_t total = 0, affected = 0;
    for (size_t done = 0, size; done < count; done += size) {
        struct db_stmt *stmt;
        size = db_chunk(count - done);
        TRY(statement_of(db, many, size, &stmt));
        for (size_t i = 0; i < size; i++) many->set(stmt, (unsigned)i * many->columns, many->arg, done + i);
        TRY(db_execute(stmt, &affected));
        total += affected;
    }
    if (ret_affected != NULL) *ret_affected = total;
    return OK;
}

RESULT many_rows(struct db_stmt *stmt, void (*fn)(void *arg, struct db_stmt *row), void *fn_arg) {
    bool row;
    for (;;) {
        TRY(db_next(stmt, &row));
        if (!row) return OK;
        fn(fn_arg, stmt);
    }
}

RESULT many_read(struct db *db, const struct many *many, size_t count, void (*fn)(void *arg, struct db_stmt *row),
                 void *fn_arg) {
    for (size_t done = 0, used; done < count; done += used) {
        struct db_stmt *stmt;
        used = count - done < DB_CHUNK_MAX ? count - done : DB_CHUNK_MAX;
        size_t size = db_chunk_up(used);
        TRY(statement_of(db, many, size, &stmt));
        for (size_t i = 0; i < size; i++)
            many->set(stmt, (unsigned)i * many->columns, many->arg, done + (i < used ? i : used - 1));
        TRY(db_execute(stmt, NULL));
        TRY(many_rows(stmt, fn, fn_arg));
    }
    return OK;
}

static void set_id(struct db_stmt *stmt, unsigned first, void *arg, size_t row) {
    db_set_i64(stmt, first, ((const int64_t *)arg)[row]);
}

RESULT many_read_ids(struct db *db, const struct many_ids *ids, void (*fn)(void *arg, struct db_stmt *row),
                     void *fn_arg) {
    struct many many = {
        .head = ids->head, .group = "?", .tail = ids->tail, .columns = 1, .set = set_id, .arg = (void *)ids->ids};
    return many_read(db, &many, ids->count, fn, fn_arg);
}

/* Walks an ascending array beside ascending result rows. */
struct walk {
    const struct many_ids *ids;
    bool *found;
    size_t at;
};

static void mark_found(void *arg, struct db_stmt *row) {
    struct walk *walk = arg;
    int64_t id = db_i64(row, 0);
    while (walk->at < walk->ids->count && walk->ids->ids[walk->at] < id) walk->at++;
    if (walk->at < walk->ids->count && walk->ids->ids[walk->at] == id) walk->found[walk->at] = true;
}

RESULT many_exist(struct db *db, const struct many_ids *ids, bool *found) {
    struct walk walk = {ids, found, 0};
    memset(found, 0, ids->count * sizeof *found);
    return many_read_ids(db, ids, mark_found, &walk);
}
