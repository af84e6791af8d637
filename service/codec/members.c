/* No printf here: every order passes through these several times. */
#include "codec/members.h"

void member_name(struct text *out, const char *name) {
    if (out->len > 0 && out->data[out->len - 1] != '{') text_add_char(out, ',');
    text_add_char(out, '"');
    text_add_str(out, name);
    text_add(out, "\":", 2);
}

void member_integer(struct text *out, const char *name, int64_t value) {
    member_name(out, name);
    text_add_i64(out, value);
}

void member_string(struct text *out, const char *name, const char *value) {
    member_name(out, name);
    json_write_string(out, value);
}

void member_string_or_null(struct text *out, const char *name, const char *value) {
    member_name(out, name);
    if (value[0] == '\0') {
        text_add(out, "null", 4);
    } else {
        json_write_string(out, value);
    }
}

void member_time(struct text *out, const char *name, int64_t unix_ms) {
    member_name(out, name);
    json_write_time(out, unix_ms);
}

void member_items(struct text *out, const struct order *order) {
    member_name(out, "items");
    text_add_char(out, '[');
    for (size_t i = 0; i < order->item_count; i++) {
        const struct order_item *item = &order->items[i];
        text_add_str(out, i == 0 ? "{" : ",{");
        member_integer(out, "productId", item->product_id);
        member_integer(out, "quantity", item->quantity);
        member_integer(out, "unitPrice", item->unit_price);
        text_add_char(out, '}');
    }
    text_add_char(out, ']');
}
