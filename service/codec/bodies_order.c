/* POST /v1/orders. What comes out is canonical: lines sorted by product, each product once. */
#include "codec/bodies.h"

#include "codec/fields.h"

#include <assert.h>
#include <string.h>

struct order_values {
    char user_id[USER_ID_MAX + 1];
    const json_t *items;
};

static const struct field order_list[] = {
    {.name = "userId",
     .kind = FIELD_TEXT,
     .trimmed = true,
     .offset = offsetof(struct order_values, user_id),
     .min = 1,
     .max = USER_ID_MAX},
    {.name = "items",
     .kind = FIELD_ARRAY,
     .offset = offsetof(struct order_values, items),
     .min = 1,
     .max = ORDER_LINES_MAX},
};
static const struct fields order_fields = {order_list, 2};

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

/* items has at most ORDER_LINES_MAX elements: its field saw to that. */
static void read_lines(struct reader *reader, const json_t *items, struct order_body *order) {
    const struct place at = {.name = "items"};
    order->line_count = json_array_size(items);
    for (size_t i = 0; i < order->line_count; i++) {
        const struct place place = {.up = &at, .index = i};
        reader_object(reader, &line_fields, json_array_get(items, i), &place, &order->lines[i]);
    }
}

static void merge_lines(struct reader *reader, struct order_body *order) {
    if (reader->errors->count > 0 || lines_merge(order->lines, &order->line_count)) return;
    reader_find(reader, &(struct place){.name = "items"}, "the quantities of a product must sum to at most %d",
                (int)QUANTITY_MAX);
}

RESULT body_order(const char *body, size_t len, struct field_errors *errors, struct order_body *ret) {
    AUTO_READER reader = {0};
    TRY(reader_open(&reader, body, len, errors));
    struct order_values values = {0};
    reader_object(&reader, &order_fields, reader.root, NULL, &values);
    struct order_body order = {0};
    read_lines(&reader, values.items, &order);
    merge_lines(&reader, &order);
    TRY(reader_verdict(&reader));
    static_assert(sizeof order.user_id == sizeof values.user_id, "one buffer for one field");
    memcpy(order.user_id, values.user_id, sizeof order.user_id);
    *ret = order;
    return OK;
}
