/* The rows of an executed statement. Each column is bound once as a number, a time or text, by its type in the table; a
   text that does not fit its buffer is fetched again into a larger one, which is then kept. */
#include "base/memory.h"
#include "store/db_internal.h"
#include "store/db_time.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE_MIN 16
#define TEXT_SIZE_START 1024 /* larger columns start here and grow with what they really hold */

static enum enum_field_types bound_type(enum enum_field_types type) {
    switch (type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_YEAR:
    case MYSQL_TYPE_DECIMAL:
    case MYSQL_TYPE_NEWDECIMAL:
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
        return MYSQL_TYPE_LONGLONG;
    case MYSQL_TYPE_DATE:
    case MYSQL_TYPE_DATETIME:
    case MYSQL_TYPE_TIMESTAMP:
        return MYSQL_TYPE_DATETIME;
    default:
        return MYSQL_TYPE_STRING;
    }
}

static unsigned long start_size(unsigned long width) {
    if (width > TEXT_SIZE_START) return TEXT_SIZE_START;
    return width < TEXT_SIZE_MIN ? TEXT_SIZE_MIN : width + 1;
}

static void bind_text(MYSQL_BIND *out, struct db_column *column, unsigned long size) {
    column->data = mem_grow(column->data, size, 1);
    column->size = size;
    out->buffer = column->data;
    out->buffer_length = size - 1;
}

static void bind_column(MYSQL_BIND *out, struct db_column *column, const MYSQL_FIELD *field) {
    out->buffer_type = bound_type(field->type);
    out->is_null = &column->is_null;
    out->length = &column->len;
    out->error = &column->cut;
    if (out->buffer_type == MYSQL_TYPE_LONGLONG)
        out->buffer = &column->num;
    else if (out->buffer_type == MYSQL_TYPE_DATETIME)
        out->buffer = &column->time;
    else
        bind_text(out, column, start_size(field->length));
}

RESULT db_columns_make(struct db_stmt *stmt) {
    MYSQL_RES *meta = mysql_stmt_result_metadata(stmt->handle);
    if (meta == NULL) {
        if (mysql_stmt_errno(stmt->handle) != 0) DB_STMT_FAIL(stmt);
        return OK; /* no rows to come: INSERT, UPDATE … */
    }
    stmt->column_count = mysql_num_fields(meta);
    stmt->outs = mem_array(stmt->column_count, sizeof *stmt->outs);
    stmt->columns = mem_array(stmt->column_count, sizeof *stmt->columns);
    for (unsigned i = 0; i < stmt->column_count; i++)
        bind_column(&stmt->outs[i], &stmt->columns[i], mysql_fetch_field_direct(meta, i));
    mysql_free_result(meta);
    return OK;
}

void db_columns_free(struct db_stmt *stmt) {
    for (unsigned i = 0; i < stmt->column_count; i++) free(stmt->columns[i].data);
    free(stmt->columns);
    free(stmt->outs);
}

/* A locking SELECT can fail after its first packets (1205, 1213). MariaDB's library then believes that rows are still
   to come, and the next execute of the same handle waits for them until the io timeout. */
RESULT db_rows_store(struct db_stmt *stmt) {
    stmt->broken = true;
    if (mysql_stmt_bind_result(stmt->handle, stmt->outs) != 0) DB_STMT_FAIL(stmt);
    if (mysql_stmt_store_result(stmt->handle) != 0) DB_STMT_FAIL(stmt);
    stmt->broken = false;
    stmt->has_rows = true;
    return OK;
}

static RESULT refetch_cut(struct db_stmt *stmt) {
    for (unsigned i = 0; i < stmt->column_count; i++) {
        struct db_column *column = &stmt->columns[i];
        if (stmt->outs[i].buffer_type != MYSQL_TYPE_STRING || column->is_null || column->len < column->size) continue;
        bind_text(&stmt->outs[i], column, column->len + 1);
        if (mysql_stmt_fetch_column(stmt->handle, &stmt->outs[i], i, 0) != 0) DB_STMT_FAIL(stmt);
    }
    if (mysql_stmt_bind_result(stmt->handle, stmt->outs) != 0) DB_STMT_FAIL(stmt);
    return OK;
}

static void end_texts(struct db_stmt *stmt) {
    for (unsigned i = 0; i < stmt->column_count; i++) {
        struct db_column *column = &stmt->columns[i];
        if (column->data != NULL) column->data[column->is_null ? 0 : column->len] = '\0';
    }
}

RESULT db_next(struct db_stmt *stmt, bool *ret_row) {
    *ret_row = false;
    if (!stmt->has_rows) return OK;
    int status = mysql_stmt_fetch(stmt->handle);
    if (status == MYSQL_NO_DATA) {
        db_finish(stmt);
        return OK;
    }
    if (status != 0 && status != MYSQL_DATA_TRUNCATED) DB_STMT_FAIL(stmt);
    if (status == MYSQL_DATA_TRUNCATED) TRY(refetch_cut(stmt));
    end_texts(stmt);
    *ret_row = true;
    return OK;
}

void db_finish(struct db_stmt *stmt) {
    if (!stmt->has_rows) return;
    stmt->has_rows = false;
    mysql_stmt_free_result(stmt->handle);
}

static struct db_column *column_at(struct db_stmt *stmt, unsigned index, enum enum_field_types type) {
    assert(index < stmt->column_count && stmt->outs[index].buffer_type == type);
    return &stmt->columns[index];
}

bool db_is_null(struct db_stmt *stmt, unsigned column) { return stmt->columns[column].is_null != 0; }

int64_t db_i64(struct db_stmt *stmt, unsigned column) {
    struct db_column *c = column_at(stmt, column, MYSQL_TYPE_LONGLONG);
    return c->is_null ? 0 : c->num;
}

const char *db_text(struct db_stmt *stmt, unsigned column, size_t *ret_len) {
    struct db_column *c = column_at(stmt, column, MYSQL_TYPE_STRING);
    if (ret_len != NULL) *ret_len = c->is_null ? 0 : c->len;
    return c->data;
}

void db_copy_text(struct db_stmt *stmt, unsigned column, char *out, size_t size) {
    size_t len;
    const char *data = db_text(stmt, column, &len);
    if (len >= size) len = size - 1;
    memcpy(out, data, len);
    out[len] = '\0';
}

int64_t db_time(struct db_stmt *stmt, unsigned column) {
    struct db_column *c = column_at(stmt, column, MYSQL_TYPE_DATETIME);
    if (c->is_null) return 0;
    struct civil civil = {c->time.year,
                          c->time.month,
                          c->time.day,
                          c->time.hour,
                          c->time.minute,
                          c->time.second,
                          (unsigned)c->time.second_part};
    return civil_to_ms(&civil);
}
