/* Lines inside a body that is being read. Private to codec/. */
#pragma once

#include "codec/fields.h"
#include "domain/order.h"

/* Reads "items", an array of at most ORDER_LINES_MAX elements, into lines: merged and sorted when nothing was found. */
void reader_lines(struct reader *reader, const json_t *items, struct line *lines, size_t *ret_count);
