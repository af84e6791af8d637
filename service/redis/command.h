/* Builds the bytes of one Redis command (RESP): command_begin, then exactly as many command_add. */
#pragma once

#include "base/text.h"

/* Starts a command of `words` words, its name included. */
void command_begin(struct text *out, size_t words);
void command_add(struct text *out, const char *data, size_t len);
void command_add_str(struct text *out, const char *word);
void command_add_i64(struct text *out, int64_t value);
