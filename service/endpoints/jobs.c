/* /v1/queues and the jobs in them, for those who add and look. Claims: job_claims.c. */
#include "base/memory.h"
#include "codec/bodies.h"
#include "codec/bodies_job.h"
#include "codec/cursor.h"
#include "codec/job_documents.h"
#include "endpoints/job_reply.h"
#include "endpoints/lock_reply.h"
#include "endpoints/routes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CURSOR_JOBS 'j'
#define CURSOR_QUEUES 'q'
#define STATUS_CREATED 201

/* -- shared */

const char *queue_read_name(struct request *request, const char *const *allowed, bool is_list) {
    const char *name = request_param(request, 0), *fault = queue_name_fault(name);
    if (!read_query(request, allowed, is_list)) return NULL;
    if (fault != NULL) {
        reply_invalid_field(request, "/queue", fault);
        return NULL;
    }
    if (credential_may_name(request_credential(request), name)) return name;
    request_problem(request, ERROR_FORBIDDEN, "the credential's prefixes do not cover this queue", NULL);
    return NULL;
}

struct read *job_read_new(struct request *request, struct result (*work)(struct read *read, struct db *db)) {
    const char *queue = queue_read_name(request, NULL, false);
    int64_t id;
    if (queue == NULL || !read_id(request, 1, "id", &id)) return NULL;
    struct read *read = read_new(request, work);
    (void)text_copy(read->text, sizeof read->text, queue);
    read->id = id;
    return read;
}

void job_write(struct read *read, struct queued_job *job) {
    document_job(&read->body, job);
    text_done(&job->payload);
}

/* -- adding */

static void free_body(void *own) {
    struct queued_job_body *body = own;
    text_done(&body->payload);
    free(body);
}

#define LOCATION_REST (sizeof "/v1/queues//jobs/9223372036854775807")
static_assert(3 * QUEUE_NAME_MAX + LOCATION_REST <= REPLY_LOCATION_SIZE, "no Location is cut");

static void write_location(struct read *read, const struct queued_job *job) {
    AUTO_TEXT path = text_new(0);
    text_add_str(&path, "/v1/queues/");
    text_add_segment(&path, job->queue);
    text_addf(&path, "/jobs/%lld", (long long)job->id);
    (void)text_copy(read->location, sizeof read->location, text_str(&path));
}

static struct result add(struct read *read, struct db *db) {
    const struct queued_job_body *body = read->own;
    const struct job_new job = {.queue = read->text,
                                .payload = text_str(&body->payload),
                                .dedupe_key = body->dedupe_key,
                                .delay_ms = body->delay_ms,
                                .max_attempts = body->max_attempts};
    struct queued_job added;
    bool created;
    TRY(jobs_add(db, &job, &created, &added));
    if (created) read->http_status = STATUS_CREATED;
    write_location(read, &added);
    job_write(read, &added);
    return OK;
}

void jobs_post(struct request *request) {
    struct field_errors errors = {0};
    size_t len;
    const char *text = request_body(request, &len), *queue = queue_read_name(request, NULL, false);
    if (queue == NULL) return;
    struct queued_job_body *body = mem_new(sizeof *body);
    if (failed(body_job(text, len, &errors, body))) {
        free(body);
        reply_invalid(request, &errors);
        return;
    }
    struct read *read = read_new(request, add);
    (void)text_copy(read->text, sizeof read->text, queue);
    read->own = body;
    read->own_free = free_body;
    read->once = body->dedupe_key[0] == '\0';
    read_start(read);
}

/* -- looking */

static struct result get(struct read *read, struct db *db) {
    struct queued_job job;
    TRY(jobs_read(db, read->text, read->id, &job));
    job_write(read, &job);
    return OK;
}

void jobs_get(struct request *request) {
    struct read *read = job_read_new(request, get);
    if (read != NULL) read_start(read);
}

static void write_listed(void *arg, const struct queued_job *job) {
    struct read *read = arg;
    if (list_item_begins(read, job->id)) document_job(&read->body, job);
}

static struct result list(struct read *read, struct db *db) {
    const struct jobs_page page = {
        .queue = read->text, .status = read->status, .before_id = read->after, .limit = read->limit + 1};
    list_begin(read);
    TRY(jobs_list(db, &page, write_listed, read));
    list_end(read, CURSOR_JOBS);
    return OK;
}

static bool read_status(struct request *request, int *ret) {
    const char *text = request_query(request, "status");
    enum job_status status;
    *ret = -1;
    if (text == NULL) return true;
    if (!job_status_parse(text, &status)) {
        reply_invalid_field(request, "?status", "must be one of READY, CLAIMED, DONE, DEAD");
        return false;
    }
    *ret = (int)status;
    return true;
}

void jobs_list_all(struct request *request) {
    static const char *const allowed[] = {"status", NULL};
    const char *queue = queue_read_name(request, allowed, true);
    size_t limit;
    int64_t before;
    int status;
    if (queue == NULL || !read_list(request, CURSOR_JOBS, INT64_MAX, allowed, &limit, &before)) return;
    if (!read_status(request, &status)) return;
    struct read *read = read_new(request, list);
    (void)text_copy(read->text, sizeof read->text, queue);
    read->limit = limit;
    read->after = before;
    read->status = status;
    read_start(read);
}

/* -- queues */

/* What the credential's prefixes do not cover is not shown. */
struct queue_list {
    const struct credential *credential; /* kept for the process's life */
    char last[QUEUE_NAME_MAX + 1];       /* the last of this page, shown or not */
    size_t seen;
};

static void write_queue(void *arg, const struct queue_counts *row) {
    struct read *read = arg;
    struct queue_list *page = read->own;
    const struct queue_view view = {row->name, row->ready, row->claimed, row->dead};
    read->more = page->seen++ == read->limit;
    if (read->more) return;
    (void)text_copy(page->last, sizeof page->last, row->name);
    if (!credential_may_name(page->credential, row->name)) return;
    if (read->listed++ > 0) text_add_char(&read->body, ',');
    document_queue(&read->body, &view);
}

static struct result list_queues(struct read *read, struct db *db) {
    char cursor[CURSOR_NAME_SIZE], next[CREDENTIAL_SEEK_SIZE];
    struct queue_list *page = read->own;
    page->seen = 0;
    list_begin(read);
    TRY(queues_list(db, read->text, read->limit + 1, write_queue, read));
    if (!read->more || !credential_seek(page->credential, page->last, next)) {
        text_add_str(&read->body, "],\"nextCursor\":null}");
        return OK;
    }
    cursor_write_name(CURSOR_QUEUES, next, cursor);
    text_addf(&read->body, "],\"nextCursor\":\"%s\"}", cursor);
    return OK;
}

void queues_list_all(struct request *request) {
    char after[CURSOR_NAME_MAX + 1] = "";
    const char *cursor = request_query(request, "cursor");
    size_t limit;
    if (!read_query(request, NULL, true) || !read_limit(request, &limit)) return;
    if (cursor != NULL && !cursor_read_name(CURSOR_QUEUES, cursor, after)) {
        reply_invalid_field(request, "?cursor", "is not a cursor of this list");
        return;
    }
    struct queue_list *page = mem_new(sizeof *page);
    page->credential = request_credential(request);
    struct read *read = read_new(request, list_queues);
    (void)text_copy(read->text, sizeof read->text, after);
    read->limit = limit;
    read->own = page;
    read_start(read);
}

/* -- reviving */

static struct result revive(struct read *read, struct db *db) {
    struct queued_job job;
    bool done;
    TRY(jobs_revive(db, read->text, read->id, &done, &job));
    if (!done && job.status != JOB_READY) {
        (void)text_format(read->extras, sizeof read->extras, "\"errors\":[{\"pointer\":\"#/id\",\"detail\":\"is %s\"}]",
                          job_status_name(job.status));
        read->detail = "only a DEAD job is revived";
        text_done(&job.payload);
        FAIL(INVALID_REQUEST, 0);
    }
    job_write(read, &job);
    return OK;
}

void jobs_revive_one(struct request *request) {
    struct field_errors errors = {0};
    size_t len;
    const char *body = request_body(request, &len);
    struct read *read = job_read_new(request, revive);
    if (read == NULL) return;
    if (!failed(body_empty(body, len, &errors))) {
        read_start(read);
        return;
    }
    reply_invalid(request, &errors);
    read_drop(read);
}
