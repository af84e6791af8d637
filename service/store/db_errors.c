/* Numbers first, then the SQLSTATE class, then "other". Written as numbers because the two client libraries do not name
   the same set: a name missing from one of them would not compile. */
#include "store/db_errors.h"

#include <stddef.h>
#include <string.h>

enum { KEEP = 0, UNUSABLE = 1, ABORTED = 2 };

struct row {
    unsigned number;
    enum error error;
    int effect;
};

static const struct row table[] = {
    {1020, ERROR_DEADLOCK, ABORTED},     /* MariaDB: record changed since the snapshot */
    {1213, ERROR_DEADLOCK, ABORTED},     /* deadlock */
    {1614, ERROR_DEADLOCK, ABORTED},     /* XA deadlock */
    {3058, ERROR_DEADLOCK, KEEP},        /* deadlock among GET_LOCK users */
    {1205, ERROR_LOCK_WAIT, KEEP},       /* row or metadata lock not had in time */
    {3572, ERROR_LOCK_WAIT, KEEP},       /* NOWAIT */
    {1062, ERROR_DUPLICATE, KEEP},       /* unique key */
    {1586, ERROR_DUPLICATE, KEEP},       /* the same, with the key's name */
    {1366, ERROR_BAD_DATA, KEEP},        /* incorrect value: HY000 in MySQL */
    {1267, ERROR_BAD_DATA, KEEP},        /* text beyond ASCII compared with an ASCII column */
    {3854, ERROR_BAD_DATA, KEEP},        /* the same in MySQL, as text of the statement … */
    {3988, ERROR_BAD_DATA, KEEP},        /* … and as a parameter */
    {3819, ERROR_BAD_DATA, KEEP},        /* MySQL: CHECK violated, HY000 */
    {4025, ERROR_BAD_DATA, KEEP},        /* MariaDB: CHECK violated */
    {1049, ERROR_STORE_SCHEMA, KEEP},    /* unknown database */
    {1054, ERROR_STORE_SCHEMA, KEEP},    /* unknown column */
    {1146, ERROR_STORE_SCHEMA, KEEP},    /* no such table */
    {1176, ERROR_STORE_SCHEMA, KEEP},    /* no such index (FORCE INDEX) */
    {1364, ERROR_STORE_SCHEMA, KEEP},    /* a column we do not know has no default */
    {1290, ERROR_STORE_READ_ONLY, KEEP}, /* --read-only */
    {1792, ERROR_STORE_READ_ONLY, KEEP}, /* read only transaction */
    {1836, ERROR_STORE_READ_ONLY, KEEP}, /* read only mode */
    {3100, ERROR_STORE_READ_ONLY, KEEP}, /* MySQL: group replication refuses writes */
    {1040, ERROR_STORE_DOWN, UNUSABLE},  /* too many connections */
    {1203, ERROR_STORE_DOWN, UNUSABLE},  /* too many connections of this user */
    {1053, ERROR_STORE_LOST, UNUSABLE},  /* shutdown in progress */
    {1317, ERROR_STORE_LOST, UNUSABLE},  /* interrupted by KILL QUERY or shutdown */
    {1927, ERROR_STORE_LOST, UNUSABLE},  /* MariaDB: connection was killed */
    {3169, ERROR_STORE_LOST, UNUSABLE},  /* MySQL: session was killed */
    {4031, ERROR_STORE_LOST, UNUSABLE},  /* MySQL: closed for inactivity */
    {1243, ERROR_STORE_LOST, UNUSABLE},  /* the server does not know our statement: not our session */
    {2014, ERROR_STORE_OTHER, UNUSABLE}, /* out of sync: a fault of ours */
};

#define CLIENT_ERRORS_FROM 2000
#define CLIENT_ERRORS_TO 2999

static struct db_error make(enum error error, int effect) {
    return (struct db_error){error, (effect & UNUSABLE) != 0, (effect & ABORTED) != 0};
}

struct db_error db_error_of(unsigned number, const char *sqlstate) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].number == number) return make(table[i].error, table[i].effect);
    if (number >= CLIENT_ERRORS_FROM && number <= CLIENT_ERRORS_TO) return make(ERROR_STORE_LOST, UNUSABLE);
    if (strncmp(sqlstate, "08", 2) == 0) return make(ERROR_STORE_LOST, UNUSABLE);
    if (strncmp(sqlstate, "22", 2) == 0 || strncmp(sqlstate, "23", 2) == 0) return make(ERROR_BAD_DATA, KEEP);
    if (strncmp(sqlstate, "40", 2) == 0) return make(ERROR_DEADLOCK, ABORTED);
    return make(ERROR_STORE_OTHER, KEEP);
}
