/* Statements about many rows or ids in a few sizes: chunks of 256, 128, … 1, largest first. */
#pragma once

#include "store/db.h"

struct many {
    const char *head, *group, *tail; /* as of db_statement_many */
    const char *separator;           /* between groups; NULL = "," */
    unsigned columns;                /* parameters of a group */
    /* Sets the parameters of row `row`, from `first` on. */
    void (*set)(struct db_stmt *stmt, unsigned first, void *arg, size_t row);
    void *arg;
};

/* Writes `count` rows in their order; *ret_affected (may be NULL) is the sum. Ends at the first chunk that fails. */
RESULT many_write(struct db *db, const struct many *many, size_t count, uint64_t *ret_affected);
/* SELECT with a list of `count` keys, padded to a power of two by repeating the last; fn is called per row, in the
   order of the chunks. fn must not run statements. */
RESULT many_read(struct db *db, const struct many *many, size_t count, void (*fn)(void *arg, struct db_stmt *row),
                 void *fn_arg);
/* The same for ascending int64 ids: head ‖ "?,?…" ‖ tail. */
struct many_ids {
    const char *head, *tail;
    const int64_t *ids;
    size_t count;
};
RESULT many_read_ids(struct db *db, const struct many_ids *ids, void (*fn)(void *arg, struct db_stmt *row),
                     void *fn_arg);
/* Which of the ids come back as the first column of the SELECT, in ascending order: found[i] per id. */
RESULT many_exist(struct db *db, const struct many_ids *ids, bool *found);
/* The rows of one executed SELECT. */
RESULT many_rows(struct db_stmt *stmt, void (*fn)(void *arg, struct db_stmt *row), void *fn_arg);
