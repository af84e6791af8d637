/* Bodies of products and stock. */
#include "codec/bodies.h"

#include "codec/fields.h"

static const struct field product_list[] = {
    {.name = "name",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct product_body, name),
     .min = 1,
     .max = PRODUCT_NAME_MAX,
     .in_characters = true},
    {.name = "price", .kind = FIELD_INTEGER, .offset = offsetof(struct product_body, price), .max = MONEY_MAX},
    {.name = "stock",
     .kind = FIELD_INTEGER,
     .offset = offsetof(struct product_body, stock),
     .max = STOCK_MAX,
     .optional = true},
};
static const struct fields product_fields = {product_list, 3};

RESULT body_product(const char *body, size_t len, struct field_errors *errors, struct product_body *ret) {
    struct product_body values = {.stock = -1};
    TRY(fields_decode(&product_fields, body, len, errors, &values));
    *ret = values;
    return OK;
}

static const struct field stock_list[] = {
    {.name = "stock", .kind = FIELD_INTEGER, .offset = offsetof(struct stock_body, stock), .max = STOCK_MAX},
};
static const struct fields stock_fields = {stock_list, 1};

RESULT body_stock(const char *body, size_t len, struct field_errors *errors, struct stock_body *ret) {
    struct stock_body values = {0};
    TRY(fields_decode(&stock_fields, body, len, errors, &values));
    *ret = values;
    return OK;
}

static const struct field adjustment_list[] = {
    {.name = "delta",
     .kind = FIELD_INTEGER,
     .offset = offsetof(struct adjustment_body, delta),
     .min = -STOCK_MAX,
     .max = STOCK_MAX,
     .not_zero = true},
    {.name = "reason",
     .kind = FIELD_TEXT,
     .offset = offsetof(struct adjustment_body, reason),
     .min = 1,
     .max = REASON_MAX},
};
static const struct fields adjustment_fields = {adjustment_list, 2};

RESULT body_adjustment(const char *body, size_t len, struct field_errors *errors, struct adjustment_body *ret) {
    struct adjustment_body values = {0};
    TRY(fields_decode(&adjustment_fields, body, len, errors, &values));
    *ret = values;
    return OK;
}
