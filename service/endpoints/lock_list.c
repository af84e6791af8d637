/* GET /v1/locks: what is held, by prefix: locks of all kinds, permits, and names kept in the database. */
#include "base/memory.h"
#include "codec/cursor.h"
#include "endpoints/lock_reply.h"
#include "endpoints/routes.h"

#include <stdlib.h>
#include <string.h>

#define STATUS_OK 200
#define CURSOR_LOCKS 'l'

struct list_errand {
    struct request *request; /* NULL: the client hung up */
    size_t count;
    struct text body;
};

static void on_gone(void *arg) {
    struct list_errand *errand = arg;
    errand->request = NULL;
}

/* What the credential's prefixes do not cover is not shown. */
static bool begins_item(struct list_errand *errand, const char *name) {
    if (errand->request == NULL || !credential_may_name(request_credential(errand->request), name)) return false;
    if (errand->count++ > 0) text_add_char(&errand->body, ',');
    return true;
}

static void on_lock(void *arg, const struct lock_status *status) {
    struct list_errand *errand = arg;
    if (begins_item(errand, status->name)) lock_write_status(&errand->body, status, true);
}

static void on_semaphore(void *arg, const struct semaphore_status *status) {
    struct list_errand *errand = arg;
    if (begins_item(errand, status->name)) semaphore_write_status(&errand->body, status, true);
}

static void reply_list(struct list_errand *errand, const char *next, const char *away) {
    char cursor[CURSOR_NAME_SIZE], from[CREDENTIAL_SEEK_SIZE];
    struct reply reply = reply_new(STATUS_OK);
    text_add_str(&errand->body, "],\"nextCursor\":");
    if (next[0] != '\0' && credential_seek(request_credential(errand->request), next, from)) {
        cursor_write_name(CURSOR_LOCKS, from, cursor);
        json_write_string(&errand->body, cursor);
    } else {
        text_add_str(&errand->body, "null");
    }
    lock_write_away(&errand->body, away);
    text_add_char(&errand->body, '}');
    reply.body = TAKE_TEXT(errand->body);
    request_reply(errand->request, reply);
}

static void on_list_done(void *arg, const char *next, const char *away) {
    struct list_errand *errand = arg;
    if (errand->request != NULL && next == NULL)
        request_problem(errand->request, ERROR_LOCK_STORE_DOWN, "nobody can say who holds what", NULL);
    else if (errand->request != NULL)
        reply_list(errand, next, away);
    text_done(&errand->body);
    free(errand);
}

static bool read_prefix(struct request *request, const char **ret) {
    const char *prefix = request_query(request, "prefix");
    *ret = prefix != NULL ? prefix : "";
    if (strlen(*ret) <= LOCK_NAME_MAX) return true;
    reply_invalid_field(request, "?prefix", "has at most 200 bytes");
    return false;
}

void locks_list_all(struct request *request) {
    static const char *const allowed[] = {"prefix", "limit", "cursor", NULL};
    char after[CURSOR_NAME_MAX + 1] = "";
    const char *cursor = request_query(request, "cursor"), *prefix;
    size_t limit;
    if (!read_query(request, allowed, false) || !read_limit(request, &limit) || !read_prefix(request, &prefix)) return;
    if (cursor != NULL && (!cursor_read_name(CURSOR_LOCKS, cursor, after) || after[0] == '\0')) {
        reply_invalid_field(request, "?cursor", "is not a cursor of this list");
        return;
    }
    struct list_errand *errand = mem_new(sizeof *errand);
    errand->request = request;
    errand->body = text_new(0);
    text_add_str(&errand->body, "{\"items\":[");
    const struct lock_list list = {.prefix = prefix,
                                   .after = after,
                                   .limit = limit,
                                   .each = on_lock,
                                   .each_semaphore = on_semaphore,
                                   .done = on_list_done,
                                   .arg = errand};
    request_park(request, on_gone, errand);
    locks_list(service_of(request)->locks, &list);
}
