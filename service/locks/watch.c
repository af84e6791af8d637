/* Watched names: a table of them, when each is looked at, and who is told. */
#include "locks/watch_internal.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define CHAINS 256u /* power of two, about the names watched in one process */
#define CHANNEL_SIZE (LOCK_NAME_MAX + 40)

struct watches {
    struct list by_name[CHAINS]; /* struct watch.chain */
    size_t count, watchers;
};

struct watcher {
    struct list node; /* in watch.watchers */
    struct watch *watch;
    struct watcher_options options;
    bool told; /* the state */
};

struct watches *watches_new(void) {
    struct watches *watches = mem_new(sizeof *watches);
    for (size_t i = 0; i < CHAINS; i++) list_init(&watches->by_name[i]);
    return watches;
}

struct watches *watches_free(struct watches *watches) {
    free(watches);
    return NULL;
}

static struct list *chain_of(struct watches *watches, const char *name) {
    return &watches->by_name[text_hash(name) & (CHAINS - 1)];
}

static struct watch *find(struct watches *watches, const char *name) {
    LIST_FOR(node, chain_of(watches, name)) {
        struct watch *watch = CONTAINER_OF(node, struct watch, chain);
        if (strcmp(watch->name, name) == 0) return watch;
    }
    return NULL;
}

/* -- when */

static void look(struct watch *watch) {
    if (watch->looking) {
        watch->stirred = true;
        return;
    }
    watch->looking = true;
    watch->stirred = false;
    watch->looked_ms = clock_mono_ms();
    watch_look(watch);
}

static void on_time(void *arg) { look(arg); }

static void look_soon(struct watch *watch) {
    int64_t due_ms = watch->looked_ms + WATCH_GAP_MS - clock_mono_ms();
    if (watch->looking)
        watch->stirred = true;
    else
        loop_timer_start(watch->timer, due_ms > 0 ? due_ms : 0, 0);
}

static void on_message(void *arg, const char *channel, const char *payload, size_t len) { look_soon(arg); }

static void on_listening(void *arg) { look_soon(arg); }

void watch_stir(struct locks *locks, const char *name) {
    if (locks->watches->count == 0) return;
    struct watch *watch = find(locks->watches, name);
    if (watch != NULL) look_soon(watch);
}

static void look_again_after(struct watch *watch, const struct look *look) {
    int64_t wait_ms = POLL_MS_MAX;
    for (size_t i = 0; look != NULL && i < look->status.holder_count; i++) {
        int64_t left_ms = look->status.holders[i].expires_in_ms;
        if (left_ms >= 0 && left_ms < wait_ms) wait_ms = left_ms + 1;
    }
    if (watch->stirred || wait_ms < WATCH_GAP_MS) wait_ms = WATCH_GAP_MS;
    if (fault_on(FAULT_NO_WATCH_POLL) && !watch->stirred) return;
    loop_timer_start(watch->timer, wait_ms, 0);
}

/* A stranger tells of its release alone. To listen while one of ours holds would make its releases believe that
 * somebody waits elsewhere, and hand on less. */
static void listen_to_strangers(struct watch *watch, const struct look *look) {
    char channel[CHANNEL_SIZE];
    bool wanted = look != NULL && look->status.holder_count > 0 && !look->status.holders[0].ours;
    if (wanted == (watch->subscription != NULL)) return;
    watch->subscription = redis_unsubscribe(watch->subscription);
    if (!wanted) return;
    bool reads = strcmp(look->status.kind, lock_kind_name(LOCK_KIND_RW)) == 0;
    (void)text_format(channel, sizeof channel, "%s{%s}", kind_ways(reads ? LOCK_KIND_RW : LOCK_KIND_LOCK)->channel,
                      watch->name);
    watch->subscription = redis_subscribe(watch->locks->redis, channel, on_message, on_listening, watch);
}

/* -- life */

static struct watch *watch_of(struct locks *locks, const char *name) {
    struct watch *watch = find(locks->watches, name);
    if (watch != NULL) return watch;
    watch = mem_new(sizeof *watch);
    watch->locks = locks;
    list_init(&watch->watchers);
    (void)text_copy(watch->name, sizeof watch->name, name);
    watch->timer = loop_timer_new(locks->loop, on_time, watch);
    list_push(chain_of(locks->watches, name), &watch->chain);
    locks->watches->count++;
    return watch;
}

/* A watch that nobody needs ends; one that looks ends with its answer. */
static void settle(struct watch *watch) {
    if (!list_empty(&watch->watchers) || watch->looking) return;
    list_remove(&watch->chain);
    watch->locks->watches->count--;
    watch->subscription = redis_unsubscribe(watch->subscription);
    loop_timer_free(watch->timer);
    free(watch);
}

struct watcher *watcher_new(struct locks *locks, const char *name, const struct watcher_options *options) {
    if (locks->watches->watchers >= locks->options.watchers_max) return NULL;
    struct watcher *watcher = mem_new(sizeof *watcher);
    watcher->options = *options;
    watcher->watch = watch_of(locks, name);
    locks->watches->watchers++;
    list_push(&watcher->watch->watchers, &watcher->node);
    look_soon(watcher->watch);
    return watcher;
}

struct watcher *watcher_free(struct watcher *watcher) {
    if (watcher == NULL) return NULL;
    struct watch *watch = watcher->watch;
    list_remove(&watcher->node);
    watch->locks->watches->watchers--;
    free(watcher);
    settle(watch);
    return NULL;
}

/* -- telling */

static void end(struct watcher *watcher, enum error why) {
    list_remove(&watcher->node);
    watcher->watch->locks->watches->watchers--;
    watcher->options.end(watcher->options.arg, why);
    free(watcher);
}

/* As the last look remembers it. */
static struct lock_holder holder_gone(const struct seen *seen) {
    struct lock_holder holder = {.ours = seen->ours, .fence = seen->fence, .held_for_ms = -1, .expires_in_ms = -1};
    (void)text_copy(holder.owner, sizeof holder.owner, seen->owner);
    return holder;
}

static void write_change(struct text *out, const struct watch *watch, const struct look *look,
                         const struct change *change, const struct watcher_options *options) {
    if (change->event == LOCK_EVENT_GRANTED) {
        options->write(out, change->event, &look->status, &look->status.holders[change->index]);
    } else if (change->event == LOCK_EVENT_QUEUE) {
        options->write(out, change->event, &look->status, NULL);
    } else {
        struct lock_holder gone = holder_gone(&watch->seen[change->index]);
        options->write(out, change->event, &look->status, &gone);
    }
}

/* Each kind of news is written once, however many are told. */
static void tell_all(struct watch *watch, const struct text *changes, const struct text *state) {
    LIST_FOR_SAFE(node, &watch->watchers) {
        struct watcher *watcher = CONTAINER_OF(node, struct watcher, node);
        const struct watcher_options *options = &watcher->options;
        if (watcher->told && changes->len > 0) options->tell(options->arg, changes->data, changes->len);
        if (!watcher->told || watch->away) options->tell(options->arg, state->data, state->len);
        watcher->told = true;
    }
    watch->away = false;
}

static void tell_look(struct watch *watch, const struct look *look) {
    struct change changes[CHANGES_MAX];
    AUTO_TEXT news = text_new(0);
    AUTO_TEXT state = text_new(0);
    const struct watcher_options *options = &CONTAINER_OF(watch->watchers.next, struct watcher, node)->options;
    size_t count = watch_diff(watch->seen, watch->seen_count, watch->waiters, look, changes);
    for (size_t i = 0; i < count; i++) write_change(&news, watch, look, &changes[i], options);
    options->write(&state, LOCK_EVENT_STATE, &look->status, NULL);
    tell_all(watch, &news, &state);
}

/* Who has been told a state hears once that it is unknown; who has not goes elsewhere. */
static void tell_away(struct watch *watch) {
    LIST_FOR_SAFE(node, &watch->watchers) {
        struct watcher *watcher = CONTAINER_OF(node, struct watcher, node);
        const struct watcher_options *options = &watcher->options;
        const struct lock_status status = {.name = watch->name, .kind = ""};
        AUTO_TEXT news = text_new(0);
        if (!watcher->told) {
            end(watcher, ERROR_LOCK_STORE_DOWN);
        } else if (!watch->away) {
            options->write(&news, LOCK_EVENT_UNKNOWN, &status, NULL);
            options->tell(options->arg, news.data, news.len);
        }
    }
    watch->away = true;
}

static size_t waiters_of(const struct watch *watch) {
    const struct queue *queue = queue_find(watch->locks->queues, watch->name);
    return queue == NULL ? 0 : queue->count;
}

void watch_looked(struct watch *watch, const struct look *look) {
    watch->looking = false;
    if (!list_empty(&watch->watchers) && look == NULL) tell_away(watch);
    if (!list_empty(&watch->watchers) && look != NULL) {
        struct look now = *look;
        now.status.waiters = waiters_of(watch);
        tell_look(watch, &now);
        watch->seen_count = watch_remember(&now, watch->seen);
        watch->waiters = now.status.waiters;
    }
    if (!list_empty(&watch->watchers)) {
        listen_to_strangers(watch, look);
        look_again_after(watch, look);
    }
    settle(watch);
}

/* -- the end */

static void end_all(struct watch *watch) {
    LIST_FOR_SAFE(node, &watch->watchers) end(CONTAINER_OF(node, struct watcher, node), ERROR_UNAVAILABLE);
    settle(watch);
}

void watches_drain(struct watches *watches) {
    for (size_t i = 0; i < CHAINS; i++)
        LIST_FOR_SAFE(node, &watches->by_name[i]) end_all(CONTAINER_OF(node, struct watch, chain));
}
