/* Every body decoder on any bytes. The first byte chooses the decoder, the rest is the body. What must hold:
   1. A decoder succeeds when, and only when, it found nothing.
   2. Findings are always written as a JSON value, whatever the client sent.
   3. An order that was accepted, written out again and read again, is the same order. */
#include "codec/bodies.h"
#include "codec/bodies_lock.h"
#include "codec/lines.h"

#include "decoders.h"

static void write_order(struct text *out, const struct order_body *order) {
    text_add_str(out, "{\"userId\":");
    json_write_string(out, order->user_id);
    text_add_str(out, ",\"items\":[");
    for (size_t i = 0; i < order->line_count; i++) {
        text_add_str(out, i == 0 ? "{\"productId\":" : ",{\"productId\":");
        text_add_i64(out, order->lines[i].product_id);
        text_add_str(out, ",\"quantity\":");
        text_add_i64(out, order->lines[i].quantity);
        text_add_char(out, '}');
    }
    text_add_str(out, "]}");
}

static struct result decode_order(const char *body, size_t len, struct field_errors *errors) {
    struct order_body order, again;
    const struct result result = body_order(body, len, errors, &order);
    if (failed(result)) return result;
    AUTO_TEXT out = text_new(0);
    write_order(&out, &order);
    struct field_errors none;
    require(!failed(body_order(out.data, out.len, &none, &again)));
    require(strcmp(order.user_id, again.user_id) == 0 && order.line_count == again.line_count);
    require(memcmp(order.lines, again.lines, order.line_count * sizeof *order.lines) == 0);
    return result;
}

static struct result decode_payment(const char *body, size_t len, struct field_errors *errors) {
    struct payment_body value;
    return body_payment(body, len, errors, &value);
}
static struct result decode_cancel(const char *body, size_t len, struct field_errors *errors) {
    struct cancel_body value;
    return body_cancel(body, len, errors, &value);
}
static struct result decode_status(const char *body, size_t len, struct field_errors *errors) {
    struct status_body value;
    return body_status(body, len, errors, &value);
}
static struct result decode_product(const char *body, size_t len, struct field_errors *errors) {
    struct product_body value;
    return body_product(body, len, errors, &value);
}
static struct result decode_stock(const char *body, size_t len, struct field_errors *errors) {
    struct stock_body value;
    return body_stock(body, len, errors, &value);
}
static struct result decode_adjustment(const char *body, size_t len, struct field_errors *errors) {
    struct adjustment_body value;
    return body_adjustment(body, len, errors, &value);
}

/* Touches every string of an entry, for the sanitizer to see. */
static void visit_token(void *arg, const struct token_entry *entry) {
    size_t *bytes = arg;
    *bytes += strlen(entry->name);
    for (size_t i = 0; i < entry->scope_count; i++) *bytes += strlen(entry->scopes[i]);
    for (size_t i = 0; i < entry->prefix_count; i++) *bytes += strlen(entry->prefixes[i]);
}
static struct result decode_tokens(const char *body, size_t len, struct field_errors *errors) {
    size_t bytes = 0;
    const struct result result = body_tokens(body, len, errors, visit_token, &bytes);
    require(!failed(result) || bytes == 0);
    return result;
}

/* Metadata that was accepted is JSON of at most its limit. */
static void check_terms(const struct lock_body *body) {
    AUTO_TEXT again = text_new(0);
    struct field_errors none;
    require(body->metadata.len <= LOCK_METADATA_MAX);
    if (body->metadata.len == 0) return;
    text_addf(&again, "{\"metadata\":%s}", text_str(&body->metadata));
    struct lock_body value;
    require(!failed(body_lock(text_str(&again), again.len, &none, &value)));
    require(strcmp(text_str(&value.metadata), text_str(&body->metadata)) == 0);
    lock_body_done(&value);
}
static struct result decode_lock(const char *body, size_t len, struct field_errors *errors) {
    struct lock_body value;
    const struct result result = body_lock(body, len, errors, &value);
    if (failed(result)) return result;
    check_terms(&value);
    lock_body_done(&value);
    return result;
}
static struct result decode_lock_set(const char *body, size_t len, struct field_errors *errors) {
    struct lock_set_body value;
    const struct result result = body_lock_set(body, len, errors, &value);
    if (failed(result)) return result;
    require(value.count >= 1 && value.count <= LOCK_SET_MAX);
    check_terms(&value.terms);
    lock_set_body_done(&value);
    return result;
}
static struct result decode_lock_renewal(const char *body, size_t len, struct field_errors *errors) {
    int64_t ttl_ms;
    return body_lock_renewal(body, len, errors, &ttl_ms);
}
static struct result decode_fence(const char *body, size_t len, struct field_errors *errors) {
    int64_t fence;
    return body_fence(body, len, errors, &fence);
}

static struct result decode_reservation(const char *body, size_t len, struct field_errors *errors) {
    struct reservation_body value;
    const struct result result = body_reservation(body, len, errors, &value);
    if (failed(result)) return result;
    require(value.line_count >= 1 && value.line_count <= ORDER_LINES_MAX);
    AUTO_TEXT json = text_new(0);
    struct line lines[ORDER_LINES_MAX];
    size_t count;
    lines_write(&json, value.lines, value.line_count);
    require(!failed(lines_read(json.data, json.len, lines, &count)) && count == value.line_count);
    return result;
}

static const decoder_fn decoders[] = {
    decode_order,    decode_payment,      decode_cancel,     decode_status,      body_empty,
    decode_product,  decode_stock,        decode_adjustment, decode_tokens,      decode_lock,
    decode_lock_set, decode_lock_renewal, decode_fence,      decode_reservation,
};
#define DECODERS (sizeof decoders / sizeof *decoders)

/* {"errors":[…]} is an object with one unknown field: the strict reader itself says that it is JSON. */
static void check_findings(const struct field_errors *errors) {
    AUTO_TEXT out = text_new(0);
    text_add_char(&out, '{');
    field_errors_write(&out, errors);
    text_add_char(&out, '}');
    struct field_errors about;
    require(failed(body_empty(out.data, out.len, &about)));
    require(about.count == 1 && strcmp(about.list[0].pointer, "/errors") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    AUTO_FREE char *body = body_of(data, size);
    struct field_errors errors;
    const struct result result = decode(decoders[data[0] % DECODERS], body, size - 1, &errors);
    require(!failed(result) || result.code == ERROR_INVALID_REQUEST);
    check_findings(&errors);
    return 0;
}
