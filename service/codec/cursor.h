/* Opaque list cursors: base64url of a kind byte and an id. Pure. */
#pragma once

#include "base/result.h"

#include <stddef.h>

#define CURSOR_SIZE 32
/* kind: one letter per list, so that a cursor of one list is refused by another. */
void cursor_write(char kind, int64_t id, char *out);
bool cursor_read(char kind, const char *cursor, int64_t *ret_id);
/* The same for lists in the order of names. out has 2 * (len + 1) + 1 bytes. */
#define CURSOR_NAME_MAX 200
#define CURSOR_NAME_SIZE (2 * (CURSOR_NAME_MAX + 1) + 1)
void cursor_write_name(char kind, const char *name, char out[CURSOR_NAME_SIZE]);
bool cursor_read_name(char kind, const char *cursor, char ret[CURSOR_NAME_MAX + 1]);
