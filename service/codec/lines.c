/* What comes out is canonical: sorted by product, each product once. */
#include "codec/lines.h"

#include "codec/lines_reader.h"
#include "codec/members.h"

static const struct field line_list[] = {
    {.name = "productId",
     .kind = FIELD_INTEGER,
     .offset = offsetof(struct line, product_id),
     .min = 1,
     .max = PRODUCT_ID_MAX},
    {.name = "quantity",
     .kind = FIELD_INTEGER,
     .offset = offsetof(struct line, quantity),
     .min = 1,
     .max = QUANTITY_MAX},
};
static const struct fields line_fields = {line_list, 2};

void reader_lines(struct reader *reader, const json_t *items, struct line *lines, size_t *ret_count) {
    const struct place at = {.name = "items"};
    *ret_count = json_array_size(items);
    for (size_t i = 0; i < *ret_count; i++) {
        const struct place place = {.up = &at, .index = i};
        reader_object(reader, &line_fields, json_array_get(items, i), &place, &lines[i]);
    }
    if (reader->errors->count > 0 || lines_merge(lines, ret_count)) return;
    reader_find(reader, &at, "the quantities of a product must sum to at most %d", (int)QUANTITY_MAX);
}

void lines_write(struct text *out, const struct line *lines, size_t count) {
    text_add_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        text_add_str(out, i == 0 ? "{" : ",{");
        member_integer(out, "productId", lines[i].product_id);
        member_integer(out, "quantity", lines[i].quantity);
        text_add_char(out, '}');
    }
    text_add_char(out, ']');
}

RESULT lines_read(const char *json, size_t len, struct line *lines, size_t *ret_count) {
    AUTO_READER reader = {0};
    struct field_errors errors;
    if (failed(reader_open(&reader, json, len, &errors))) FAIL(BAD_DATA, 0);
    if (!json_is_array(reader.root) || json_array_size(reader.root) > ORDER_LINES_MAX) FAIL(BAD_DATA, 0);
    reader_lines(&reader, reader.root, lines, ret_count);
    if (failed(reader_verdict(&reader))) FAIL(BAD_DATA, 0);
    return OK;
}
