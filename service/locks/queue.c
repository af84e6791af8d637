#include "locks/queue.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 8192u /* power of two, about the waiters of one process */

struct queues {
    struct list by_name[BUCKETS];   /* struct queue.chain */
    struct list by_holder[BUCKETS]; /* struct place.chain, by holder and first name */
    struct list kin[BUCKETS];       /* struct place.kin, by holder */
    size_t count;
    uint64_t sequence;
};

struct queues *queues_new(void) {
    struct queues *queues = mem_new(sizeof *queues);
    for (size_t i = 0; i < BUCKETS; i++) {
        list_init(&queues->by_name[i]);
        list_init(&queues->by_holder[i]);
        list_init(&queues->kin[i]);
    }
    return queues;
}

struct queues *queues_free(struct queues *queues) {
    if (queues == NULL) return NULL;
    assert(queues->count == 0);
    free(queues);
    return NULL;
}

size_t queues_count(const struct queues *queues) { return queues->count; }

/* -- queues */

static struct list *name_bucket(struct queues *queues, const char *name) {
    return &queues->by_name[text_hash(name) & (BUCKETS - 1)];
}

struct queue *queue_find(struct queues *queues, const char *name) {
    struct list *bucket = name_bucket(queues, name);
    LIST_FOR(node, bucket) {
        struct queue *queue = CONTAINER_OF(node, struct queue, chain);
        if (strcmp(queue->name, name) == 0) return queue;
    }
    return NULL;
}

struct queue *queue_of(struct queues *queues, const char *name) {
    struct queue *queue = queue_find(queues, name);
    if (queue != NULL) return queue;
    size_t size = strlen(name) + 1;
    queue = mem_new(sizeof *queue + size);
    memcpy(queue->name, name, size);
    list_init(&queue->places);
    list_push(name_bucket(queues, name), &queue->chain);
    queues->count++;
    return queue;
}

void queue_remove(struct queues *queues, struct queue *queue) {
    assert(list_empty(&queue->places));
    list_remove(&queue->chain);
    queues->count--;
    free(queue);
}

void queues_for_each(struct queues *queues, void (*fn)(void *arg, struct queue *queue), void *arg) {
    for (size_t i = 0; i < BUCKETS; i++)
        LIST_FOR_SAFE(node, &queues->by_name[i]) fn(arg, CONTAINER_OF(node, struct queue, chain));
}

struct place *queue_first(const struct queue *queue, bool (*is_ready)(const struct place *place)) {
    LIST_FOR(node, &queue->places) {
        struct place *place = CONTAINER_OF(node, struct place, node);
        if (is_ready(place)) return place;
    }
    return NULL;
}

size_t queue_position(const struct queue *queue, const struct place *place) {
    size_t position = 1;
    LIST_FOR(node, &queue->places) {
        if (node == &place->node) return position;
        if (position++ == POSITION_MAX) break;
    }
    return queue->count;
}

/* -- places */

static bool names_equal(char *const *a, char *const *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(a[i], b[i]) != 0) return false;
    return true;
}

static struct list *holder_bucket(struct queues *queues, const char *holder, const char *name) {
    return &queues->by_holder[text_hash_on(text_hash(holder), name) & (BUCKETS - 1)];
}

struct place *place_find(struct queues *queues, const char *holder, char *const *names, size_t count) {
    struct list *bucket = holder_bucket(queues, holder, names[0]);
    LIST_FOR(node, bucket) {
        struct place *place = CONTAINER_OF(node, struct place, chain);
        if (place->count == count && strcmp(place->holder, holder) == 0 && names_equal(place->names, names, count))
            return place;
    }
    return NULL;
}

static struct list *kin_bucket(struct queues *queues, const char *holder) {
    return &queues->kin[text_hash(holder) & (BUCKETS - 1)];
}

void places_of_holder(struct queues *queues, const char *holder, void (*fn)(void *arg, struct place *place),
                      void *arg) {
    struct list *bucket = kin_bucket(queues, holder);
    LIST_FOR(node, bucket) {
        struct place *place = CONTAINER_OF(node, struct place, kin);
        if (strcmp(place->holder, holder) == 0) fn(arg, place);
    }
}

/* From the end: who comes last stands last. */
static void enter(struct queue *queue, struct place *place) {
    struct list *after = queue->places.prev;
    while (after != &queue->places && CONTAINER_OF(after, struct place, node)->sequence > place->sequence)
        after = after->prev;
    list_push_front(after, &place->node);
    place->queue = queue;
    queue->count++;
}

static void leave(struct place *place) {
    list_remove(&place->node);
    place->queue->count--;
    place->queue = NULL;
}

struct place *place_new(struct queues *queues, const char *holder, char *const *names, size_t count) {
    struct place *place = mem_new(sizeof *place);
    (void)text_format(place->holder, sizeof place->holder, "%s", holder);
    place->sequence = ++queues->sequence;
    place->count = count;
    place->names = mem_array(count, sizeof place->names[0]);
    for (size_t i = 0; i < count; i++) place->names[i] = mem_copy(names[i], strlen(names[i]));
    place->metadata = mem_copy("", 0);
    list_init(&place->node);
    list_init(&place->chain);
    list_init(&place->kin);
    list_init(&place->asks);
    list_push(holder_bucket(queues, holder, names[0]), &place->chain);
    list_push(kin_bucket(queues, holder), &place->kin);
    enter(queue_of(queues, names[0]), place);
    return place;
}

void place_move(struct queues *queues, struct place *place, const char *name) {
    leave(place);
    enter(queue_of(queues, name), place);
}

void place_leave(struct queues *queues, struct place *place) {
    leave(place);
    list_remove(&place->chain);
    list_remove(&place->kin);
}

void place_free(struct place *place) {
    assert(place->queue == NULL && place->calls == 0 && list_empty(&place->asks));
    loop_timer_free(place->timer);
    for (size_t i = 0; i < place->count; i++) free(place->names[i]);
    free(place->names);
    free(place->metadata);
    free(place);
}

void place_add_ask(struct place *place, struct ask *ask) {
    list_push(&place->asks, &ask->node);
    ask->place = place;
    place->ask_count++;
}

void place_drop_ask(struct place *place, struct ask *ask) {
    list_remove(&ask->node);
    ask->place = NULL;
    place->ask_count--;
}
