/* /v1/schedules/{name}: a schedule lock taken, extended, released (MySQL alone; the table is ShedLock's). */
#include "endpoints/schedules.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/memory.h"
#include "codec/digest.h"
#include "domain/lock.h"
#include "endpoints/lock_reply.h"
#include "endpoints/routes.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

#define STATUS_CREATED 201
#define STATUS_NO_CONTENT 204
#define SHOWN_BY_MAX 128 /* bytes of a stranger's locked_by in a problem */

enum { OUTCOME_GRANTED, OUTCOME_HELD };

/* One PUT, PATCH or DELETE on its way; the read owns it. */
struct errand {
    char name[SCHEDULE_NAME_MAX + 1];
    char by[SCHEDULE_BY_MAX + 1];
    char token[SCHEDULE_TOKEN_SIZE];
    char mark[SHEDLOCK_MARK_SIZE];
    int64_t at_most_ms, at_least_ms;
};

/* -- reading */

const char *schedule_read_name(struct request *request) {
    const char *name = request_param(request, 0);
    if (!schedule_name_is_good(name)) {
        reply_invalid_field(request, "/name", "must be 1 to 64 of A-Z a-z 0-9 _ . : -");
        return NULL;
    }
    if (credential_may_name(request_credential(request), name)) return name;
    request_problem(request, ERROR_FORBIDDEN, "the credential's prefixes do not cover this name", NULL);
    return NULL;
}

/* A job of ours whose lock a caller could hold would not run. */
static const char *read_own_name(struct request *request) {
    const char *name = read_query(request, NULL, false) ? schedule_read_name(request) : NULL;
    if (name == NULL || job_by_name(name) == JOB_COUNT || credential_may(request_credential(request), SCOPE_ADMIN))
        return name;
    request_problem(request, ERROR_FORBIDDEN, "names of the service's own jobs need the scope admin", NULL);
    return NULL;
}

static bool read_body(struct request *request, struct schedule_body *ret) {
    struct field_errors errors = {0};
    size_t len;
    const char *body = request_body(request, &len);
    if (!failed(body_schedule(body, len, &errors, ret))) return true;
    reply_invalid(request, &errors);
    return false;
}

/* What stands in the table is no secret: a digest of the credential and the token. */
static void mark_of(const struct request *request, const char *token, char out[SHEDLOCK_MARK_SIZE]) {
    const char *credential = request_credential(request)->name;
    const size_t token_len = fault_on(FAULT_NO_HOLDER_CHECK) ? 0 : strlen(token);
    const struct digest_part parts[] = {{credential, strlen(credential)}, {token, token_len}};
    unsigned char digest[DIGEST_SIZE];
    digest_parts(parts, 2, digest);
    out[0] = '#';
    text_hex(digest, (SHEDLOCK_MARK_SIZE - 2) / 2, out + 1);
}

static void name_by(const struct request *request, const char *given, char out[SCHEDULE_BY_MAX + 1]) {
    char peer[REQUEST_PEER_SIZE];
    request_peer(request, peer);
    if (given[0] != '\0')
        (void)text_format(out, SCHEDULE_BY_MAX + 1, "%s", given);
    else
        (void)text_format(out, SCHEDULE_BY_MAX + 1, "%s@%s", request_credential(request)->name, peer);
}

typedef struct result (*work_fn)(struct read *read, struct db *db);

static struct read *errand_new(struct request *request, const char *name, const char *token, work_fn work) {
    struct read *read = read_new(request, work);
    struct errand *errand = read->own = mem_new(sizeof *errand);
    (void)text_format(errand->name, sizeof errand->name, "%s", name);
    (void)text_format(errand->token, sizeof errand->token, "%s", token);
    mark_of(request, token, errand->mark);
    return read;
}

/* -- writing */

static struct shedlock_terms terms_of(const struct errand *errand) {
    return (struct shedlock_terms){
        .name = errand->name, .by = errand->by, .mark = errand->mark, .at_most_ms = errand->at_most_ms};
}

static void write_grant(struct read *read, const struct shedlock_row *row, int64_t asked_ms) {
    const struct errand *errand = read->own;
    int64_t left_ms = row->lock.lock_until_ms - row->now_ms;
    const struct schedule_grant_view view = {.name = errand->name,
                                             .token = errand->token,
                                             .by = row->by,
                                             .locked_at_ms = row->lock.locked_at_ms,
                                             .lock_until_ms = row->lock.lock_until_ms,
                                             .safe_for_ms = lock_safe_for_ms(left_ms, clock_mono_ms() - asked_ms)};
    document_schedule_grant(&read->body, &view);
    (void)text_format(read->lock_token, sizeof read->lock_token, "%s", errand->token);
}

/* A whole character less rather than half of one. */
static void cut(char *text, size_t max) {
    if (strlen(text) <= max) return;
    while (max > 0 && ((unsigned char)text[max] & 0xc0) == 0x80) max--;
    text[max] = '\0';
}

static void write_locked(struct read *read, struct shedlock_row *row) {
    AUTO_TEXT extras = text_new(0);
    cut(row->by, SHOWN_BY_MAX);
    const struct schedule_view view = {.by = row->by,
                                       .lock_until_ms = row->lock.lock_until_ms,
                                       .left_ms = row->held ? row->lock.lock_until_ms - row->now_ms : 0};
    members_schedule_locked(&extras, &view);
    (void)text_copy(read->extras, sizeof read->extras, text_str(&extras));
}

/* The table's reasons to refuse a name or a text. */
static void write_unfit(struct read *read, const struct shedlock_row *row) {
    struct field_errors errors = {0};
    AUTO_TEXT extras = text_new(0);
    if (row->name[0] != '\0')
        field_errors_add(&errors, "/name", "the table shedlock takes it for another name that stands there");
    else
        field_errors_add(&errors, "/name", "it, or lockedBy, is longer than the columns of the table shedlock");
    field_errors_write(&extras, &errors);
    (void)text_copy(read->extras, sizeof read->extras, text_str(&extras));
}

struct result schedule_explain(struct read *read, struct result result) {
    if (result.code == ERROR_UNAVAILABLE) read->detail = "MySQL is another server than before: locks may be missing";
    if (result.code == ERROR_SCHEDULE_TABLE) read->detail = "the table shedlock cannot be trusted: the log says why";
    return result;
}

/* -- a grant that nobody got */

struct giving_back {
    struct db_job job; /* first */
    struct errand errand;
};

/* What cannot be released now ends by itself. */
static void run_give_back(struct db_job *job, struct db *db) {
    const struct giving_back *giving = CONTAINER_OF(job, struct giving_back, job);
    bool done = false;
    struct result result = shedlock_release(db, giving->errand.name, giving->errand.mark, 0, &done);
    if (failed(result) || !done) LOG(LOG_WARN, "schedule.not_given_back", LOGS("name", giving->errand.name));
}

static void end_give_back(struct db_job *job) { free(CONTAINER_OF(job, struct giving_back, job)); }

/* Its token is known to nobody: no work begins under it, and nobody else would release it before lockAtMostFor. */
static void give_back(struct read *read) {
    if (fault_on(FAULT_NO_GIVE_BACK)) return;
    struct giving_back *giving = mem_new(sizeof *giving);
    giving->job = (struct db_job){.run = run_give_back, .done = end_give_back};
    giving->errand = *(const struct errand *)read->own;
    metric_add(METRIC_SCHEDULE_UNDELIVERED, 0, 1);
    if (!pool_submit_read(read->pool, &giving->job)) free(giving);
}

/* -- PUT */

static struct result take(struct read *read, struct db *db) {
    struct errand *errand = read->own;
    const struct shedlock_terms terms = terms_of(errand);
    int64_t asked_ms = clock_mono_ms();
    struct shedlock_row row;
    bool granted;
    struct result result = shedlock_take(db, &terms, &row, &granted);
    if (result.code == ERROR_INVALID_REQUEST) write_unfit(read, &row);
    TRY(schedule_explain(read, result));
    metric_add(METRIC_SCHEDULE_GRANTS, granted ? OUTCOME_GRANTED : OUTCOME_HELD, 1);
    if (!granted) {
        write_locked(read, &row);
        FAIL(SCHEDULE_LOCKED, 0);
    }
    read->http_status = STATUS_CREATED;
    write_grant(read, &row, asked_ms);
    (void)text_format(read->location, sizeof read->location, "/v1/schedules/%s", errand->name);
    return OK;
}

void schedules_put_one(struct request *request) {
    struct schedule_body body;
    char hex[SCHEDULE_TOKEN_HEX + 1], token[SCHEDULE_TOKEN_SIZE];
    const char *name = read_own_name(request);
    if (name == NULL || !read_body(request, &body)) return;
    text_random_hex(SCHEDULE_TOKEN_HEX / 2, hex);
    schedule_token_write(hex, body.at_least_ms, token);
    struct read *read = errand_new(request, name, token, take);
    struct errand *errand = read->own;
    errand->at_most_ms = body.at_most_ms;
    name_by(request, body.by, errand->by);
    read->lost = give_back;
    read_start(read);
}

/* -- PATCH */

static struct result lose(void) {
    metric_add(METRIC_SCHEDULE_LOST, 0, 1);
    FAIL(SCHEDULE_NOT_HELD, 0);
}

static struct result extend(struct read *read, struct db *db) {
    struct errand *errand = read->own;
    const struct shedlock_terms terms = terms_of(errand);
    int64_t asked_ms = clock_mono_ms();
    struct shedlock_row row;
    bool done;
    TRY(schedule_explain(read, shedlock_extend(db, &terms, errand->at_least_ms, &row, &done)));
    if (!done) return lose();
    write_grant(read, &row, asked_ms);
    return OK;
}

/* The token's own minimum; NULL token: answered. */
static const char *read_token(struct request *request, int64_t *ret_at_least_ms) {
    const char *token = lock_read_token(request);
    if (token == NULL || schedule_token_read(token, ret_at_least_ms)) return token;
    request_problem(request, ERROR_SCHEDULE_NOT_HELD, NULL, NULL);
    return NULL;
}

void schedules_patch_one(struct request *request) {
    struct schedule_body body;
    int64_t at_least_ms;
    const char *name = read_own_name(request);
    if (name == NULL || !read_body(request, &body)) return;
    const char *token = read_token(request, &at_least_ms);
    if (token == NULL) return;
    if (body.at_least_ms > at_least_ms) {
        reply_invalid_field(request, "/lockAtLeastFor", "cannot become longer than it was when the lock was taken");
        return;
    }
    struct read *read = errand_new(request, name, token, extend);
    struct errand *errand = read->own;
    errand->at_most_ms = body.at_most_ms;
    errand->at_least_ms = at_least_ms;
    read_start(read);
}

/* -- DELETE */

static struct result release(struct read *read, struct db *db) {
    struct errand *errand = read->own;
    bool done;
    TRY(schedule_explain(read, shedlock_release(db, errand->name, errand->mark, errand->at_least_ms, &done)));
    if (!done) return lose();
    read->http_status = STATUS_NO_CONTENT;
    return OK;
}

void schedules_delete_one(struct request *request) {
    int64_t at_least_ms;
    const char *name = read_own_name(request);
    if (name == NULL) return;
    const char *token = read_token(request, &at_least_ms);
    if (token == NULL) return;
    struct read *read = errand_new(request, name, token, release);
    struct errand *errand = read->own;
    errand->at_least_ms = at_least_ms;
    read_start(read);
}
