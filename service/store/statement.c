/* Prepared statements of one connection: cache, parameters, execute.
   1. A statement is named by its parts (struct db_sql); its text is built only when it is prepared.
   2. The cache is bounded; the statement used longest ago is dropped.
   3. Numbers and times live in the statement's own slots, so setting them needs no new bind; text is bound where the
      caller keeps it.
   4. A result is read whole by db_execute: errors in the middle of it surface there, and the connection is free. */
#include "base/memory.h"
#include "base/text.h"
#include "store/db_internal.h"
#include "store/db_time.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define HASH_START UINT64_C(14695981039346656037)
#define HASH_PRIME UINT64_C(1099511628211)
#define STATEMENT_TEXT_MAX ((size_t)1 << 20)

static uint64_t hash_add(uint64_t hash, const char *s) {
    for (; *s != '\0'; s++) hash = (hash ^ (unsigned char)*s) * HASH_PRIME;
    return hash * HASH_PRIME;
}

static uint64_t hash_of(const struct db_sql *sql) {
    uint64_t hash = hash_add(hash_add(HASH_START, sql->head), sql->group);
    return (hash_add(hash_add(hash, sql->separator), sql->tail) ^ sql->count) * HASH_PRIME;
}

static bool is_same(const struct db_sql *a, const struct db_sql *b) {
    return a->count == b->count && strcmp(a->head, b->head) == 0 && strcmp(a->group, b->group) == 0 &&
           strcmp(a->separator, b->separator) == 0 && strcmp(a->tail, b->tail) == 0;
}

static struct db_stmt *find(struct db *db, const struct db_sql *sql, uint64_t hash) {
    LIST_FOR(node, &db->statements) {
        struct db_stmt *stmt = CONTAINER_OF(node, struct db_stmt, node);
        if (stmt->hash == hash && is_same(&stmt->sql, sql)) return stmt;
    }
    return NULL;
}

static struct db_sql sql_copy(const struct db_sql *sql) {
    return (struct db_sql){.head = mem_copy(sql->head, strlen(sql->head)),
                           .group = mem_copy(sql->group, strlen(sql->group)),
                           .separator = mem_copy(sql->separator, strlen(sql->separator)),
                           .tail = mem_copy(sql->tail, strlen(sql->tail)),
                           .count = sql->count};
}

static void sql_free(struct db_sql *sql) {
    free((char *)sql->head);
    free((char *)sql->group);
    free((char *)sql->separator);
    free((char *)sql->tail);
}

void db_stmt_free(struct db_stmt *stmt) {
    if (stmt->has_rows && stmt->db->usable) mysql_stmt_free_result(stmt->handle);
    if (stmt->handle != NULL) mysql_stmt_close(stmt->handle);
    db_columns_free(stmt);
    free(stmt->binds);
    free(stmt->params);
    sql_free(&stmt->sql);
    free(stmt);
}

static void build_text(const struct db_sql *sql, struct text *out) {
    text_add_str(out, sql->head);
    for (size_t i = 0; i < sql->count; i++) {
        if (i > 0) text_add_str(out, sql->separator);
        text_add_str(out, sql->group);
    }
    text_add_str(out, sql->tail);
}

static RESULT prepare(struct db_stmt *stmt) {
    AUTO_TEXT text = text_new(STATEMENT_TEXT_MAX);
    build_text(&stmt->sql, &text);
    if (text.overflow) FAIL(INTERNAL, 0);
    stmt->handle = mysql_stmt_init(stmt->db->mysql);
    if (stmt->handle == NULL) DB_FAIL(stmt->db);
    if (mysql_stmt_prepare(stmt->handle, text_str(&text), text.len) != 0) DB_STMT_FAIL(stmt);
    stmt->param_count = (unsigned)mysql_stmt_param_count(stmt->handle);
    stmt->binds = mem_array(stmt->param_count + 1, sizeof *stmt->binds); /* + 1: never an empty array */
    stmt->params = mem_array(stmt->param_count + 1, sizeof *stmt->params);
    for (unsigned i = 0; i < stmt->param_count; i++) db_set_null(stmt, i);
    return db_columns_make(stmt);
}

static RESULT make(struct db *db, const struct db_sql *sql, uint64_t hash, struct db_stmt **ret) {
    struct db_stmt *stmt = mem_new(sizeof *stmt);
    *stmt = (struct db_stmt){.db = db, .hash = hash, .sql = sql_copy(sql)};
    list_init(&stmt->node);
    struct result r = prepare(stmt);
    if (failed(r)) {
        db_stmt_free(stmt);
        return r;
    }
    *ret = stmt;
    return OK;
}

static void drop(struct db *db, struct db_stmt *stmt) {
    list_remove(&stmt->node);
    db_stmt_free(stmt);
    db->statement_count--;
}

static void drop_oldest(struct db *db) { drop(db, CONTAINER_OF(db->statements.prev, struct db_stmt, node)); }

static struct db_stmt *find_sound(struct db *db, const struct db_sql *sql, uint64_t hash) {
    struct db_stmt *stmt = find(db, sql, hash);
    if (stmt == NULL || !stmt->broken) return stmt;
    drop(db, stmt);
    return NULL;
}

RESULT db_statement_of(struct db *db, const struct db_sql *sql, struct db_stmt **ret) {
    if (!db->usable) FAIL(STORE_LOST, 0);
    uint64_t hash = hash_of(sql);
    struct db_stmt *stmt = find_sound(db, sql, hash);
    if (stmt == NULL) {
        if (db->statement_count == DB_STATEMENTS_MAX) drop_oldest(db);
        TRY(make(db, sql, hash, &stmt));
        db->statement_count++;
    }
    list_remove(&stmt->node);
    list_push_front(&db->statements, &stmt->node);
    *ret = stmt;
    return OK;
}

RESULT db_statement_many(struct db *db, const char *head, const char *group, size_t count, const char *tail,
                         struct db_stmt **ret) {
    struct db_sql sql = {head, group, ",", tail, count};
    return db_statement_of(db, &sql, ret);
}

RESULT db_statement(struct db *db, const char *sql, struct db_stmt **ret) {
    return db_statement_many(db, sql, "", 0, "", ret);
}

/* MySQL's library makes room for what `length` says, also for numbers and times, whose lengths it only knows when there
   is none. */
static unsigned long *length_of(struct db_param *param, enum enum_field_types type) {
    return type == MYSQL_TYPE_STRING || type == MYSQL_TYPE_BLOB ? &param->len : NULL;
}

/* The slot of a parameter, its bind made to point at `buffer` with this type. */
static struct db_param *slot(struct db_stmt *stmt, unsigned index, enum enum_field_types type, const void *buffer) {
    assert(index < stmt->param_count);
    MYSQL_BIND *bind = &stmt->binds[index];
    struct db_param *param = &stmt->params[index];
    param->is_null = 0;
    if (bind->buffer_type == type && bind->buffer == buffer && bind->is_null == &param->is_null) return param;
    bind->buffer_type = type;
    bind->buffer = (void *)buffer; /* the library only reads parameters */
    bind->is_null = &param->is_null;
    bind->length = length_of(param, type);
    stmt->rebind = true;
    return param;
}

void db_set_i64(struct db_stmt *stmt, unsigned index, int64_t value) {
    slot(stmt, index, MYSQL_TYPE_LONGLONG, &stmt->params[index].value)->value.num = value;
}

void db_set_text(struct db_stmt *stmt, unsigned index, const char *data, size_t len) {
    slot(stmt, index, MYSQL_TYPE_STRING, data)->len = len;
    stmt->binds[index].buffer_length = len;
}

void db_set_bytes(struct db_stmt *stmt, unsigned index, const void *data, size_t len) {
    slot(stmt, index, MYSQL_TYPE_BLOB, data)->len = len;
    stmt->binds[index].buffer_length = len;
}

void db_set_str(struct db_stmt *stmt, unsigned index, const char *s) { db_set_text(stmt, index, s, strlen(s)); }

void db_set_str_or_null(struct db_stmt *stmt, unsigned index, const char *s) {
    db_set_str(stmt, index, s != NULL ? s : "");
    if (s == NULL || s[0] == '\0') stmt->params[index].is_null = 1;
}

void db_set_null(struct db_stmt *stmt, unsigned index) {
    slot(stmt, index, MYSQL_TYPE_LONGLONG, &stmt->params[index].value)->is_null = 1;
}

static void set_time_value(MYSQL_TIME *out, int64_t unix_ms) {
    struct civil c = civil_of(unix_ms);
    *out = (MYSQL_TIME){.year = c.year,
                        .month = c.month,
                        .day = c.day,
                        .hour = c.hour,
                        .minute = c.minute,
                        .second = c.second,
                        .second_part = c.microsecond,
                        .time_type = MYSQL_TIMESTAMP_DATETIME};
}

void db_set_time(struct db_stmt *stmt, unsigned index, int64_t unix_ms) {
    struct db_param *param = slot(stmt, index, MYSQL_TYPE_DATETIME, &stmt->params[index].value);
    if (unix_ms == 0)
        param->is_null = 1;
    else
        set_time_value(&param->value.time, unix_ms);
}

static RESULT bind_params(struct db_stmt *stmt) {
    if (!stmt->rebind || stmt->param_count == 0) return OK;
    if (mysql_stmt_bind_param(stmt->handle, stmt->binds) != 0) DB_STMT_FAIL(stmt);
    stmt->rebind = false;
    return OK;
}

RESULT db_execute(struct db_stmt *stmt, uint64_t *ret_affected) {
    if (!stmt->db->usable) FAIL(STORE_LOST, 0);
    if (stmt->broken) FAIL(INTERNAL, 0);
    db_finish(stmt);
    TRY(bind_params(stmt));
    if (mysql_stmt_execute(stmt->handle) != 0) DB_STMT_FAIL(stmt);
    if (stmt->column_count > 0) return db_rows_store(stmt);
    if (ret_affected != NULL) *ret_affected = mysql_stmt_affected_rows(stmt->handle);
    return OK;
}

int64_t db_insert_id(struct db_stmt *stmt) { return (int64_t)mysql_stmt_insert_id(stmt->handle); }
