/* The index of held names: listed by prefix, together with the leases in the database, and swept of names whose lease
   ended without a release. */
#include "locks/database.h"
#include "locks/internal.h"

#include "base/log.h"
#include "base/memory.h"
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

#define REPLY_HEAD 3 /* elements before the names */

static void send(struct locks *locks, const struct lock_list *list, const char *mode, redis_fn fn, void *arg) {
    AUTO_CALL call = call_new(SCRIPT_LOCK_LIST);
    call_add_str(&call, list->prefix);
    call_add_str(&call, list->after);
    call_add_i64(&call, (int64_t)list->limit);
    call_add_str(&call, mode);
    locks->calls++;
    call_send(&call, locks->redis, fn, arg);
}

static bool is_answer(const struct redis_value *value) {
    if (redis_type_of(value) == REDIS_ARRAY) return true;
    if (value != NULL) LOG(LOG_ERROR, "lock.list_failed", LOGS("answer", redis_str(value, NULL)));
    return false;
}

/* -- listing: the database is read first, and its rows are kept until Redis has answered */

struct listing {
    struct locks *locks;
    char prefix[LOCK_NAME_MAX + 1], after[LOCK_NAME_MAX + 1];
    struct lock_list list; /* its texts are the two above */
    struct database_leases leases;
    bool database_away;
};

/* Two ascending rows of names being told as one. */
struct merging {
    const struct listing *listing;
    const struct redis_value *value; /* NULL: Redis is away */
    size_t entry, row;               /* next of each */
    const char *complete_until;      /* beyond it one of them may know more; "" = there is no more */
    size_t told;
    const char *last; /* told */
};

static const char *lesser(const char *a, const char *b) {
    if (a[0] == '\0' || b[0] == '\0') return a[0] == '\0' ? b : a;
    return strcmp(a, b) < 0 ? a : b;
}

static const char *next_entry(const struct merging *m) {
    if (m->value == NULL || m->entry >= redis_len(m->value)) return "";
    return redis_str(redis_at(redis_at(m->value, m->entry), 0), NULL);
}

static const char *next_row(const struct merging *m) {
    const struct database_leases *leases = &m->listing->leases;
    return m->row < leases->count ? leases->rows[m->row].name : "";
}

static void tell_entry(struct merging *m, const char *name) {
    const struct lock_list *list = &m->listing->list;
    const struct redis_value *entry = redis_at(m->value, m->entry++);
    const struct status_listener listener = {list->each, list->arg};
    if (semaphore_is_told(entry))
        semaphore_tell(m->listing->locks, name, entry, &(struct semaphore_listener){list->each_semaphore, list->arg});
    else
        status_tell(m->listing->locks, name, entry, 1, &listener);
}

static void tell_row(struct merging *m, const char *name) {
    const struct lock_list *list = &m->listing->list;
    const struct status_listener listener = {list->each, list->arg};
    database_tell(m->listing->locks, name, &m->listing->leases.rows[m->row++].lease, &listener);
}

/* False: there is nothing more to tell, or nothing more may be told. */
static bool tell_next(struct merging *m) {
    const char *entry = next_entry(m), *row = next_row(m), *name = lesser(entry, row);
    bool is_over = name[0] == '\0' || m->told >= m->listing->list.limit;
    if (is_over || (m->complete_until[0] != '\0' && strcmp(name, m->complete_until) > 0)) return false;
    m->told++;
    m->last = name;
    if (name == entry)
        tell_entry(m, name);
    else
        tell_row(m, name);
    return true;
}

static const char *next_page(const struct merging *m) {
    bool is_cut = m->told >= m->listing->list.limit && lesser(next_entry(m), next_row(m))[0] != '\0';
    return is_cut ? m->last : m->complete_until;
}

static void finish_listing(struct listing *listing, const struct redis_value *value) {
    const struct database_leases *leases = &listing->leases;
    const struct lock_list *list = &listing->list;
    struct merging m = {.listing = listing, .value = value, .entry = REPLY_HEAD};
    const char *redis_until = value != NULL ? redis_str(redis_at(value, 1), NULL) : "";
    m.complete_until = lesser(redis_until, leases->is_full ? leases->rows[leases->count - 1].name : "");
    while (tell_next(&m)) continue;
    const struct redis *redis = listing->locks->redis;
    bool redis_away = value == NULL && redis != NULL && redis_is_configured(redis);
    const char *away = redis_away ? "redis" : listing->database_away ? "database" : NULL;
    bool says_nothing = away != NULL && m.told == 0 && (redis_away || value == NULL);
    list->done(list->arg, says_nothing ? NULL : next_page(&m), away);
    free(listing->leases.rows);
    free(listing);
}

static void on_listed(void *arg, const struct redis_value *value, bool sent) {
    struct listing *listing = arg;
    listing->locks->calls--;
    finish_listing(listing, is_answer(value) ? value : NULL);
}

static void on_leases(void *arg, struct database_leases *leases) {
    struct listing *listing = arg;
    listing->database_away = leases == NULL;
    if (leases != NULL) {
        listing->leases = *leases;
        leases->rows = NULL;
    }
    if (listing->locks->redis == NULL)
        finish_listing(listing, NULL);
    else
        send(listing->locks, &listing->list, "show", on_listed, listing);
}

void locks_list(struct locks *locks, const struct lock_list *list) {
    struct listing *listing = mem_new(sizeof *listing);
    listing->locks = locks;
    (void)text_format(listing->prefix, sizeof listing->prefix, "%s", list->prefix);
    if (strcmp(list->after, list->prefix) > 0) /* else every name with the prefix is behind it */
        (void)text_format(listing->after, sizeof listing->after, "%s", list->after);
    listing->list = *list;
    listing->list.prefix = listing->prefix;
    listing->list.after = listing->after;
    database_list(locks, &listing->list, on_leases, listing);
}

/* -- sweeping */

static void on_swept(void *arg, const struct redis_value *value, bool sent) {
    struct locks *locks = arg;
    locks->calls--;
    locks->sweeping = false;
    if (!is_answer(value)) return;
    int64_t left = redis_int(redis_at(value, 2));
    metric_set(METRIC_LEASE_HELD, 0, redis_int(redis_at(value, 0)));
    metric_add(METRIC_LEASE_ENDED, 0, left);
    (void)text_format(locks->swept, sizeof locks->swept, "%s", redis_str(redis_at(value, 1), NULL));
    if (locks->sweep_timer == NULL) return;
    loop_timer_start(locks->sweep_timer, left >= SWEEP_NAMES / 4 ? 1 : SWEEP_MS, SWEEP_MS);
}

static void on_sweep_time(void *arg) {
    struct locks *locks = arg;
    const struct lock_list list = {.prefix = "", .after = locks->swept, .limit = SWEEP_NAMES};
    if (locks->sweeping || locks->draining) return;
    locks->sweeping = true;
    send(locks, &list, "sweep", on_swept, locks);
}

void sweep_start(struct locks *locks) {
    if (locks->sweep_timer == NULL) locks->sweep_timer = loop_timer_new(locks->loop, on_sweep_time, locks);
    loop_timer_start(locks->sweep_timer, SWEEP_MS, SWEEP_MS);
}

void sweep_stop(struct locks *locks) { locks->sweep_timer = loop_timer_free(locks->sweep_timer); }
