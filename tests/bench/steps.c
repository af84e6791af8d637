#include "bench/steps.h"

#include <stdio.h>
#include <string.h>

#define HTTP_FIELDS 5

/* -- the file */

static bool parse_line(struct step *step, char *line) {
    char *kind = strsep(&line, "\t");
    step->resp = strcmp(kind, "resp") == 0;
    if (!step->resp && strcmp(kind, "http") != 0) return false;
    for (char *field; (field = strsep(&line, "\t")) != NULL;) {
        if (step->count == STEP_FIELDS_MAX) return false;
        step->fields[step->count++] = field;
    }
    return step->resp ? step->count > 0 : step->count == HTTP_FIELDS;
}

bool steps_parse(struct steps *steps) {
    char *rest = steps->text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (*line == '\0') continue;
        if (steps->count == STEPS_MAX || !parse_line(&steps->list[steps->count++], line)) return false;
    }
    return steps->count > 0;
}

bool steps_read(struct steps *steps, const char *path) {
    FILE *file = fopen(path, "r");
    size_t len = file != NULL ? fread(steps->text, 1, sizeof steps->text - 1, file) : 0;
    if (file != NULL) fclose(file);
    steps->text[len] = '\0';
    if (len > 0 && len < sizeof steps->text - 1 && steps_parse(steps)) return true;
    fprintf(stderr, "%s: no steps\n", path);
    return false;
}

/* -- requests */

static size_t add_mark(struct text *out, const char *form, const struct step_values *values) {
    const struct {
        const char *mark;
        int64_t value;
    } numbers[] = {{"@product@", values->product}, {"@quantity@", values->quantity}, {"@n@", values->number}};
    if (strncmp(form, "@c@", 3) == 0) {
        text_addf(out, "%06lld", (long long)values->connection);
        return 3;
    }
    if (strncmp(form, "@taken@", 7) == 0) {
        text_add_str(out, values->taken);
        return 7;
    }
    if (strncmp(form, "@kept@", 6) == 0) {
        text_add_str(out, values->kept);
        return 6;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strncmp(form, numbers[i].mark, strlen(numbers[i].mark)) != 0) continue;
        text_add_i64(out, numbers[i].value);
        return strlen(numbers[i].mark);
    }
    return 0;
}

void step_fill(struct text *out, const char *form, const struct step_values *values) {
    while (*form) {
        size_t plain = strcspn(form, "@");
        text_add(out, form, plain);
        form += plain;
        size_t taken = add_mark(out, form, values);
        if (*form && !taken) text_add(out, form, taken = 1);
        form += taken;
    }
}

void step_command(struct text *out, const struct step *step, const struct step_values *values) {
    text_addf(out, "*%zu\r\n", step->count);
    for (size_t i = 0; i < step->count; i++) {
        AUTO_TEXT argument = text_new(0);
        step_fill(&argument, step->fields[i], values);
        text_addf(out, "$%zu\r\n", argument.len);
        text_add(out, text_str(&argument), argument.len);
        text_add_str(out, "\r\n");
    }
}

/* -- replies */

bool step_take(const char *reply, size_t len, const char *member, char out[STEP_TAKEN_MAX]) {
    char mark[80];
    if (!text_format(mark, sizeof mark, "\"%s\":", member)) return false;
    const char *at = memmem(reply, len, mark, strlen(mark)), *end = reply + len;
    if (at == NULL) return false;
    at += strlen(mark);
    if (at < end && *at == '"') at++;
    size_t size = 0;
    while (at + size < end && memchr("\",}", at[size], 3) == NULL) size++;
    return at + size < end && text_format(out, STEP_TAKEN_MAX, "%.*s", (int)size, at);
}

/* One header line at `at`: its kind and number. Bytes of the line, 0: more is to come, -1: none. */
static int64_t resp_line(const char *at, size_t len, int64_t *ret_number) {
    const char *stop = memmem(at, len, "\r\n", 2);
    *ret_number = 0;
    if (stop == NULL) return 0;
    if (memchr("$*:", *at, 3) != NULL && !text_parse_i64(at + 1, (size_t)(stop - at - 1), ret_number)) return -1;
    return memchr("+:$*", *at, 4) != NULL ? stop - at + 2 : -1;
}

int64_t resp_length(const char *data, size_t len) {
    size_t used = 0;
    for (int64_t pending = 1; pending > 0; pending--) {
        int64_t number, line = used < len ? resp_line(data + used, len - used, &number) : 0;
        if (line <= 0) return line;
        char kind = data[used];
        used += (size_t)line;
        if (kind == '$' && number >= 0) used += (size_t)number + 2;
        if (kind == '*' && number > 0) pending += number;
        if (used > len) return 0;
    }
    return (int64_t)used;
}
