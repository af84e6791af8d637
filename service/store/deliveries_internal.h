/* What the files of deliveries share. Nobody else includes it. */
#pragma once

#include "store/webhooks.h"

#define DELIVERY_COLUMNS                                                                                               \
    "id, webhook_id, event_id, event_type, aggregate_id, status, attempts, COALESCE(last_status, 0), last_error, "     \
    "created_at, attempted_at, IF(lease_until IS NULL, due_at, NULL), done_at"
/* Columns first… of the row. */
void delivery_take_row(struct db_stmt *row, unsigned first, struct delivery *ret);
