/* Command lines of the bench's tools: --name value, --name=value, --flag. One table makes parser and usage text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* One of text, number, flag is set; a row without a name ends the table. */
struct option_row {
    const char *name, *help;
    const char **text;
    int64_t *number;
    bool *flag;
};

/* False, with the usage on stderr, when the line does not fit the table. */
bool options_parse(int argc, char **argv, const struct option_row *rows);
/* Prints the table; returns 2, the exit code of a wrong command line. */
int options_usage(const char *program, const struct option_row *rows);
