/* What shedlock.c shares with the look at the table and with the guard. */
#pragma once

#include "store/shedlock.h"

/* Looks at the table once a connection. SCHEDULE_TABLE with one log line when it cannot be trusted. */
RESULT shedlock_table_check(struct db *db);
/* What the table found by the check has room for, in characters. */
bool shedlock_table_has_room(const struct db *db, const char *name, const char *by);

/* Notes what a connection shows of its server: STORE_READ_ONLY; UNAVAILABLE while grants are held back. */
RESULT shedlock_guard_check(struct db *db);

/* Notes how a statement failed. */
void shedlock_guard_failed(struct result result);
