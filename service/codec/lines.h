/* Lines of an order or reservation, [{"productId","quantity"}], as requests and rows carry them. Pure; any thread. */
#pragma once

#include "codec/json.h"
#include "domain/order.h"

/* Appends the array. */
void lines_write(struct text *out, const struct line *lines, size_t count);
/* The array of a row. lines has room for ORDER_LINES_MAX; they come merged and sorted. BAD_DATA when it is none. */
RESULT lines_read(const char *json, size_t len, struct line *lines, size_t *ret_count);
