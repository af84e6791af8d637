/* Line by line: our own files keep to one rule (see the head of the first), so no SQL has to be understood here. */
#include "store/migrations.h"

#include <string.h>

static bool is_blank(const char *line, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r') return false;
    return true;
}

static bool is_comment(const char *line, size_t len) { return len >= 2 && line[0] == '-' && line[1] == '-'; }

bool migration_next(const char **position, struct text *statement) {
    text_clear(statement);
    while (**position != '\0') {
        const char *line = *position, *end = strchrnul(line, '\n');
        size_t len = (size_t)(end - line);
        *position = *end == '\n' ? end + 1 : end;
        if (is_comment(line, len) || is_blank(line, len)) continue;
        bool last = line[len - 1] == ';';
        text_add(statement, line, last ? len - 1 : len);
        if (last) return true;
        text_add_char(statement, '\n');
    }
    return statement->len > 0;
}
