/* /v1/orders: made, read, listed, paid, cancelled, moved on. */
#include "codec/bodies.h"
#include "codec/documents.h"
#include "endpoints/common.h"
#include "endpoints/routes.h"
#include "store/reads.h"
#include "store/tables.h"

#include <stdlib.h>
#include <string.h>

#define CURSOR_ORDERS 'o'

void orders_create(struct request *request) {
    struct field_errors errors = {0};
    struct order_body parsed;
    size_t len;
    const char *body = request_body(request, &len);
    if (failed(body_order(body, len, &errors, &parsed))) {
        reply_invalid(request, &errors);
        return;
    }
    struct rider *rider = rider_new(COMMAND_ORDER_CREATE, parsed.line_count);
    memcpy(rider->lines, parsed.lines, parsed.line_count * sizeof rider->lines[0]);
    (void)text_copy(rider->command.create.user_id, sizeof rider->command.create.user_id, parsed.user_id);
    command_start(request, rider);
}

static struct result read_one(struct read *read, struct db *db) {
    struct order order = {0};
    TRY(orders_read(db, read->id, &order));
    document_order(&read->body, &order);
    free(order.items);
    read_set_etag(read, order.version);
    return OK;
}

void orders_get(struct request *request) {
    int64_t id;
    if (!read_id(request, 0, "id", &id)) return;
    struct read *read = read_new(request, read_one);
    read->id = id;
    read_start(read);
}

static void write_order(void *arg, const struct order *row) {
    struct read *read = arg;
    if (list_item_begins(read, row->id)) document_order(&read->body, row);
}

static struct result read_list_of_orders(struct read *read, struct db *db) {
    list_begin(read);
    TRY(orders_list(db, read->text[0] ? read->text : NULL, read->status, read->after, read->limit + 1, write_order,
                    read));
    list_end(read, CURSOR_ORDERS);
    return OK;
}

/* ?status=; -1 without one. */
static bool read_status(struct request *request, int *ret) {
    const char *name = request_query(request, "status");
    enum order_status status = ORDER_PENDING;
    *ret = -1;
    if (name == NULL) return true;
    if (!order_status_parse(name, &status)) {
        reply_invalid_field(request, "?status", "is not an order status");
        return false;
    }
    *ret = (int)status;
    return true;
}

static bool is_user_id(const char *text) {
    size_t len = strlen(text);
    return len >= 1 && len <= USER_ID_MAX && text[0] != ' ' && text[len - 1] != ' ';
}

void orders_list_all(struct request *request) {
    static const char *const allowed[] = {"userId", "status", NULL};
    size_t limit;
    int64_t before;
    int status;
    if (!read_list(request, CURSOR_ORDERS, INT64_MAX, allowed, &limit, &before) || !read_status(request, &status))
        return;
    const char *user_id = request_query(request, "userId");
    if (user_id != NULL && !is_user_id(user_id)) {
        reply_invalid_field(request, "?userId", "must have 1 to 64 bytes and no space at its ends");
        return;
    }
    struct read *read = read_new(request, read_list_of_orders);
    read->after = before;
    read->limit = limit;
    read->status = status;
    if (user_id != NULL) (void)text_copy(read->text, sizeof read->text, user_id);
    read_start(read);
}

/* -- on one order */

static struct rider *rider_on(int64_t order_id, enum command_kind kind) {
    struct rider *rider = rider_new(kind, 0);
    rider->command.order_id = order_id;
    return rider;
}

void orders_payment_request(struct request *request) {
    struct field_errors errors = {0};
    size_t len;
    int64_t id;
    const char *body = request_body(request, &len);
    if (!read_id(request, 0, "id", &id)) return;
    if (failed(body_empty(body, len, &errors)))
        reply_invalid(request, &errors);
    else
        command_start(request, rider_on(id, COMMAND_PAYMENT_REQUEST));
}

void orders_payment(struct request *request) {
    struct field_errors errors = {0};
    struct payment_body parsed;
    size_t len;
    int64_t id;
    const char *body = request_body(request, &len);
    if (!read_id(request, 0, "id", &id)) return;
    if (failed(body_payment(body, len, &errors, &parsed))) {
        reply_invalid(request, &errors);
        return;
    }
    struct rider *rider = rider_on(id, COMMAND_PAYMENT);
    rider->command.payment.completed = parsed.completed;
    rider->command.payment.amount = parsed.amount;
    (void)text_copy(rider->command.payment.payment_key, sizeof rider->command.payment.payment_key, parsed.payment_key);
    command_start(request, rider);
}

void orders_cancel(struct request *request) {
    struct field_errors errors = {0};
    struct cancel_body parsed;
    size_t len;
    int64_t id;
    const char *body = request_body(request, &len);
    if (!read_id(request, 0, "id", &id)) return;
    if (failed(body_cancel(body, len, &errors, &parsed))) {
        reply_invalid(request, &errors);
        return;
    }
    struct rider *rider = rider_on(id, COMMAND_ORDER_CANCEL);
    (void)text_copy(rider->command.cancel.reason, sizeof rider->command.cancel.reason, parsed.reason);
    command_start(request, rider);
}

void orders_set_status(struct request *request) {
    struct field_errors errors = {0};
    struct status_body parsed;
    size_t len;
    int64_t id;
    const char *body = request_body(request, &len);
    if (!read_id(request, 0, "id", &id)) return;
    if (failed(body_status(body, len, &errors, &parsed))) {
        reply_invalid(request, &errors);
        return;
    }
    struct rider *rider = rider_on(id, COMMAND_ORDER_STATUS);
    rider->command.status.status = parsed.status;
    command_start(request, rider);
}
