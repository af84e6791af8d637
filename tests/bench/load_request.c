#include "bench/load.h"

#include <string.h>

static void add_http(struct text *out, const struct load_options *options, const char *const *fields,
                     const struct step_values *values) {
    const char *header = fields[2], *body = fields[3];
    text_add_str(out, fields[0]);
    text_add_char(out, ' ');
    step_fill(out, fields[1], values);
    text_addf(out, " HTTP/1.1\r\nHost: %s\r\n", options->host);
    if (options->keyed)
        text_addf(out, "Idempotency-Key: bench-%lld-%lld\r\n", (long long)options->seed, (long long)values->number);
    if (header[0]) {
        step_fill(out, header, values);
        text_add_str(out, "\r\n");
    }
    if (body[0]) {
        AUTO_TEXT filled = text_new(LOAD_REQUEST_MAX);
        step_fill(&filled, body, values);
        text_addf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n", filled.len);
        text_add(out, text_str(&filled), filled.len);
    } else {
        text_add_str(out, "\r\n");
    }
}

bool load_request(const struct load_options *options, const struct step *step, const struct step_values *values,
                  struct text *out) {
    const char *const one[] = {options->method, options->path, options->header, options->body, ""};
    size_t start = out->len;
    if (step != NULL && step->resp)
        step_command(out, step, values);
    else
        add_http(out, options, step != NULL ? step->fields : one, values);
    return !out->overflow && out->len - start <= LOAD_REQUEST_MAX;
}
