/* Members of a JSON object, one call each: puts the comma where one is due. Names are ours and need no escaping.
   Private to codec/. Pure. */
#pragma once

#include "codec/json.h"
#include "domain/order.h"

void member_name(struct text *out, const char *name);
void member_integer(struct text *out, const char *name, int64_t value);
void member_string(struct text *out, const char *name, const char *value);
/* "" = null. */
void member_string_or_null(struct text *out, const char *name, const char *value);
/* 0 = null. */
void member_time(struct text *out, const char *name, int64_t unix_ms);
/* "items":[{"productId","quantity","unitPrice"}] */
void member_items(struct text *out, const struct order *order);
