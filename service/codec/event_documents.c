/* Payloads of events (api/openapi.yaml). Order ids are numbers, as in the replies; only additive changes are allowed.
 */
#include "codec/documents.h"

#include "codec/lines.h"
#include "codec/members.h"

static void write_order_and_user(struct text *out, const struct order *order) {
    member_integer(out, "orderId", order->id);
    member_string(out, "userId", order->user_id);
}

static void write_head(struct text *out, const struct order *order) {
    member_integer(out, "orderId", order->id);
    member_string(out, "orderNumber", order->number);
    member_string(out, "userId", order->user_id);
}

void document_order_created(struct text *out, const struct order *order) {
    text_add_char(out, '{');
    write_head(out, order);
    member_integer(out, "totalAmount", order->total_amount);
    member_items(out, order);
    member_time(out, "expiresAt", order->expires_at_ms);
    text_add_char(out, '}');
}

void document_order_cancelled(struct text *out, const struct order *order, const char *reason) {
    text_add_char(out, '{');
    write_head(out, order);
    member_items(out, order);
    member_string(out, "reason", reason);
    text_add_char(out, '}');
}

void document_payment_requested(struct text *out, const struct order *order) {
    text_add_char(out, '{');
    write_order_and_user(out, order);
    text_add_char(out, '}');
}

void document_payment(struct text *out, const struct order *order, const struct payment *payment) {
    text_add_char(out, '{');
    write_order_and_user(out, order);
    member_string(out, "paymentKey", payment->payment_key);
    member_integer(out, "amount", payment->amount);
    text_add_char(out, '}');
}

void document_refund_required(struct text *out, const struct order *order, const struct compensation *row) {
    text_add_char(out, '{');
    write_order_and_user(out, order);
    member_string(out, "paymentKey", row->payment_key);
    member_integer(out, "amount", row->amount);
    member_string(out, "reason", row->reason);
    text_add_char(out, '}');
}

void document_status_changed(struct text *out, const struct order *order) {
    text_add_char(out, '{');
    write_order_and_user(out, order);
    member_string(out, "status", order_status_name(order->status));
    text_add_char(out, '}');
}

void document_stock_changed(struct text *out, const struct stock_row *row) {
    text_add_char(out, '{');
    member_integer(out, "productId", row->product_id);
    member_integer(out, "stock", row->stock);
    member_integer(out, "version", row->version);
    text_add_char(out, '}');
}

void document_reservation_result(struct text *out, const struct reservation *row, int64_t decided_at_ms) {
    text_add_char(out, '{');
    member_string(out, "orderId", row->ref.order_id);
    member_string(out, "credential", row->ref.credential);
    member_string(out, "status", reservation_status_name(row->status));
    member_name(out, "reserved");
    text_add_str(out, reservation_holds_stock(row->status) ? "true" : "false");
    member_name(out, "items");
    lines_write(out, row->items, row->item_count);
    member_string_or_null(out, "reason", row->reason);
    member_time(out, "decidedAt", decided_at_ms);
    member_time(out, "reservationExpiresAt", row->expires_at_ms);
    text_add_char(out, '}');
}
