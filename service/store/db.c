/* A connection: open with a known session, transactions, and what errors say of its state.
   1. After an error that leaves the state unknown `usable` is false for good; nothing reconnects behind the caller's
   back.
   2. COMMIT is sent only while the server says a transaction is open and nothing has rolled it back: a COMMIT of
   nothing would be answered "done".
   3. Every call is bounded by the connect and io timeouts. */
#include "store/db.h"

#include "base/memory.h"
#include "base/text.h"
#include "store/db_errors.h"
#include "store/db_internal.h"

#include <stdlib.h>
#include <string.h>

/* Metadata locks (a migration at work) are waited for as briefly as rows; the default is a day. */
static const char *const session[] = {
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET time_zone='+00:00', innodb_lock_wait_timeout=1, lock_wait_timeout=5, "
    "sql_mode='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'",
};

/* From the best to what every version knows. */
static const char *const identity_queries[] = {
    "SELECT @@server_uuid",                                  /* MySQL */
    "SELECT CONCAT(@@hostname,'|',@@port,'|',@@server_uid)", /* MariaDB with a server_uid */
    "SELECT CONCAT(@@hostname,'|',@@port,'|',@@datadir)",    /* MariaDB before */
};

#define UNKNOWN_SYSTEM_VARIABLE 1193

void db_library_start(void) {
    if (mysql_library_init(0, NULL, NULL) != 0) __builtin_trap();
}
void db_library_end(void) { mysql_library_end(); }
void db_thread_start(void) {
    if (mysql_thread_init() != 0) __builtin_trap();
}
void db_thread_end(void) { mysql_thread_end(); }

struct result db_fail(struct db *db, unsigned number, const char *sqlstate, const char *where) {
    struct db_error e = db_error_of(number, sqlstate);
    if (e.unusable) db->usable = false;
    if (e.aborted) db->aborted = true;
    return (struct result){(int32_t)e.error, (int32_t)number, where};
}

/* Each mode is spelled out: what the libraries do by themselves differs from one to the other and from year to year.
   What MariaDB's calls to enforce is to try: see is_as_secret_as_asked. */
static void set_tls(MYSQL *mysql, const struct db_options *o) {
    const char *ca = o->tls == DB_TLS_VERIFIED ? o->tls_ca : NULL;
#ifdef MARIADB_BASE_VERSION
    db_bool try = o->tls != DB_TLS_OFF, verify = o->tls == DB_TLS_VERIFIED;
    if (ca != NULL) mysql_options(mysql, MYSQL_OPT_SSL_CA, ca);
    mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &try);
    mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
#else
    static const unsigned modes[] = {[DB_TLS_OFF] = SSL_MODE_DISABLED,
                                     [DB_TLS_PREFERRED] = SSL_MODE_PREFERRED,
                                     [DB_TLS_REQUIRED] = SSL_MODE_REQUIRED,
                                     [DB_TLS_VERIFIED] = SSL_MODE_VERIFY_IDENTITY};
    db_bool ask = 1; /* caching_sha2_password without TLS needs the server's RSA key */
    if (ca != NULL) mysql_options(mysql, MYSQL_OPT_SSL_CA, ca);
    mysql_options(mysql, MYSQL_OPT_SSL_MODE, &modes[o->tls]);
    mysql_options(mysql, MYSQL_OPT_GET_SERVER_PUBLIC_KEY, &ask);
#endif
}

static void set_options(MYSQL *mysql, const struct db_options *o) {
    unsigned connect_s = (unsigned)o->connect_timeout_s, io_s = (unsigned)o->io_timeout_s;
    db_bool report = 1;
    mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s);
    mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &io_s);
    mysql_options(mysql, MYSQL_OPT_WRITE_TIMEOUT, &io_s);
    mysql_options(mysql, MYSQL_REPORT_DATA_TRUNCATION, &report);
    mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    set_tls(mysql, o);
}

static bool is_as_secret_as_asked(MYSQL *mysql, const struct db_options *o) {
    return o->tls < DB_TLS_REQUIRED || mysql_get_ssl_cipher(mysql) != NULL;
}

static const char *null_if_empty(const char *s) { return s[0] != '\0' ? s : NULL; }

static RESULT connect_to(struct db *db, const struct db_options *o) {
    const char *host = o->socket[0] != '\0' ? NULL : o->host;
    unsigned long flags = CLIENT_FOUND_ROWS;
    set_options(db->mysql, o);
    if (mysql_real_connect(db->mysql, host, null_if_empty(o->user), null_if_empty(o->password), o->database, o->port,
                           null_if_empty(o->socket), flags) == NULL)
        DB_FAIL(db);
    if (!is_as_secret_as_asked(db->mysql, o)) FAIL(STORE_DOWN, 0);
    db->usable = true;
    return OK;
}

static RESULT read_one_text(struct db *db, const char *sql, char *out, size_t size) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, sql, &stmt));
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (row) db_copy_text(stmt, 0, out, size);
    db_finish(stmt);
    return OK;
}

static RESULT read_identity(struct db *db) {
    struct result r = OK;
    for (size_t i = 0; i < sizeof identity_queries / sizeof *identity_queries; i++) {
        r = read_one_text(db, identity_queries[i], db->identity, sizeof db->identity);
        if (r.native != UNKNOWN_SYSTEM_VARIABLE) return r;
    }
    return r;
}

static RESULT set_session(struct db *db) {
    for (size_t i = 0; i < sizeof session / sizeof *session; i++) TRY(db_run(db, session[i], NULL));
    return read_identity(db);
}

RESULT db_open(const struct db_options *options, struct db **ret) {
    struct db *db = mem_new(sizeof *db);
    list_init(&db->statements);
    db->mysql = mysql_init(NULL);
    if (db->mysql == NULL) __builtin_trap(); /* out of memory */
    struct result r = connect_to(db, options);
    if (!failed(r)) r = set_session(db);
    if (failed(r)) {
        db_close(db);
        return (struct result){ERROR_STORE_DOWN, r.native, r.where};
    }
    *ret = db;
    return OK;
}

struct db *db_close(struct db *db) {
    if (db == NULL) return NULL;
    mysql_close(db->mysql); /* first: closing a statement afterwards sends nothing */
    for (struct list *node = list_pop(&db->statements); node != NULL; node = list_pop(&db->statements))
        db_stmt_free(CONTAINER_OF(node, struct db_stmt, node));
    free(db);
    return NULL;
}

RESULT db_renew(const struct db_options *options, struct db **db) {
    if (*db != NULL && db_is_usable(*db)) return OK;
    *db = db_close(*db);
    return db_open(options, db);
}

bool db_is_usable(const struct db *db) { return db->usable; }

bool db_ping(struct db *db) {
    if (db->usable && mysql_ping(db->mysql) != 0) db->usable = false;
    return db->usable;
}

uint64_t db_connection_id(const struct db *db) { return mysql_thread_id(db->mysql); }
const char *db_server_identity(const struct db *db) { return db->identity; }

/* Reads off whatever results a statement brought; -1 or 0 from mysql_next_result end it. */
static void discard_results(MYSQL *mysql) {
    do {
        MYSQL_RES *rows = mysql_store_result(mysql);
        if (rows != NULL) mysql_free_result(rows);
    } while (mysql_next_result(mysql) == 0);
}

RESULT db_run(struct db *db, const char *sql, uint64_t *ret_affected) {
    if (!db->usable) FAIL(STORE_LOST, 0);
    if (mysql_real_query(db->mysql, sql, strlen(sql)) != 0) DB_FAIL(db);
    if (ret_affected != NULL) *ret_affected = mysql_field_count(db->mysql) == 0 ? mysql_affected_rows(db->mysql) : 0;
    discard_results(db->mysql);
    if (mysql_errno(db->mysql) != 0) DB_FAIL(db);
    return OK;
}

RESULT db_number(struct db *db, const char *sql, int64_t *ret) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, sql, &stmt));
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    *ret = row ? db_i64(stmt, 0) : 0;
    db_finish(stmt);
    return OK;
}

RESULT db_begin(struct db *db) {
    TRY(db_run(db, "START TRANSACTION", NULL));
    db->aborted = false;
    return OK;
}

/* Certain: the server answered that nothing was committed. Anything else may have been. */
static bool is_surely_not_committed(struct result r) {
    return r.code == ERROR_DEADLOCK || r.code == ERROR_STORE_READ_ONLY;
}

RESULT db_commit(struct db *db) {
    if (!db->usable) FAIL(STORE_LOST, 0);
    if (db->aborted || (db->mysql->server_status & SERVER_STATUS_IN_TRANS) == 0) FAIL(INTERNAL, 0);
    struct result r = db_run(db, "COMMIT", NULL);
    if (!failed(r) || is_surely_not_committed(r)) return r;
    db->usable = false;
    return (struct result){ERROR_COMMIT_UNKNOWN, r.native, r.where};
}

void db_rollback(struct db *db) {
    if (!db->usable) return;
    if (failed(db_run(db, "ROLLBACK", NULL))) db->usable = false;
    db->aborted = false;
}
