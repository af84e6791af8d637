/* GET /v1/schedules and /v1/schedules/{name}: what stands in the table, and our own jobs, also before their first run.
 */
#include "base/memory.h"
#include "codec/cursor.h"
#include "endpoints/routes.h"
#include "endpoints/schedules.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

#define CURSOR_SCHEDULES 's'

struct listing {
    struct read *read;
    const struct config *config;
    const struct credential *credential;
    char after[CURSOR_NAME_MAX + 1];
    const char *jobs[JOB_COUNT]; /* names in the order of the list … */
    size_t next_job;             /* … of which those before this one are done */
    size_t examined;
    char last[CURSOR_NAME_MAX + 1];
};

/* -- one */

static void write_one(struct read *read, const struct config *config, const char *name,
                      const struct shedlock_row *row) {
    enum job_id id = job_by_name(name);
    struct schedule_job_view job;
    const struct schedule_view view = {.name = name,
                                       .held = row->held,
                                       .by = row->by,
                                       .locked_at_ms = row->lock.locked_at_ms,
                                       .lock_until_ms = row->lock.lock_until_ms,
                                       .left_ms = row->held ? row->lock.lock_until_ms - row->now_ms : 0,
                                       .job = id != JOB_COUNT ? &job : NULL};
    if (id != JOB_COUNT)
        job = (struct schedule_job_view){.every_ms = job_every_ms(id, config),
                                         .at_most_ms = job_of(id)->at_most_ms,
                                         .at_least_ms = job_of(id)->at_least_ms,
                                         .runs = metric_get(METRIC_JOB_RUNS, id),
                                         .skips = metric_get(METRIC_JOB_SKIPS, id),
                                         .failures = metric_get(METRIC_JOB_FAILURES, id)};
    document_schedule(&read->body, &view);
}

static struct result read_one(struct read *read, struct db *db) {
    struct listing *listing = read->own;
    struct shedlock_row row;
    TRY(schedule_explain(read, shedlock_read(db, read->text, &row)));
    write_one(read, listing->config, read->text, &row);
    return OK;
}

static struct listing *listing_new(struct request *request, struct result (*work)(struct read *read, struct db *db)) {
    struct listing *listing = mem_new(sizeof *listing);
    listing->read = read_new(request, work);
    listing->read->own = listing;
    listing->config = service_of(request)->config;
    listing->credential = request_credential(request);
    return listing;
}

void schedules_get_one(struct request *request) {
    const char *name = read_query(request, NULL, false) ? schedule_read_name(request) : NULL;
    if (name == NULL) return;
    struct listing *listing = listing_new(request, read_one);
    (void)text_format(listing->read->text, sizeof listing->read->text, "%s", name);
    read_start(listing->read);
}

/* -- all */

/* What the credential's prefixes do not cover takes its place in the page and is not shown. */
static void add(struct listing *listing, const char *name, const struct shedlock_row *row) {
    struct read *read = listing->read;
    if (listing->examined == read->limit) {
        read->more = true;
        return;
    }
    listing->examined++;
    (void)text_format(listing->last, sizeof listing->last, "%s", name);
    if (!credential_may_name(listing->credential, name)) return;
    if (read->listed++ > 0) text_add_char(&read->body, ',');
    write_one(read, listing->config, name, row);
}

/* Jobs before this name have no row; NULL = all that are left. */
static void add_jobs(struct listing *listing, const char *before) {
    static const struct shedlock_row none;
    for (; listing->next_job < JOB_COUNT; listing->next_job++) {
        const char *job = listing->jobs[listing->next_job];
        if (before != NULL && strcmp(job, before) >= 0) return;
        if (strcmp(job, listing->after) > 0) add(listing, job, &none);
    }
}

static void add_row(void *arg, const char *name, const struct shedlock_row *row) {
    struct listing *listing = arg;
    add_jobs(listing, name);
    if (listing->next_job < JOB_COUNT && strcmp(listing->jobs[listing->next_job], name) == 0) listing->next_job++;
    add(listing, name, row);
}

static void end_list(struct listing *listing) {
    char cursor[CURSOR_NAME_SIZE], next[CREDENTIAL_SEEK_SIZE];
    struct text *body = &listing->read->body;
    text_add_str(body, "],\"nextCursor\":");
    if (listing->read->more && credential_seek(listing->credential, listing->last, next)) {
        cursor_write_name(CURSOR_SCHEDULES, next, cursor);
        json_write_string(body, cursor);
    } else {
        text_add_str(body, "null");
    }
    text_add_char(body, '}');
}

static struct result read_all(struct read *read, struct db *db) {
    struct listing *listing = read->own;
    listing->next_job = listing->examined = 0;
    list_begin(read);
    const int64_t limit = (int64_t)read->limit + 1;
    TRY(schedule_explain(read, shedlock_list(db, listing->after, limit, add_row, listing)));
    add_jobs(listing, NULL);
    end_list(listing);
    return OK;
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

void schedules_list_all(struct request *request) {
    const char *cursor = request_query(request, "cursor");
    char after[CURSOR_NAME_MAX + 1] = "";
    size_t limit;
    if (!read_query(request, NULL, true) || !read_limit(request, &limit)) return;
    if (cursor != NULL && (!cursor_read_name(CURSOR_SCHEDULES, cursor, after) || after[0] == '\0')) {
        reply_invalid_field(request, "?cursor", "is not a cursor of this list");
        return;
    }
    struct listing *listing = listing_new(request, read_all);
    listing->read->limit = limit;
    memcpy(listing->after, after, sizeof after);
    for (int id = 0; id < JOB_COUNT; id++) listing->jobs[id] = job_of((enum job_id)id)->name;
    qsort(listing->jobs, JOB_COUNT, sizeof listing->jobs[0], by_name);
    read_start(listing->read);
}
