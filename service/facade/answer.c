#include "facade/answer.h"

#include "codec/documents.h"

#define STATUS_OK 200
#define STATUS_CREATED 201

static void start(struct rider *rider, enum error error, int status) {
    text_done(&rider->answer.body);
    rider->answer = (struct answer){.error = error, .status = status, .body = text_new(0)};
}

void answer_problem(struct rider *rider, enum error error, const char *detail, const char *extras) {
    enum error shown = error_public(error);
    start(rider, shown, error_info(shown)->status);
    document_problem(&rider->answer.body, shown, detail, rider->request_id, extras);
}

static void set_etag(struct rider *rider, int64_t version) {
    (void)text_format(rider->answer.etag, sizeof rider->answer.etag, "\"%lld\"", (long long)version);
}

static void write_finding(struct text *out, const struct decision *decision) {
    struct field_errors errors = {0};
    field_errors_add(&errors, decision->pointer != NULL ? decision->pointer : "", "%s", decision->detail);
    field_errors_write(out, &errors);
}

static void refused_extras(struct text *out, const struct decision *decision) {
    const struct order *order = decision->order;
    switch (decision->error) {
    case ERROR_PRODUCT_NOT_FOUND:
        text_addf(out, "\"productId\":%lld", (long long)decision->product_id);
        return;
    case ERROR_INSUFFICIENT_STOCK:
        text_addf(out, "\"productId\":%lld,\"requested\":%lld,\"available\":%lld,\"version\":%lld",
                  (long long)decision->product_id, (long long)decision->requested, (long long)decision->available,
                  (long long)decision->version);
        return;
    case ERROR_VERSION_MISMATCH:
        text_addf(out, "\"currentVersion\":%lld", (long long)decision->version);
        return;
    case ERROR_ORDER_CANCELLED:
        text_addf(out, "\"orderStatus\":\"%s\"", order_status_name(order->status));
        return;
    case ERROR_ORDER_STATE:
        text_addf(out, "\"orderStatus\":\"%s\",\"allowed\":%s", order_status_name(order->status),
                  decision->time_over ? "[\"CANCELLED\"]" : order_allowed_json(order->status));
        return;
    case ERROR_RESERVATION_STATE:
        text_addf(out, "\"reservationStatus\":\"%s\"", reservation_status_name(decision->reservation->row.status));
        return;
    case ERROR_INVALID_REQUEST:
        write_finding(out, decision);
        return;
    default:
        return;
    }
}

static void answer_refusal(struct rider *rider, const struct decision *decision) {
    AUTO_TEXT extras = text_new(0);
    refused_extras(&extras, decision);
    answer_problem(rider, decision->error, decision->detail, extras.len > 0 ? text_str(&extras) : NULL);
    if (decision->error == ERROR_VERSION_MISMATCH) set_etag(rider, decision->version);
}

static void answer_reservation(struct rider *rider, const struct decision *decision) {
    const struct reservation *row = &decision->reservation->row;
    document_reservation(&rider->answer.body, row, decision->now_ms);
    set_etag(rider, row->version);
    if (!decision->created) return;
    AUTO_TEXT location = text_new(0);
    text_add_str(&location, "/v1/reservations/");
    text_add_segment(&location, row->ref.order_id);
    (void)text_copy(rider->answer.location, sizeof rider->answer.location, text_str(&location));
}

void answer_decision(struct rider *rider, const struct decision *decision) {
    if (decision->error != ERROR_NONE) {
        answer_refusal(rider, decision);
        return;
    }
    start(rider, ERROR_NONE, decision->created ? STATUS_CREATED : STATUS_OK);
    if (decision->reservation != NULL) answer_reservation(rider, decision);
    if (decision->order == NULL) return;
    document_order(&rider->answer.body, decision->order);
    set_etag(rider, decision->order->version);
    if (decision->created)
        (void)text_format(rider->answer.location, sizeof rider->answer.location, "/v1/orders/%lld",
                          (long long)decision->order->id);
}

void answer_stock(struct rider *rider, const struct stock_row *row) {
    bool processed = rider->answer.processed;
    start(rider, ERROR_NONE, STATUS_OK);
    rider->answer.processed = processed;
    document_stock(&rider->answer.body, row);
    set_etag(rider, row->version);
}

void answer_duplicate(struct rider *rider) {
    start(rider, ERROR_NONE, STATUS_OK);
    rider->answer.duplicate = true;
    rider->settled = true;
}
