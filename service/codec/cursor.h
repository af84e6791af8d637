/* Opaque list cursors: base64url of a kind byte and an id. Pure. */
#pragma once

#include "base/result.h"

#include <stddef.h>

#define CURSOR_SIZE 32
/* kind: one letter per list, so that a cursor of one list is refused by another. */
void cursor_write(char kind, int64_t id, char *out);
bool cursor_read(char kind, const char *cursor, int64_t *ret_id);
