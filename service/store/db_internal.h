/* What db.c (connection) and the files of prepared statements share. Nobody else includes it. */
#pragma once

#include "base/list.h"
#include "store/db.h"

#include <mysql.h>
/* MariaDB's header brings a list of its own, as macros. */
#undef list_push
#undef list_pop
#undef list_rest

/* my_bool in MariaDB's library, bool in MySQL's. */
typedef __typeof__(*((MYSQL_BIND *)0)->is_null) db_bool;

#define DB_STATEMENTS_MAX 256 /* per connection: about 20 single statements and 12 families of 9 sizes */
#define DB_IDENTITY_SIZE 256

/* What shedlock_table.c found of its table and shedlock_guard.c of its server, once a connection. */
struct shedlock_shape {
    bool is_good, is_writable;
    int64_t name_max, by_max; /* characters */
};

struct db {
    MYSQL *mysql;
    bool usable;  /* false: state unknown, only db_close is left */
    bool aborted; /* the server rolled the transaction back by itself: COMMIT would lie */
    char identity[DB_IDENTITY_SIZE];
    struct list statements; /* struct db_stmt.node, last used first */
    size_t statement_count;
    struct shedlock_shape shedlock;
};

/* One parameter's memory; its MYSQL_BIND points here for numbers and times, at the caller's memory for text. */
struct db_param {
    union {
        int64_t num;
        MYSQL_TIME time;
    } value;
    unsigned long len;
    db_bool is_null;
};

/* One column of the current row. */
struct db_column {
    int64_t num;
    MYSQL_TIME time;
    char *data; /* text: size bytes, the last one kept for the NUL */
    unsigned long size, len;
    db_bool is_null, cut;
};

/* The text of a statement: head ‖ group ‖ separator ‖ group … (count times) ‖ tail. */
struct db_sql {
    const char *head, *group, *separator, *tail;
    size_t count;
};

struct db_stmt {
    struct db *db;
    MYSQL_STMT *handle;
    struct list node;
    uint64_t hash;     /* of the sql */
    struct db_sql sql; /* its texts are owned */
    unsigned param_count;
    MYSQL_BIND *binds; /* param_count of them */
    struct db_param *params;
    bool rebind; /* a bind changed its type or address since the library last copied them */
    unsigned column_count;
    MYSQL_BIND *outs;
    struct db_column *columns;
    bool has_rows; /* a result is stored and not yet freed */
    bool broken;   /* its result failed half way: prepared anew at the next use (see row.c) */
};

/* Remembers in db what the error says of the connection; the result names `where`. */
struct result db_fail(struct db *db, unsigned number, const char *sqlstate, const char *where);
#define DB_FAIL(db_) return db_fail((db_), mysql_errno((db_)->mysql), mysql_sqlstate((db_)->mysql), HERE)
#define DB_STMT_FAIL(stmt_)                                                                                            \
    return db_fail((stmt_)->db, mysql_stmt_errno((stmt_)->handle), mysql_stmt_sqlstate((stmt_)->handle), HERE)

/* As db_statement_many. */
RESULT db_statement_of(struct db *db, const struct db_sql *sql, struct db_stmt **ret);
/* statement.c: frees; safe after mysql_close. */
void db_stmt_free(struct db_stmt *stmt);
/* row.c: the memory of the columns, from the prepared statement's metadata; and its end. */
RESULT db_columns_make(struct db_stmt *stmt);
void db_columns_free(struct db_stmt *stmt);
/* row.c: after an execute: binds the columns and stores the whole result, so that the connection is free again. */
RESULT db_rows_store(struct db_stmt *stmt);
