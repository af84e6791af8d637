#include "bench/load.h"

#include <string.h>

/* Appends the text with its placeholders replaced. */
static void add_filled(struct text *out, const char *form, const struct load_options *options, int64_t product,
                       int64_t number) {
    const struct {
        const char *mark;
        int64_t value;
    } marks[] = {{"@product@", product}, {"@quantity@", options->quantity}, {"@n@", number}};
    while (*form) {
        size_t plain = strcspn(form, "@"), taken = 0;
        text_add(out, form, plain);
        form += plain;
        for (size_t i = 0; i < sizeof marks / sizeof *marks && !taken; i++) {
            if (strncmp(form, marks[i].mark, strlen(marks[i].mark)) != 0) continue;
            text_add_i64(out, marks[i].value);
            taken = strlen(marks[i].mark);
        }
        if (*form && !taken) text_add(out, form, taken = 1);
        form += taken;
    }
}

static void add_head(struct text *out, const struct load_options *options, int64_t product, int64_t number) {
    text_add_str(out, options->method);
    text_add_char(out, ' ');
    add_filled(out, options->path, options, product, number);
    text_add_str(out, " HTTP/1.1\r\nHost: ");
    text_add_str(out, options->host);
    text_add_str(out, "\r\n");
    if (options->keyed)
        text_addf(out, "Idempotency-Key: bench-%lld-%lld\r\n", (long long)options->seed, (long long)number);
    if (options->header[0]) text_addf(out, "%s\r\n", options->header);
}

bool load_request(const struct load_options *options, int64_t product, int64_t number, struct text *out) {
    char store[1024];
    size_t start = out->len;
    add_head(out, options, product, number);
    if (options->body[0]) {
        AUTO_TEXT body = text_new(LOAD_REQUEST_MAX);
        add_filled(&body, options->body, options, product, number);
        if (!text_format(store, sizeof store, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                         body.len))
            return false;
        text_add_str(out, store);
        text_add(out, body.data, body.len);
    } else {
        text_add_str(out, "\r\n");
    }
    return !out->overflow && out->len - start <= LOAD_REQUEST_MAX;
}
