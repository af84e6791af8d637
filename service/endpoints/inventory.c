/* /v1/inventory: stock, its ledger, its audit. Changes ride trains like orders do. */
#include "codec/bodies.h"
#include "codec/documents.h"
#include "endpoints/common.h"
#include "endpoints/routes.h"
#include "store/reads.h"

#include <string.h>

#define CURSOR_MOVEMENTS 'm'
#define AUDIT_FINDINGS_MAX 1000 /* in one answer; the rest is worth a second look after these are mended */

static struct result get(struct read *read, struct db *db) {
    struct stock_row row;
    (void)text_format(read->extras, sizeof read->extras, "\"productId\":%lld", (long long)read->id);
    TRY(inventory_read(db, read->id, &row));
    document_stock(&read->body, &row);
    read_set_etag(read, row.version);
    return OK;
}

void inventory_get(struct request *request) {
    int64_t id;
    if (!read_id(request, 0, "productId", &id)) return;
    struct read *read = read_new(request, get);
    read->id = id;
    read_start(read);
}

static struct rider *rider_on(int64_t product_id, enum command_kind kind) {
    struct rider *rider = rider_new(kind, 1);
    rider->lines[0] = (struct line){product_id, 0};
    return rider;
}

void inventory_put(struct request *request) {
    struct field_errors errors = {0};
    struct stock_body parsed;
    size_t len;
    int64_t id;
    const char *body = request_body(request, &len);
    if (!read_id(request, 0, "productId", &id)) return;
    if (failed(body_stock(body, len, &errors, &parsed))) {
        reply_invalid(request, &errors);
        return;
    }
    struct rider *rider = rider_on(id, COMMAND_STOCK_SET);
    rider->command.set.stock = parsed.stock;
    if (read_if_match(request, &rider->command))
        command_start(request, rider);
    else
        rider_free(rider);
}

void inventory_adjust(struct request *request) {
    struct field_errors errors = {0};
    struct adjustment_body parsed;
    size_t len;
    int64_t id;
    const char *body = request_body(request, &len);
    if (!read_id(request, 0, "productId", &id)) return;
    if (failed(body_adjustment(body, len, &errors, &parsed))) {
        reply_invalid(request, &errors);
        return;
    }
    struct rider *rider = rider_on(id, COMMAND_STOCK_ADJUST);
    rider->command.adjust.delta = parsed.delta;
    (void)text_copy(rider->command.adjust.reason, sizeof rider->command.adjust.reason, parsed.reason);
    command_start(request, rider);
}

static void write_movement(void *arg, const struct movement_row *row) {
    struct read *read = arg;
    if (list_item_begins(read, row->id)) document_movement(&read->body, row);
}

static struct result list_movements(struct read *read, struct db *db) {
    (void)text_format(read->extras, sizeof read->extras, "\"productId\":%lld", (long long)read->id);
    list_begin(read);
    TRY(movements_list(db, read->id, read->after, read->limit + 1, write_movement, read));
    list_end(read, CURSOR_MOVEMENTS);
    return OK;
}

void inventory_movements(struct request *request) {
    int64_t id, before;
    size_t limit;
    if (!read_id(request, 0, "productId", &id) ||
        !read_list(request, CURSOR_MOVEMENTS, INT64_MAX, NULL, &limit, &before))
        return;
    struct read *read = read_new(request, list_movements);
    read->id = id;
    read->after = before;
    read->limit = limit;
    read_start(read);
}

/* Two arrays from one pass: findings of foreign writers and violations. */
struct findings {
    struct text violations, foreign;
};

static void write_finding(void *arg, const struct audit_finding *finding) {
    struct findings *findings = arg;
    struct text *out = strcmp(finding->kind, "foreign") == 0 ? &findings->foreign : &findings->violations;
    if (out->len > 0) text_add_char(out, ',');
    document_finding(out, finding);
}

static struct result audit(struct read *read, struct db *db) {
    struct findings findings = {text_new(0), text_new(0)};
    int64_t products = 0, checked_at_ms = 0;
    struct result result = audit_run(db, AUDIT_FINDINGS_MAX, &products, &checked_at_ms, write_finding, &findings);
    text_addf(&read->body, "{\"products\":%lld,\"violations\":[", (long long)products);
    text_add(&read->body, text_str(&findings.violations), findings.violations.len);
    text_add_str(&read->body, "],\"foreign\":[");
    text_add(&read->body, text_str(&findings.foreign), findings.foreign.len);
    text_add_str(&read->body, "],\"checkedAt\":");
    json_write_time(&read->body, checked_at_ms);
    text_add_char(&read->body, '}');
    text_done(&findings.violations);
    text_done(&findings.foreign);
    return result;
}

void inventory_audit(struct request *request) { read_start(read_new(request, audit)); }
