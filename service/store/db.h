/* One MySQL/MariaDB connection with prepared statements: sole user of <mysql.h>, with its neighbours in store/.
   A connection belongs to one thread at a time. Session: READ COMMITTED, time_zone '+00:00', CLIENT_FOUND_ROWS
   (affected rows = matched rows), strict SQL mode, innodb_lock_wait_timeout=1, utf8mb4. Errors are ours
   (base/errors.def), native = MySQL errno. */
#pragma once

#include "base/result.h"

#include <stddef.h>

struct db;
struct db_stmt;

enum db_tls {
    DB_TLS_OFF,       /* the default on loopback and sockets, where nobody stands between */
    DB_TLS_PREFERRED, /* the default elsewhere: encrypted when the server can; whoever stands between can undo it */
    DB_TLS_REQUIRED,  /* encrypted or not at all, to whoever answers */
    DB_TLS_VERIFIED,  /* and the server's certificate is for this host, signed by an authority of tls_ca */
};

struct db_options {
    char host[256], user[128], password[256], database[128], socket[256]; /* socket non-empty wins over host */
    uint16_t port;
    int connect_timeout_s, io_timeout_s;
    enum db_tls tls;
    char tls_ca[256]; /* path of a PEM file; non-empty exactly with DB_TLS_VERIFIED */
};

/* mysql_library_init; once, before the first thread. db_library_end after the last. */
void db_library_start(void);
void db_library_end(void);
/* Per worker thread, around its use of connections. */
void db_thread_start(void);
void db_thread_end(void);

/* mysql://user:pass@host:port/database or mysql://user:pass@/database?socket=/path, options socket, tls (off,
 * preferred, required, verified) and tls-ca joined by &; percent-decoded. INVALID_REQUEST when malformed. */
RESULT db_options_parse(const char *url, struct db_options *ret);

/* Connects and sets the session. STORE_DOWN on failure. */
RESULT db_open(const struct db_options *options, struct db **ret);
/* For a thread that keeps one connection: opens *db when there is none, or when the one it has is not usable any more.
 * *db is NULL after a failure. */
RESULT db_renew(const struct db_options *options, struct db **db);
/* Takes NULL, returns NULL; never blocks for long. */
struct db *db_close(struct db *db);
/* False after any error that leaves the connection's state unknown (lost, out of sync): close it, do not reuse. */
bool db_is_usable(const struct db *db);
/* Asks the server for a sign of life; false: dead and no longer usable. Waits at most the io timeout. */
bool db_ping(struct db *db);
/* Server-side id of the connection, for KILL. */
uint64_t db_connection_id(const struct db *db);
/* @@server_uuid (MySQL) or @@hostname ‖ @@port ‖ @@server_uid (MariaDB) read at connect: another value = another server
 * or data. */
const char *db_server_identity(const struct db *db);

/* Runs one statement given as text, without parameters; results are discarded. ret_affected may be NULL. */
RESULT db_run(struct db *db, const char *sql, uint64_t *ret_affected);

/* The number that one statement without parameters finds: first column of the first row; 0 without a row. */
RESULT db_number(struct db *db, const char *sql, int64_t *ret);

/* START TRANSACTION. */
RESULT db_begin(struct db *db);
/* Sends COMMIT. COMMIT_UNKNOWN when the answer never came (the connection is then unusable). Refuses with INTERNAL,
 * without sending, when no transaction is open. */
RESULT db_commit(struct db *db);
/* ROLLBACK; on failure the connection is unusable, and that is all (the server rolls back by itself). */
void db_rollback(struct db *db);

/* The prepared statement of this text, prepared at the first use and cached per connection (bounded; the oldest is
 * dropped). */
RESULT db_statement(struct db *db, const char *sql, struct db_stmt **ret);
/* Parameters, index from 0. Text is borrowed until db_execute returns. */
void db_set_i64(struct db_stmt *stmt, unsigned index, int64_t value);
void db_set_text(struct db_stmt *stmt, unsigned index, const char *data, size_t len);
void db_set_str(struct db_stmt *stmt, unsigned index, const char *s);         /* "" is stored as "" */
void db_set_str_or_null(struct db_stmt *stmt, unsigned index, const char *s); /* "" and NULL are stored as NULL */
/* Bytes without a character set, for BINARY columns. Borrowed like text. */
void db_set_bytes(struct db_stmt *stmt, unsigned index, const void *data, size_t len);
void db_set_null(struct db_stmt *stmt, unsigned index);
/* DATETIME(3)/(6) from Unix milliseconds; 0 = NULL. */
void db_set_time(struct db_stmt *stmt, unsigned index, int64_t unix_ms);
/* Executes; every parameter has been set since the last execute or keeps its value. ret_affected (may be NULL) counts
   matched rows. For a SELECT the rows are then fetched by db_next until it says no more. */
RESULT db_execute(struct db_stmt *stmt, uint64_t *ret_affected);
/* Id of the AUTO_INCREMENT row just inserted. */
int64_t db_insert_id(struct db_stmt *stmt);
/* Next row; *ret_row false at the end (the result is then freed). Stop early with db_finish. */
RESULT db_next(struct db_stmt *stmt, bool *ret_row);
void db_finish(struct db_stmt *stmt);
/* Columns of the current row, index from 0. Text is valid until the next db_next. */
int64_t db_i64(struct db_stmt *stmt, unsigned column);
bool db_is_null(struct db_stmt *stmt, unsigned column);
const char *db_text(struct db_stmt *stmt, unsigned column, size_t *ret_len); /* ret_len may be NULL; "" for NULL */
void db_copy_text(struct db_stmt *stmt, unsigned column, char *out, size_t size);
int64_t db_time(struct db_stmt *stmt, unsigned column); /* DATETIME → Unix milliseconds; 0 for NULL */

/* A SELECT of many ids or an INSERT of many rows is prepared in a few sizes only. chunk sizes are powers of two up to
   DB_CHUNK_MAX; db_chunk(n) is the largest that is ≤ n. db_chunk_up(n) is the smallest that is ≥ n (n ≤ DB_CHUNK_MAX),
   for IN lists padded by repeating an id. */
#define DB_CHUNK_MAX 256
size_t db_chunk(size_t n);
size_t db_chunk_up(size_t n);
/* head ‖ group ‖ "," ‖ group … (count times) ‖ tail, e.g. ("INSERT … VALUES ", "(?,?)", 4, ""), prepared and cached
 * like db_statement. */
RESULT db_statement_many(struct db *db, const char *head, const char *group, size_t count, const char *tail,
                         struct db_stmt **ret);
