/* /v1/products: what is sold, at what price. */
#include "codec/bodies.h"
#include "codec/documents.h"
#include "endpoints/common.h"
#include "endpoints/routes.h"
#include "store/reads.h"

#define CURSOR_PRODUCTS 'p'
#define STATUS_CREATED 201

/* The stock.changed event of a new product. */
static struct result put(struct read *read, struct db *db) {
    struct product product;
    bool created = false;
    AUTO_TEXT payload = text_new(0);
    struct stock_row row = {.product_id = read->id, .stock = read->stock < 0 ? 0 : read->stock};
    document_stock_changed(&payload, &row);
    struct event event = {.aggregate_type = "PRODUCT", .event_type = "stock.changed"};
    text_uuid(event.event_id);
    (void)text_format(event.aggregate_id, sizeof event.aggregate_id, "%lld", (long long)read->id);
    event.payload = text_str(&payload);
    event.payload_len = payload.len;
    struct result result = products_put(db, read->id, read->text, read->price, read->stock, &event, &created, &product);
    if (result.code == ERROR_INVALID_REQUEST) {
        struct field_errors errors = {0};
        read->detail = "stock is given at creation only; change it by PUT /v1/inventory/{productId} or an adjustment";
        field_errors_add(&errors, "/stock", "%s", read->detail);
        AUTO_TEXT extras = text_new(0);
        field_errors_write(&extras, &errors);
        (void)text_copy(read->extras, sizeof read->extras, text_str(&extras));
    }
    TRY(result);
    if (created) read->http_status = STATUS_CREATED;
    if (created) (void)text_format(read->location, sizeof read->location, "/v1/products/%lld", (long long)read->id);
    document_product(&read->body, &product);
    return OK;
}

void products_put_one(struct request *request) {
    struct field_errors errors = {0};
    struct product_body parsed;
    size_t len;
    int64_t id;
    const char *body = request_body(request, &len);
    if (!read_id(request, 0, "productId", &id)) return;
    if (failed(body_product(body, len, &errors, &parsed))) {
        reply_invalid(request, &errors);
        return;
    }
    struct read *read = read_new(request, put);
    read->id = id;
    read->price = parsed.price;
    read->stock = parsed.stock;
    (void)text_copy(read->text, sizeof read->text, parsed.name);
    read_start(read);
}

static struct result get(struct read *read, struct db *db) {
    struct product product;
    (void)text_format(read->extras, sizeof read->extras, "\"productId\":%lld", (long long)read->id);
    TRY(products_read(db, read->id, &product));
    document_product(&read->body, &product);
    return OK;
}

void products_get(struct request *request) {
    int64_t id;
    if (!read_id(request, 0, "productId", &id)) return;
    struct read *read = read_new(request, get);
    read->id = id;
    read_start(read);
}

static void write_product(void *arg, const struct product *row) {
    struct read *read = arg;
    if (list_item_begins(read, row->id)) document_product(&read->body, row);
}

static struct result list(struct read *read, struct db *db) {
    list_begin(read);
    TRY(products_list(db, read->after, read->limit + 1, write_product, read));
    list_end(read, CURSOR_PRODUCTS);
    return OK;
}

void products_list_all(struct request *request) {
    size_t limit;
    int64_t after;
    if (!read_list(request, CURSOR_PRODUCTS, 0, NULL, &limit, &after)) return;
    struct read *read = read_new(request, list);
    read->limit = limit;
    read->after = after;
    read_start(read);
}
