#include "endpoints/common.h"

#include "codec/cursor.h"

#include <string.h>

void reply_invalid(struct request *request, const struct field_errors *errors) {
    AUTO_TEXT extras = text_new(0);
    field_errors_write(&extras, errors);
    request_problem(request, ERROR_INVALID_REQUEST, errors->list[0].detail, text_str(&extras));
}

void reply_invalid_field(struct request *request, const char *pointer, const char *detail) {
    struct field_errors errors = {0};
    field_errors_add(&errors, pointer, "%s", detail);
    reply_invalid(request, &errors);
}

bool read_id(struct request *request, unsigned index, const char *name, int64_t *ret) {
    const char *text = request_param(request, index);
    if (text_parse_i64(text, strlen(text), ret) && *ret >= 1 && *ret <= SAFE_INTEGER_MAX) return true;
    char pointer[64];
    (void)text_format(pointer, sizeof pointer, "/%s", name);
    reply_invalid_field(request, pointer, "must be an integer from 1 to 9007199254740991");
    return false;
}

static bool is_allowed(const char *name, const char *const *allowed, bool is_list) {
    if (is_list && (strcmp(name, "limit") == 0 || strcmp(name, "cursor") == 0)) return true;
    for (; allowed != NULL && *allowed != NULL; allowed++)
        if (strcmp(name, *allowed) == 0) return true;
    return false;
}

static bool is_repeated(const struct request *request, unsigned index) {
    for (unsigned i = 0; i < index; i++)
        if (strcmp(request_query_name(request, i), request_query_name(request, index)) == 0) return true;
    return false;
}

bool read_query(struct request *request, const char *const *allowed, bool is_list) {
    const char *name;
    for (unsigned i = 0; (name = request_query_name(request, i)) != NULL; i++) {
        char pointer[80];
        const char *detail = !is_allowed(name, allowed, is_list) ? "unknown query parameter"
                             : is_repeated(request, i)           ? "is given twice"
                                                                 : NULL;
        if (detail == NULL) continue;
        (void)text_format(pointer, sizeof pointer, "?%s", name);
        reply_invalid_field(request, pointer, detail);
        return false;
    }
    return true;
}

bool read_limit(struct request *request, size_t *ret) {
    const char *text = request_query(request, "limit");
    int64_t limit = LIST_LIMIT_DEFAULT;
    if (text != NULL && (!text_parse_i64(text, strlen(text), &limit) || limit < 1 || limit > LIST_LIMIT_MAX)) {
        reply_invalid_field(request, "?limit", "must be an integer from 1 to 500");
        return false;
    }
    *ret = (size_t)limit;
    return true;
}

bool read_list(struct request *request, char kind, int64_t start, const char *const *allowed, size_t *ret_limit,
               int64_t *ret_after) {
    if (!read_query(request, allowed, true)) return false;
    if (!read_limit(request, ret_limit)) return false;
    const char *cursor = request_query(request, "cursor");
    *ret_after = start;
    if (cursor == NULL || cursor_read(kind, cursor, ret_after)) return true;
    reply_invalid_field(request, "?cursor", "is not a cursor of this list");
    return false;
}

static bool read_state(struct request *request, const struct states *states, int *ret) {
    const char *state = request_query(request, "status");
    *ret = 0;
    if (state == NULL) return true;
    for (int i = 1; states->words[i] != NULL; i++)
        if (strcmp(state, states->words[i]) == 0) *ret = i;
    if (*ret == 0) reply_invalid_field(request, "?status", states->detail);
    return *ret > 0;
}

struct read *read_by_state(struct request *request, char kind, const struct states *states,
                           struct result (*work)(struct read *read, struct db *db)) {
    static const char *const allowed[] = {"status", NULL};
    size_t limit;
    int64_t before;
    int state;
    if (!read_list(request, kind, INT64_MAX, allowed, &limit, &before)) return NULL;
    if (!read_state(request, states, &state)) return NULL;
    struct read *read = read_new(request, work);
    read->limit = limit;
    read->after = before;
    read->status = state;
    return read;
}

/* -- Idempotency-Key */

/* "…" with \" and \\ (RFC 8941 string) → its content. */
static bool unquote(const char *in, char *out, size_t size) {
    size_t len = 0;
    for (in++; *in != '"'; in++) {
        if (*in == '\\' && *++in != '"' && *in != '\\') return false;
        if (*in == '\0' || len + 1 >= size) return false;
        out[len++] = *in;
    }
    out[len] = '\0';
    return in[1] == '\0';
}

static bool is_printable_ascii(const char *s) {
    for (; *s != '\0'; s++)
        if (*s < 0x20 || *s > 0x7e) return false;
    return true;
}

static bool parse_key(const char *header, char *out) {
    bool fits = header[0] == '"' ? unquote(header, out, IDEMPOTENCY_KEY_MAX + 1)
                                 : text_copy(out, IDEMPOTENCY_KEY_MAX + 1, header);
    return fits && out[0] != '\0' && is_printable_ascii(out);
}

bool read_idempotency_key(struct request *request, char *out) {
    out[0] = '\0';
    const char *header = request_header(request, "Idempotency-Key");
    if (header == NULL) return true;
    if (request_header_count(request, "Idempotency-Key") == 1 && parse_key(header, out)) return true;
    request_problem(request, ERROR_IDEMPOTENCY_INVALID, NULL, NULL);
    return false;
}

/* -- If-Match */

/* One entity tag at *at; moves behind it. A strong tag of a number is a version; any other tag is well formed and
 * matches nothing. */
static bool parse_tag(const char **at, int64_t *ret_version) {
    const char *p = *at;
    bool weak = strncmp(p, "W/", 2) == 0;
    if (weak) p += 2;
    if (*p != '"') return false;
    const char *end = strchr(p + 1, '"');
    if (end == NULL) return false;
    *ret_version = -1;
    if (!weak && !text_parse_i64(p + 1, (size_t)(end - p - 1), ret_version)) *ret_version = -1;
    *at = end + 1;
    return true;
}

static bool parse_tags(const char *p, struct command *command) {
    for (;;) {
        int64_t version;
        p += strspn(p, " \t,");
        if (*p == '\0') return true;
        if (!parse_tag(&p, &version)) return false;
        p += strspn(p, " \t");
        if (*p != '\0' && *p != ',') return false;
        if (version < 0) continue;
        if (command->set.version_count == IF_MATCH_MAX) return false;
        command->set.versions[command->set.version_count++] = version;
    }
}

bool read_if_match(struct request *request, struct command *command) {
    const char *header = request_header(request, "If-Match");
    if (header == NULL) {
        request_problem(request, ERROR_PRECONDITION_REQUIRED, NULL, NULL);
        return false;
    }
    command->set.any_version = strcmp(header, "*") == 0;
    bool single = request_header_count(request, "If-Match") == 1;
    if (single && header[0] != '\0' && (command->set.any_version || parse_tags(header, command))) return true;
    reply_invalid_field(request, "If-Match", "must be * or up to 8 quoted entity tags");
    return false;
}
