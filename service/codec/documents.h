/* Reply and event documents: values → JSON text (api/openapi.yaml). Each appends one whole JSON value. Pure; any
 * thread.
 */
#pragma once

#include "codec/json.h"
#include "domain/records.h"

void document_order(struct text *out, const struct order *order);
void document_product(struct text *out, const struct product *product);
void document_stock(struct text *out, const struct stock_row *row);
void document_movement(struct text *out,
                       const struct movement_row *row); /* orderId: number for "o:42", null otherwise */
void document_compensation(struct text *out, const struct compensation *row);
/* expiresInMs: by now_ms, while it is RESERVED. */
void document_reservation(struct text *out, const struct reservation *row, int64_t now_ms);
void document_finding(struct text *out, const struct audit_finding *finding);

/* Event payloads. items: productId, quantity, unitPrice. */
void document_order_created(
    struct text *out, const struct order *order); /* orderId, orderNumber, userId, totalAmount, items, expiresAt */
void document_order_cancelled(struct text *out, const struct order *order,
                              const char *reason); /* orderId, orderNumber, userId, items, reason */
void document_payment_requested(struct text *out, const struct order *order); /* orderId, userId */
void document_payment(struct text *out, const struct order *order,
                      const struct payment *payment); /* orderId, userId, paymentKey, amount */
void document_refund_required(struct text *out, const struct order *order,
                              const struct compensation *row); /* orderId, userId, paymentKey, amount, reason */
void document_status_changed(struct text *out, const struct order *order);  /* orderId, userId, status */
void document_stock_changed(struct text *out, const struct stock_row *row); /* productId, stock, version */

/* stock.reservation.result: orderId, credential, status, reserved, items, reason, decidedAt, reservationExpiresAt */
void document_reservation_result(struct text *out, const struct reservation *row, int64_t decided_at_ms);

/* {"type","title","status","code","detail","requestId",…extras}; extras: members without braces or NULL. */
void document_problem(struct text *out, enum error error, const char *detail, const char *request_id,
                      const char *extras);
