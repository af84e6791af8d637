/* Short reads on a worker: park, work, reply. */
#include "base/memory.h"
#include "codec/cursor.h"
#include "endpoints/common.h"
#include "metrics/metrics.h"

#include <stdlib.h>

#define STATUS_OK 200

static void free_read(struct read *read) {
    text_done(&read->body);
    if (read->own_free != NULL) read->own_free(read->own);
    free(read->own_free == NULL ? read->own : NULL);
    free(read);
}

static void on_gone(void *arg) {
    struct read *read = arg;
    read->request = NULL; /* the work may be under way: its end frees the record */
}

static void begin(struct read *read) {
    text_clear(&read->body);
    read->http_status = STATUS_OK;
    read->listed = 0;
    read->more = false;
}

/* What runs here can be run twice, so a connection that broke since its last use (the server was restarted) costs a new
 * one, not an error. */
static void run(struct db_job *job, struct db *db) {
    struct read *read = CONTAINER_OF(job, struct read, job);
    read->result = read->work(read, db);
    bool is_unknown = read->result.code == ERROR_COMMIT_UNKNOWN && !read->once;
    if (read->result.code != ERROR_STORE_LOST && !is_unknown) return;
    struct db *fresh = NULL;
    if (failed(pool_connect(read->pool, &fresh))) return;
    begin(read);
    read->result = read->work(read, fresh);
    fresh = db_close(fresh);
}

static void send(struct read *read) {
    struct reply reply = reply_new(read->http_status);
    reply.body = TAKE_TEXT(read->body);
    (void)text_copy(reply.etag, sizeof reply.etag, read->etag);
    (void)text_copy(reply.location, sizeof reply.location, read->location);
    (void)text_copy(reply.lock_token, sizeof reply.lock_token, read->lock_token);
    request_reply(read->request, reply);
}

/* What the work has written down beside its own refusals says nothing of a database that went away meanwhile. */
static void refuse(struct read *read, enum error error) {
    bool has_extras = read->extras[0] != '\0' && error_public(error) != ERROR_UNAVAILABLE;
    request_problem(read->request, error, read->detail, has_extras ? read->extras : NULL);
}

static void on_sent(void *arg, bool whole) {
    struct read *read = arg;
    if (!whole) read->lost(read);
    free_read(read);
}

static void send_watched(struct read *read) {
    request_on_sent(read->request, on_sent, read);
    send(read);
}

static void done(struct db_job *job) {
    struct read *read = CONTAINER_OF(job, struct read, job);
    struct result result = failed(job->connection) ? job->connection : read->result;
    bool is_watched = read->lost != NULL && !failed(result);
    if (read->request != NULL && is_watched) {
        send_watched(read);
        return;
    }
    if (is_watched) read->lost(read);
    if (read->request != NULL && failed(result))
        refuse(read, (enum error)result.code);
    else if (read->request != NULL)
        send(read);
    free_read(read);
}

struct read *read_new(struct request *request, struct result (*work)(struct read *read, struct db *db)) {
    struct read *read = mem_new(sizeof *read);
    read->request = request;
    read->pool = service_of(request)->pool;
    read->work = work;
    read->body = text_new(0);
    begin(read);
    read->job.run = run;
    read->job.done = done;
    return read;
}

void read_start(struct read *read) {
    struct request *request = read->request;
    if (pool_submit_read(service_of(request)->pool, &read->job)) {
        request_park(request, on_gone, read);
        return;
    }
    metric_add(METRIC_REFUSED, 3, 1);
    request_problem(request, ERROR_UNAVAILABLE, "too many reads are waiting", NULL);
    free_read(read);
}

void read_drop(struct read *read) { free_read(read); }

void read_set_etag(struct read *read, int64_t version) {
    (void)text_format(read->etag, sizeof read->etag, "\"%lld\"", (long long)version);
}

void list_begin(struct read *read) { text_add_str(&read->body, "{\"items\":["); }

bool list_item_begins(struct read *read, int64_t id) {
    if (read->listed == read->limit) {
        read->more = true;
        return false;
    }
    if (read->listed++ > 0) text_add_char(&read->body, ',');
    read->last_id = id;
    return true;
}

static void end_with(struct read *read, const char *cursor) {
    text_add_str(&read->body, "],\"nextCursor\":");
    if (read->more)
        json_write_string(&read->body, cursor);
    else
        text_add_str(&read->body, "null");
    text_add_char(&read->body, '}');
}

void list_end(struct read *read, char kind) {
    char cursor[CURSOR_SIZE];
    cursor_write(kind, read->last_id, cursor);
    end_with(read, cursor);
}

void list_end_name(struct read *read, char kind) {
    char cursor[CURSOR_NAME_SIZE];
    cursor_write_name(kind, read->last_name, cursor);
    end_with(read, cursor);
}
