/* POST /v1/orders and /v1/reservations. What comes out is canonical: lines sorted by product, each product once. */
#include "codec/bodies.h"

#include "codec/lines_reader.h"

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

RESULT body_order(const char *body, size_t len, struct field_errors *errors, struct order_body *ret) {
    AUTO_READER reader = {0};
    TRY(reader_open(&reader, body, len, errors));
    struct order_values values = {0};
    reader_object(&reader, &order_fields, reader.root, NULL, &values);
    struct order_body order = {0};
    reader_lines(&reader, values.items, order.lines, &order.line_count);
    TRY(reader_verdict(&reader));
    static_assert(sizeof order.user_id == sizeof values.user_id, "one buffer for one field");
    memcpy(order.user_id, values.user_id, sizeof order.user_id);
    *ret = order;
    return OK;
}

struct reservation_values {
    char order_id[USER_ID_MAX + 1];
    const json_t *items;
    int64_t ttl_ms;
};

static const struct field reservation_list[] = {
    {.name = "orderId",
     .kind = FIELD_TEXT,
     .trimmed = true,
     .offset = offsetof(struct reservation_values, order_id),
     .min = 1,
     .max = USER_ID_MAX},
    {.name = "items",
     .kind = FIELD_ARRAY,
     .offset = offsetof(struct reservation_values, items),
     .min = 1,
     .max = ORDER_LINES_MAX},
    {.name = "ttlMs",
     .kind = FIELD_INTEGER,
     .offset = offsetof(struct reservation_values, ttl_ms),
     .min = RESERVATION_TTL_MS_MIN,
     .max = RESERVATION_TTL_MS_MAX,
     .optional = true},
};
static const struct fields reservation_fields = {reservation_list, 3};

RESULT body_reservation(const char *body, size_t len, struct field_errors *errors, struct reservation_body *ret) {
    AUTO_READER reader = {0};
    TRY(reader_open(&reader, body, len, errors));
    struct reservation_values values = {0};
    reader_object(&reader, &reservation_fields, reader.root, NULL, &values);
    struct reservation_body reservation = {.ttl_ms = values.ttl_ms};
    reader_lines(&reader, values.items, reservation.lines, &reservation.line_count);
    TRY(reader_verdict(&reader));
    static_assert(sizeof reservation.order_id == sizeof values.order_id, "one buffer for one field");
    memcpy(reservation.order_id, values.order_id, sizeof reservation.order_id);
    *ret = reservation;
    return OK;
}
