/* 1 Rows are sorted so that at the first segment where two patterns differ a literal stands before a parameter: the
 *   first row that matches is the one meant.
 * 2 The table is short (some dozens of rows), so a scan over the rows of one method beats a tree.
 * 3 Labels are the process's, one a text, and stay: metrics keep them, and several servers may share a table. */
#include "http/router.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const struct route *route;
    const char *label;
    char *pattern; /* cut into segments */
    const char *segments[TARGET_SEGMENTS_MAX];
    size_t segment_count;
};

struct router {
    struct row *rows;
    size_t count;
};

static const char *const method_names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OTHER"};

const char *http_method_name(enum http_method method) { return method_names[method]; }

struct label {
    struct label *next;
    char text[96];
};

static struct label *labels;
static pthread_mutex_t labels_mutex = PTHREAD_MUTEX_INITIALIZER;

/* The one label of this text. */
static const char *label_share(const char *text) {
    pthread_mutex_lock(&labels_mutex);
    struct label *label = labels;
    while (label && strcmp(label->text, text) != 0) label = label->next;
    if (!label) {
        label = mem_new(sizeof *label);
        text_copy(label->text, sizeof label->text, text);
        label->next = labels;
        labels = label;
    }
    pthread_mutex_unlock(&labels_mutex);
    return label->text;
}

static bool is_param(const char *segment) { return segment[0] == '{'; }

static bool belongs(const struct route *route, enum router_side side) {
    return side == ROUTER_ALL || (side == ROUTER_ADMIN) == ((route->flags & ROUTE_ADMIN_PORT) != 0);
}

static void bad_pattern(const char *pattern) {
    LOG(LOG_ERROR, "http.pattern", LOGS("pattern", pattern));
    abort();
}

static void row_init(struct row *row, const struct route *route) {
    unsigned params = 0;
    char label[sizeof labels->text];
    row->route = route;
    if (!text_format(label, sizeof label, "%s %s", http_method_name(route->method), route->pattern))
        bad_pattern(route->pattern);
    row->label = label_share(label);
    row->pattern = mem_copy(route->pattern, strlen(route->pattern));
    char *rest = row->pattern + 1;
    while (rest && row->segment_count < TARGET_SEGMENTS_MAX) {
        const char *segment = strsep(&rest, "/");
        params += is_param(segment);
        row->segments[row->segment_count++] = segment;
    }
    if (rest || params > ROUTE_PARAMS_MAX) bad_pattern(route->pattern);
}

static int row_compare(const void *left, const void *right) {
    const struct row *a = left, *b = right;
    for (size_t i = 0; i < a->segment_count && i < b->segment_count; i++) {
        int by_kind = is_param(a->segments[i]) - is_param(b->segments[i]);
        int order = by_kind ? by_kind : strcmp(a->segments[i], b->segments[i]);
        if (order) return order;
    }
    return (a->segment_count > b->segment_count) - (a->segment_count < b->segment_count);
}

struct router *router_new(const struct route *routes, size_t count, enum router_side side) {
    struct router *router = mem_new(sizeof *router);
    router->rows = mem_array(count + 1, sizeof *router->rows);
    for (size_t i = 0; i < count; i++)
        if (belongs(&routes[i], side)) row_init(&router->rows[router->count++], &routes[i]);
    qsort(router->rows, router->count, sizeof *router->rows, row_compare);
    return router;
}

struct router *router_free(struct router *router) {
    if (!router) return NULL;
    for (size_t i = 0; i < router->count; i++) free(router->rows[i].pattern);
    free(router->rows);
    free(router);
    return NULL;
}

static bool row_matches(const struct row *row, const struct target *target) {
    if (row->segment_count != target->segment_count) return false;
    for (size_t i = 0; i < row->segment_count; i++) {
        const char *want = row->segments[i], *have = target->segments[i];
        if (is_param(want) ? !*have : strcmp(want, have) != 0) return false;
    }
    return true;
}

static void match_take(const struct row *row, const struct target *target, struct router_match *ret) {
    ret->route = row->route;
    ret->label = row->label;
    for (size_t i = 0; i < row->segment_count; i++)
        if (is_param(row->segments[i])) ret->params[ret->param_count++] = target->segments[i];
}

static uint32_t allowed_methods(const struct router *router, const struct target *target) {
    uint32_t allowed = 0;
    for (size_t i = 0; i < router->count; i++)
        if (row_matches(&router->rows[i], target)) allowed |= 1U << router->rows[i].route->method;
    if (allowed & 1U << HTTP_GET) allowed |= 1U << HTTP_HEAD;
    return allowed;
}

RESULT router_find(const struct router *router, enum http_method method, const struct target *target,
                   struct router_match *ret) {
    enum http_method wanted = method == HTTP_HEAD ? HTTP_GET : method;
    *ret = (struct router_match){.route = NULL};
    for (size_t i = 0; i < router->count; i++) {
        const struct row *row = &router->rows[i];
        if (row->route->method != wanted || !row_matches(row, target)) continue;
        match_take(row, target, ret);
        return OK;
    }
    ret->allowed = allowed_methods(router, target);
    if (ret->allowed) FAIL(METHOD_NOT_ALLOWED, 0);
    FAIL(NO_SUCH_PATH, 0);
}

void router_allow_text(uint32_t allowed, char *out, size_t size) {
    AUTO_TEXT text = text_new(size);
    for (int method = HTTP_GET; method < HTTP_OTHER; method++) {
        if (!(allowed & 1U << method)) continue;
        if (text.len) text_add_str(&text, ", ");
        text_add_str(&text, http_method_name(method));
    }
    text_copy(out, size, text_str(&text));
}
