/* What the files about compensations share. */
#pragma once

#include "domain/records.h"
#include "store/db.h"

/* Columns of compensations_take_row, in its order. */
#define COMPENSATION_COLUMNS "id, order_id, reason, status, payment_key, amount, detected_at, resolved_at"

void compensations_take_row(struct db_stmt *row, struct compensation *ret);
