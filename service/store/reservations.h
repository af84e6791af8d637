/* Statements about stock_reservations. On a worker; refs are sorted without duplicates; many rows travel in chunks. */
#pragma once

#include "store/tables.h"

/* Rows by ref, locked like stock rows, after the orders and before payments. rows has room for count; their items are
 * allocated (mem_array), the caller frees each. ret_now_ms: database clock, untouched when no row came back. */
RESULT reservations_lock(struct db *db, const struct reservation_ref *refs, size_t count, enum row_lock lock,
                         struct reservation *rows, size_t *ret_count, int64_t *ret_now_ms);
/* Plain read. RESERVATION_NOT_FOUND. Items allocated. */
RESULT reservations_read(struct db *db, const struct reservation_ref *ref, struct reservation *ret,
                         int64_t *ret_now_ms);
/* Plain read: the lines of those that are RESERVED; calls fn for each line, by product within a reservation. */
RESULT reservation_lines_read(struct db *db, const struct reservation_ref *refs, size_t count,
                              void (*fn)(void *arg, const struct reservation_ref *ref, struct line line), void *arg);
/* rows sorted by ref. DUPLICATE when another instance was first. */
RESULT reservations_insert(struct db *db, const struct reservation *const *rows, size_t count);
/* status, reason, version and their times WHERE id AND version = expected_version; VERSION_CONFLICT when 0 rows.
   check_version false (removal tests only) leaves the comparison out. */
RESULT reservations_update(struct db *db, const struct reservation *row, int64_t expected_version, bool check_version);
