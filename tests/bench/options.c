#include "bench/options.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

int options_usage(const char *program, const struct option_row *rows) {
    fprintf(stderr, "usage: %s [options]\n", program);
    for (; rows->name; rows++) {
        if (rows->number)
            fprintf(stderr, "  --%-14s %s (%lld)\n", rows->name, rows->help, (long long)*rows->number);
        else
            fprintf(stderr, "  --%-14s %s\n", rows->name, rows->help);
    }
    return 2;
}

static const struct option_row *find(const struct option_row *rows, const char *name, size_t len) {
    for (; rows->name; rows++)
        if (strlen(rows->name) == len && memcmp(rows->name, name, len) == 0) return rows;
    return NULL;
}

static bool take(const struct option_row *row, const char *value) {
    if (row->text) *row->text = value;
    return row->text || text_parse_i64(value, strlen(value), row->number);
}

/* Arguments used: 0 when argv[0] is no option of the table or its value is wrong. */
static int parse_one(char **argv, const struct option_row *rows) {
    const char *name = argv[0];
    if (strncmp(name, "--", 2) != 0) return 0;
    size_t len = strcspn(name += 2, "=");
    const struct option_row *row = find(rows, name, len);
    if (!row) return 0;
    if (row->flag) {
        *row->flag = true;
        return name[len] ? 0 : 1;
    }
    if (name[len]) return take(row, name + len + 1) ? 1 : 0;
    return argv[1] && take(row, argv[1]) ? 2 : 0;
}

bool options_parse(int argc, char **argv, const struct option_row *rows) {
    for (int i = 1; i < argc;) {
        int used = parse_one(argv + i, rows);
        if (!used) {
            options_usage(argv[0], rows);
            return false;
        }
        i += used;
    }
    return true;
}
