/* The token file (docs/operations.md). It is read twice: the first round only checks, so that fn is called for all
   entries of a good file and for none of a bad one. */
#include "codec/bodies.h"

#include "codec/fields.h"

#define TOKENS_MAX 4096 /* tokens of one file: more than a company has services */
#define SCOPES_MAX 16   /* as token_entry */
#define PREFIXES_MAX 16 /* as token_entry */
#define SCOPE_SIZE_MAX 32
#define PREFIX_SIZE_MAX 200 /* as the names it begins */

static const struct field file_list[] = {
    {.name = "tokens", .kind = FIELD_ARRAY, .max = TOKENS_MAX},
};
static const struct fields file_fields = {file_list, 1};

struct token_values {
    struct token_entry entry;
    char hex[65];
    const json_t *scopes, *prefixes;
};

static const struct field token_list[] = {
    {.name = "name",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct token_values, entry.name),
     .min = 1,
     .max = CREDENTIAL_NAME_MAX},
    {.name = "sha256", .kind = FIELD_TEXT, .offset = offsetof(struct token_values, hex), .min = 64, .max = 64},
    {.name = "scopes",
     .kind = FIELD_ARRAY,
     .offset = offsetof(struct token_values, scopes),
     .min = 1,
     .max = SCOPES_MAX},
    {.name = "prefixes",
     .kind = FIELD_ARRAY,
     .offset = offsetof(struct token_values, prefixes),
     .max = PREFIXES_MAX,
     .optional = true},
};
static const struct fields token_fields = {token_list, 4};

static const struct field scope_field = {.name = "scopes", .kind = FIELD_POINTER, .min = 1, .max = SCOPE_SIZE_MAX};
static const struct field prefix_field = {.name = "prefixes", .kind = FIELD_POINTER, .min = 1, .max = PREFIX_SIZE_MAX};

/* Reads an array of strings, the field's name being the array's; list is as long as the array may be. */
static size_t read_strings(struct reader *reader, const struct field *field, const json_t *array,
                           const struct place *up, const char **list) {
    const struct place at = {.up = up, .name = field->name};
    const size_t count = json_array_size(array); /* 0 for NULL */
    for (size_t i = 0; i < count; i++) {
        reader_value(reader, field, json_array_get(array, i), &(struct place){.up = &at, .index = i}, &list[i]);
    }
    return count;
}

static void read_token(struct reader *reader, const json_t *value, const struct place *at, struct token_entry *entry) {
    struct token_values values = {0};
    reader_object(reader, &token_fields, value, at, &values);
    *entry = values.entry;
    entry->scope_count = read_strings(reader, &scope_field, values.scopes, at, entry->scopes);
    entry->prefix_count = read_strings(reader, &prefix_field, values.prefixes, at, entry->prefixes);
    if (values.hex[0] == '\0' || text_unhex(values.hex, 64, entry->sha256, sizeof entry->sha256)) return;
    reader_find(reader, &(struct place){.up = at, .name = "sha256"}, "must be 64 hexadecimal digits");
}

typedef void token_fn(void *arg, const struct token_entry *entry);

/* fn NULL: only checks. */
static void read_tokens(struct reader *reader, const json_t *tokens, token_fn *fn, void *arg) {
    const struct place at = {.name = "tokens"};
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        struct token_entry entry;
        read_token(reader, json_array_get(tokens, i), &(struct place){.up = &at, .index = i}, &entry);
        if (fn != NULL) fn(arg, &entry);
    }
}

RESULT body_tokens(const char *body, size_t len, struct field_errors *errors,
                   void (*fn)(void *arg, const struct token_entry *entry), void *arg) {
    AUTO_READER reader = {0};
    TRY(reader_open(&reader, body, len, errors));
    const json_t *tokens = NULL;
    reader_object(&reader, &file_fields, reader.root, NULL, &tokens);
    read_tokens(&reader, tokens, NULL, NULL);
    TRY(reader_verdict(&reader));
    read_tokens(&reader, tokens, fn, arg);
    return OK;
}
