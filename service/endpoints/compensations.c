/* /v1/compensations: payments that came too late and must be given back. */
#include "codec/bodies.h"
#include "codec/documents.h"
#include "endpoints/common.h"
#include "endpoints/routes.h"
#include "store/reads.h"

#include <string.h>

#define CURSOR_COMPENSATIONS 'c'

static void write_compensation(void *arg, const struct compensation *row) {
    struct read *read = arg;
    if (list_item_begins(read, row->id)) document_compensation(&read->body, row);
}

static const char *const words[] = {"", "OPEN", "RESOLVED", NULL};
static const struct states states = {words, "must be OPEN or RESOLVED"};

static struct result list(struct read *read, struct db *db) {
    list_begin(read);
    const char *status = read->status > 0 ? words[read->status] : NULL;
    TRY(compensations_list(db, status, read->after, read->limit + 1, write_compensation, read));
    list_end(read, CURSOR_COMPENSATIONS);
    return OK;
}

void compensations_list_all(struct request *request) {
    struct read *read = read_by_state(request, CURSOR_COMPENSATIONS, &states, list);
    if (read != NULL) read_start(read);
}

static struct result resolve(struct read *read, struct db *db) {
    struct compensation row;
    TRY(compensations_resolve(db, read->id, &row));
    document_compensation(&read->body, &row);
    return OK;
}

/* Resolving is idempotent by itself, so a key changes nothing; a malformed one is still told. */
void compensations_resolve_one(struct request *request) {
    char key[IDEMPOTENCY_KEY_MAX + 1];
    struct field_errors errors = {0};
    size_t len;
    int64_t id;
    const char *body = request_body(request, &len);
    if (!read_id(request, 0, "id", &id) || !read_idempotency_key(request, key)) return;
    if (failed(body_empty(body, len, &errors))) {
        reply_invalid(request, &errors);
        return;
    }
    struct read *read = read_new(request, resolve);
    read->id = id;
    read_start(read);
}
