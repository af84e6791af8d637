/* Reply documents. The field order is the one api/openapi.yaml shows. */
#include "codec/documents.h"

#include "codec/lines.h"
#include "codec/members.h"

#include <string.h>

void document_order(struct text *out, const struct order *order) {
    text_add_char(out, '{');
    member_integer(out, "id", order->id);
    member_string(out, "orderNumber", order->number);
    member_string(out, "status", order_status_name(order->status));
    member_string(out, "userId", order->user_id);
    member_items(out, order);
    member_integer(out, "totalAmount", order->total_amount);
    member_time(out, "createdAt", order->ordered_at_ms);
    member_time(out, "expiresAt", order->expires_at_ms);
    if (order->payment_requested_at_ms != 0) member_time(out, "paymentRequestedAt", order->payment_requested_at_ms);
    member_integer(out, "version", order->version);
    text_add_char(out, '}');
}

void document_product(struct text *out, const struct product *product) {
    text_add_char(out, '{');
    member_integer(out, "productId", product->id);
    member_string(out, "name", product->name);
    member_integer(out, "price", product->price);
    member_string(out, "status", product->status);
    member_integer(out, "version", product->version);
    member_time(out, "createdAt", product->created_at_ms);
    member_time(out, "updatedAt", product->updated_at_ms);
    text_add_char(out, '}');
}

void document_stock(struct text *out, const struct stock_row *row) {
    text_add_char(out, '{');
    member_integer(out, "productId", row->product_id);
    member_integer(out, "stock", row->stock);
    member_integer(out, "version", row->version);
    member_time(out, "updatedAt", row->updated_at_ms);
    text_add_char(out, '}');
}

/* The order id of "o:42"; null for a reservation's reference and for none. */
static void write_order_id(struct text *out, const char *order_ref) {
    int64_t id = 0;
    member_name(out, "orderId");
    if (strncmp(order_ref, "o:", 2) == 0 && text_parse_i64(order_ref + 2, strlen(order_ref + 2), &id)) {
        text_add_i64(out, id);
    } else {
        text_add(out, "null", 4);
    }
}

void document_movement(struct text *out, const struct movement_row *row) {
    const struct movement *movement = &row->movement;
    text_add_char(out, '{');
    member_integer(out, "id", row->id);
    member_string(out, "kind", movement_kind_name(movement->kind));
    member_integer(out, "delta", movement->delta);
    member_integer(out, "stockAfter", movement->stock_after);
    member_integer(out, "version", movement->version);
    write_order_id(out, movement->order_ref);
    member_string_or_null(out, "reason", movement->reason);
    member_time(out, "at", row->at_ms);
    text_add_char(out, '}');
}

void document_compensation(struct text *out, const struct compensation *row) {
    text_add_char(out, '{');
    member_integer(out, "id", row->id);
    member_integer(out, "orderId", row->order_id);
    member_string(out, "reason", row->reason);
    member_string(out, "status", row->status);
    member_string(out, "paymentKey", row->payment_key);
    member_integer(out, "amount", row->amount);
    member_time(out, "detectedAt", row->detected_at_ms);
    member_time(out, "resolvedAt", row->resolved_at_ms);
    text_add_char(out, '}');
}

void document_reservation(struct text *out, const struct reservation *row, int64_t now_ms) {
    int64_t left_ms = row->expires_at_ms - now_ms;
    text_add_char(out, '{');
    member_string(out, "orderId", row->ref.order_id);
    member_string(out, "status", reservation_status_name(row->status));
    member_name(out, "items");
    lines_write(out, row->items, row->item_count);
    member_string_or_null(out, "reason", row->reason);
    member_time(out, "createdAt", row->created_at_ms);
    member_time(out, "expiresAt", row->expires_at_ms);
    if (row->status == RESERVATION_RESERVED) member_integer(out, "expiresInMs", left_ms > 0 ? left_ms : 0);
    member_time(out, "confirmedAt", row->confirmed_at_ms);
    member_time(out, "releasedAt", row->released_at_ms);
    member_integer(out, "version", row->version);
    text_add_char(out, '}');
}

void document_finding(struct text *out, const struct audit_finding *finding) {
    text_add_char(out, '{');
    member_string(out, "kind", finding->kind);
    member_integer(out, "productId", finding->product_id);
    member_integer(out, "stock", finding->stock);
    member_integer(out, "ledger", finding->ledger);
    member_integer(out, "expected", finding->expected);
    text_add_char(out, '}');
}

void document_problem(struct text *out, enum error error, const char *detail, const char *request_id,
                      const char *extras) {
    const struct error_info *info = error_info(error_public(error));
    text_add_str(out, "{\"type\":\"/problems/");
    text_add_str(out, info->slug);
    text_add_char(out, '"');
    member_string(out, "title", info->title);
    member_integer(out, "status", info->status);
    member_string(out, "code", info->code);
    member_string(out, "detail", detail != NULL ? detail : info->advice);
    member_string_or_null(out, "requestId", request_id != NULL ? request_id : "");
    /* Nothing was written, so the same request may be sent again. */
    if (error_public(error) == ERROR_UNAVAILABLE) text_add_str(out, ",\"retryable\":true");
    if (extras != NULL && extras[0] != '\0') {
        text_add_char(out, ',');
        text_add_str(out, extras);
    }
    text_add_char(out, '}');
}
