/* Schedule locks in ShedLock's table, by ShedLock's statements with the database's time (its JdbcTemplateLockProvider
   with usingDbTime): a Java service and we exclude each other on the same name. On a connection in autocommit.

   Invariants
   1. A lock is taken by one UPDATE whose WHERE holds what must be true, or by one INSERT; who holds is then read.
   Nothing is remembered between calls: a row that was deleted is made again.
   2. locked_by is unique to each grant, so a statement whose answer was lost is found to be done when asked again, and
      nobody ends or extends what is another's.
   3. All times are the server's, in the statement itself.
   4. A table that cannot be trusted is refused on every call (SCHEDULE_TABLE); shedlock_table.c says what is looked at.
 */
#pragma once

#include "domain/schedule.h"
#include "store/db.h"

#define SHEDLOCK_MARK_SIZE 34          /* '#' and 32 hex digits, the end of locked_by, and a NUL */
#define SHEDLOCK_BY_SIZE (4 * 255 + 1) /* the column's characters */
#define SHEDLOCK_TEXT_SIZE (4 * SCHEDULE_NAME_MAX + 1)

struct shedlock_row {
    struct schedule_row lock;
    int64_t now_ms;                /* when the row was read */
    bool held;                     /* lock_until is not over */
    char by[SHEDLOCK_BY_SIZE];     /* without our mark */
    char name[SHEDLOCK_TEXT_SIZE]; /* as the table spells it; "" = no row */
};

struct shedlock_terms {
    const char *name;
    const char *by;   /* what people see */
    const char *mark; /* "#…": what the holder is known by; new for each grant */
    int64_t at_most_ms;
    int64_t taken_before_ms; /* only when locked_at is earlier than this moment; 0 = whenever it is free */
};
/* *ret_granted: the lock is this grant's, for at_most_ms from some moment of the call. Else *ret is who stands in the
   way. Bears being run twice. INVALID_REQUEST: the table takes the name for another (ret->name), or has no room for a
   name or locked_by of this length (ret->name is empty). UNAVAILABLE: grants are held back, see shedlock_guard_start.
 */
RESULT shedlock_take(struct db *db, const struct shedlock_terms *terms, struct shedlock_row *ret, bool *ret_granted);

/* The lock goes on for at_most_ms from now, and at least for at_least_ms from when it was taken. *ret_done false: it is
   over, or another's. Bears being run twice. */
RESULT shedlock_extend(struct db *db, const struct shedlock_terms *terms, int64_t at_least_ms, struct shedlock_row *ret,
                       bool *ret_done);
/* Ends it now, or at_least_ms from when it was taken if that is later. *ret_done also when this grant was released
   before and nobody has taken the lock since; false: it ended by itself, or is another's. */
RESULT shedlock_release(struct db *db, const char *name, const char *mark, int64_t at_least_ms, bool *ret_done);

/* A row that does not exist is read as one that is not held; now_ms is set in any case. */
RESULT shedlock_read(struct db *db, const char *name, struct shedlock_row *ret);
/* Ascending by the bytes of the name, after `after`; limit rows at most. */
RESULT shedlock_list(struct db *db, const char *after, int64_t limit,
                     void (*fn)(void *arg, const char *name, const struct shedlock_row *row), void *arg);

/* After a failover the last rows may be missing: a lock that somebody holds is not there. When a connection leads to
   another server than the one before, or a server that was read only is not any more, this process gives no schedule
   lock for guard_ms. Process-wide; once, before the first thread. */
void shedlock_guard_start(int64_t guard_ms);
