/* What the table shedlock must be like, whoever made it: looked at once a connection, and again on each call while it
   is refused.

   1. name is unique by itself: on this alone rests that there is one holder.
   2. Moments in columns DATETIME mean the same to every session. In columns TIMESTAMP they depend on the session's time
      zone: a session in UTC finds the lock of one in Berlin to be over an hour early and takes it. Ours is UTC; that of
      others is, unless they were told otherwise, the server's. So TIMESTAMP is refused where the server's zone is not
      UTC, or a row shows by a locked_at in the future that somebody's is not. */
#include "base/fault.h"
#include "base/log.h"
#include "metrics/metrics.h"
#include "store/db_internal.h"
#include "store/shedlock_internal.h"

#include <stdatomic.h>
#include <string.h>
#include <strings.h>

/* Asks for the columns, not for rows. information_schema would say more, by temporary tables: MariaDB 10.11 crashes
   when it cannot make one. */
#define COLUMNS "SELECT * FROM shedlock LIMIT 0"
#define ZONE "SELECT IF(@@global.time_zone = 'SYSTEM', @@system_time_zone, @@global.time_zone)"
/* Clocks of machines are not asked for: what stands there has been written by the server's own. */
#define AHEAD "SELECT COUNT(*) FROM shedlock WHERE locked_at > UTC_TIMESTAMP(3) + INTERVAL 5 SECOND"
#define MS_DIGITS 3
#define UTF8_BYTES 4 /* lengths are told in bytes of the connection's character set */

enum { COLUMN_NAME, COLUMN_UNTIL, COLUMN_AT, COLUMN_BY, COLUMN_COUNT };
static const char *const names[COLUMN_COUNT] = {"name", "lock_until", "locked_at", "locked_by"};

struct shape {
    struct column {
        bool is_timestamp, is_datetime, is_primary, is_unique;
        int64_t digits, length; /* of a fraction; characters */
    } columns[COLUMN_COUNT];
    size_t found, primary_columns;
    int64_t ahead;
    char zone[64];
};

/* -- looking */

static void take_column(struct shape *shape, const MYSQL_FIELD *field) {
    if ((field->flags & PRI_KEY_FLAG) != 0) shape->primary_columns++;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (strcasecmp(names[i], field->name) != 0) continue;
        shape->found++;
        shape->columns[i] = (struct column){.is_timestamp = field->type == MYSQL_TYPE_TIMESTAMP,
                                            .is_datetime = field->type == MYSQL_TYPE_DATETIME,
                                            .is_primary = (field->flags & PRI_KEY_FLAG) != 0,
                                            .is_unique = (field->flags & UNIQUE_KEY_FLAG) != 0,
                                            .digits = field->decimals,
                                            .length = (int64_t)(field->length / UTF8_BYTES)};
    }
}

static RESULT read_columns(struct db *db, struct shape *shape) {
    struct db_stmt *stmt;
    TRY(db_statement(db, COLUMNS, &stmt));
    MYSQL_RES *meta = mysql_stmt_result_metadata(stmt->handle);
    if (meta == NULL) DB_STMT_FAIL(stmt);
    for (unsigned i = 0; i < mysql_num_fields(meta); i++) take_column(shape, mysql_fetch_field_direct(meta, i));
    mysql_free_result(meta);
    stmt->broken = true; /* prepared anew when it is asked again: the table may have been changed */
    return OK;
}

static RESULT read_zone(struct db *db, struct shape *shape) {
    struct db_stmt *stmt;
    bool row;
    TRY(db_statement(db, ZONE, &stmt));
    TRY(db_execute(stmt, NULL));
    TRY(db_next(stmt, &row));
    if (!row) FAIL(STORE_OTHER, 0);
    db_copy_text(stmt, 0, shape->zone, sizeof shape->zone);
    db_finish(stmt);
    return OK;
}

static RESULT look(struct db *db, struct shape *shape) {
    TRY(read_columns(db, shape));
    TRY(read_zone(db, shape));
    if (shape->found == COLUMN_COUNT) TRY(db_number(db, AHEAD, &shape->ahead));
    return OK;
}

/* -- judging */

/* The abbreviation GMT of a system may be London's, and change in spring. */
static bool is_utc(const char *zone) {
    static const char *const same[] = {"UTC", "+00:00", "-00:00", "Etc/UTC"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        if (strcmp(zone, same[i]) == 0) return true;
    return false;
}

static bool has_timestamps(const struct shape *shape) {
    return shape->columns[COLUMN_UNTIL].is_timestamp || shape->columns[COLUMN_AT].is_timestamp;
}

/* The flag of a unique key is set for keys of one column alone, that of the primary key for each of its columns. */
static bool is_unique_name(const struct shape *shape) {
    const struct column *name = &shape->columns[COLUMN_NAME];
    return name->is_unique || (name->is_primary && shape->primary_columns == 1);
}

static bool is_moment(const struct column *column) { return column->is_datetime || column->is_timestamp; }

/* Why the table cannot be trusted; NULL when it can. */
static const char *fault_of(const struct shape *shape) {
    bool in_zone = has_timestamps(shape) && !fault_on(FAULT_NO_ZONE_CHECK);
    if (shape->found != COLUMN_COUNT) return "it lacks one of the columns name, lock_until, locked_at, locked_by";
    if (!is_unique_name(shape)) return "name is not unique";
    if (!is_moment(&shape->columns[COLUMN_UNTIL]) || !is_moment(&shape->columns[COLUMN_AT]))
        return "lock_until and locked_at must be DATETIME(3)";
    if (in_zone && !is_utc(shape->zone))
        return "its columns are TIMESTAMP and the server's time zone is not UTC, so sessions mean different moments: "
               "make them DATETIME(3)";
    if (in_zone && shape->ahead > 0)
        return "its columns are TIMESTAMP and a locked_at lies in the future, so another session's time zone is not "
               "UTC: make them DATETIME(3)";
    return NULL;
}

/* One line for as long as it stays so, whoever looks. */
static void refuse(const struct shape *shape, const char *fault, atomic_bool *told) {
    if (atomic_exchange(told, true)) return;
    LOG(LOG_ERROR, "schedule.table_refused", LOGS("why", fault), LOGS("serverZone", shape->zone),
        LOGS("sessionZone", "+00:00"));
}

static void warn(const struct shape *shape) {
    static atomic_bool told;
    bool is_coarse = shape->columns[COLUMN_UNTIL].digits < MS_DIGITS || shape->columns[COLUMN_AT].digits < MS_DIGITS;
    if (!is_coarse && shape->ahead == 0 && !has_timestamps(shape)) return;
    if (atomic_exchange(&told, true)) return;
    if (has_timestamps(shape)) LOG(LOG_WARN, "schedule.table_timestamp", LOGS("serverZone", shape->zone));
    if (is_coarse) LOG(LOG_WARN, "schedule.table_coarse", LOGI("digits", shape->columns[COLUMN_UNTIL].digits));
    if (shape->ahead > 0) LOG(LOG_WARN, "schedule.foreign_clock", LOGI("rows", shape->ahead));
}

/* A lock that is taken or released by a commit to come is neither. */
static bool is_in_transaction(const struct db *db) { return (db->mysql->server_status & SERVER_STATUS_IN_TRANS) != 0; }

RESULT shedlock_table_check(struct db *db) {
    static atomic_bool told;
    if (is_in_transaction(db)) FAIL(INTERNAL, 0);
    if (db->shedlock.is_good) return OK;
    struct shape shape = {0};
    TRY(look(db, &shape));
    const char *fault = fault_of(&shape);
    metric_set(METRIC_SCHEDULE_REFUSED, 0, fault != NULL);
    if (fault != NULL) {
        refuse(&shape, fault, &told);
        FAIL(SCHEDULE_TABLE, 0);
    }
    atomic_store(&told, false);
    warn(&shape);
    db->shedlock.is_good = true;
    db->shedlock.name_max = shape.columns[COLUMN_NAME].length;
    db->shedlock.by_max = shape.columns[COLUMN_BY].length;
    return OK;
}

/* What we write is ASCII: bytes are characters. */
bool shedlock_table_has_room(const struct db *db, const char *name, const char *by) {
    return (int64_t)strlen(name) <= db->shedlock.name_max && (int64_t)strlen(by) <= db->shedlock.by_max;
}
