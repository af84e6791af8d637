/* /v1/reservations: stock for services that keep their own orders. An order id belongs to the caller's credential. */
#include "store/reservations.h"
#include "codec/bodies.h"
#include "codec/documents.h"
#include "endpoints/common.h"
#include "endpoints/routes.h"

#include <stdlib.h>
#include <string.h>

static const char *credential_of(const struct request *request) { return request_credential(request)->name; }

void reservations_create(struct request *request) {
    struct field_errors errors = {0};
    struct reservation_body parsed;
    size_t len;
    const char *body = request_body(request, &len);
    if (failed(body_reservation(body, len, &errors, &parsed))) {
        reply_invalid(request, &errors);
        return;
    }
    struct rider *rider =
        rider_for_reservation(COMMAND_RESERVE, credential_of(request), parsed.order_id, parsed.line_count);
    memcpy(rider->lines, parsed.lines, parsed.line_count * sizeof rider->lines[0]);
    rider->command.reservation.ttl_ms =
        parsed.ttl_ms != 0 ? parsed.ttl_ms : service_of(request)->config->reservation_ttl;
    command_start(request, rider);
}

/* The path's order id, as a body's; NULL: answered. */
static const char *read_order_id(struct request *request) {
    const char *text = request_param(request, 0);
    size_t len = strlen(text);
    if (len >= 1 && len <= USER_ID_MAX && text[0] != ' ' && text[len - 1] != ' ' && text_is_printable_utf8(text, len))
        return text;
    reply_invalid_field(request, "/orderId", "must have 1 to 64 printable bytes and no space at its ends");
    return NULL;
}

static void start_on(struct request *request, enum command_kind kind) {
    struct field_errors errors = {0};
    size_t len;
    const char *body = request_body(request, &len), *order_id = read_order_id(request);
    if (order_id == NULL) return;
    if (failed(body_empty(body, len, &errors)))
        reply_invalid(request, &errors);
    else
        command_start(request, rider_for_reservation(kind, credential_of(request), order_id, 0));
}

void reservations_confirm(struct request *request) { start_on(request, COMMAND_RESERVATION_CONFIRM); }

void reservations_release(struct request *request) { start_on(request, COMMAND_RESERVATION_RELEASE); }

/* read->text: the order id, a NUL, the credential. */
static struct result get_one(struct read *read, struct db *db) {
    struct reservation row = {0};
    int64_t now_ms = 0;
    struct reservation_ref ref = {0};
    const char *credential = read->text + strlen(read->text) + 1;
    (void)text_copy(ref.order_id, sizeof ref.order_id, read->text);
    (void)text_copy(ref.credential, sizeof ref.credential, credential);
    TRY(reservations_read(db, &ref, &row, &now_ms));
    document_reservation(&read->body, &row, now_ms);
    free(row.items);
    read_set_etag(read, row.version);
    return OK;
}

void reservations_get(struct request *request) {
    const char *order_id = read_order_id(request);
    if (order_id == NULL) return;
    struct read *read = read_new(request, get_one);
    size_t len = strlen(order_id);
    (void)text_copy(read->text, sizeof read->text, order_id);
    (void)text_copy(read->text + len + 1, sizeof read->text - len - 1, credential_of(request));
    read_start(read);
}
