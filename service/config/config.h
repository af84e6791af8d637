/* Settings from the environment: one table (settings.def) makes the struct, the parser, --help and docs/settings.md.
 * Read once at start, immutable after. */
#pragma once

#include "base/log.h"
#include "base/result.h"

#include <stddef.h>

/* Durations and periods are ISO-8601 (PT15M) and kept in milliseconds; a period of 0 means off. */
struct config {
#define SETTING_TEXT(field, env, size, fallback, help) char field[size];
#define SETTING_SECRET(field, env, size, fallback, help) char field[size];
#define SETTING_INT(field, env, min, max, fallback, help) int64_t field;
#define SETTING_BOOL(field, env, fallback, help) bool field;
#define SETTING_DURATION(field, env, min_ms, max_ms, fallback_ms, help) int64_t field;
#define SETTING_PERIOD(field, env, min_ms, max_ms, fallback_ms, help) int64_t field;
#define SETTING_CHOICE(field, env, choices, fallback, help) char field[32];
#include "config/settings.def"
#undef SETTING_TEXT
#undef SETTING_SECRET
#undef SETTING_INT
#undef SETTING_BOOL
#undef SETTING_DURATION
#undef SETTING_PERIOD
#undef SETTING_CHOICE
};

/* Reads getenv(env), for secrets also the file named by env_FILE (trailing newline cut). Nothing is clamped:
   INVALID_REQUEST with a sentence that names the setting and its range. An unknown LOCKSTOCK_… variable is an error
   too, so that a typo is heard (except LOCKSTOCK_FAULTS, the names of `lockstock run`, and names ending in _FILE of
   secrets). */
RESULT config_read(struct config *ret, char *error_text, size_t error_size);
/* For --help and docs: one line per setting, secrets without values. markdown: as table rows. */
void config_print(bool markdown);
