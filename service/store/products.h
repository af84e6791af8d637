/* What the files about products share. */
#pragma once

#include "domain/records.h"
#include "store/db.h"

/* Columns of products_take_row, in its order. */
#define PRODUCT_COLUMNS "id, name, price, status, version, created_at, updated_at"

void products_take_row(struct db_stmt *row, struct product *ret);
