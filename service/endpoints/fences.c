/* /v1/fences/{name}: the highest fence a resource has seen, for resources that cannot compare by themselves. */
#include "store/fences.h"
#include "codec/bodies_lock.h"
#include "endpoints/lock_reply.h"
#include "endpoints/routes.h"

static struct result raise_mark(struct read *read, struct db *db) {
    int64_t highest;
    TRY(fence_marks_raise(db, read->text, read->id, &highest));
    (void)text_format(read->extras, sizeof read->extras, "\"highest\":%lld", (long long)highest);
    if (highest > read->id) FAIL(STALE_FENCE, 0);
    document_fence(&read->body, highest);
    return OK;
}

void fences_post(struct request *request) {
    struct field_errors errors = {0};
    size_t len;
    int64_t fence;
    const char *body = request_body(request, &len);
    const char *name = lock_read_name(request, NULL);
    if (name == NULL) return;
    if (failed(body_fence(body, len, &errors, &fence))) {
        reply_invalid(request, &errors);
        return;
    }
    struct read *read = read_new(request, raise_mark);
    read->id = fence;
    (void)text_format(read->text, sizeof read->text, "%s", name);
    read_start(read);
}
