/* Who holds a name, as scripts tell it, and as the queue of those who wait remembers it. */
#include "locks/internal.h"

#include "base/clock.h"

#include <string.h>

void lock_holder_done(struct lock_holder *holder) { text_done(&holder->metadata); }

#define NOBODY (-2) /* the time to live of what is not there */

static int64_t number_or(const struct redis_value *value, int64_t absent) {
    size_t len;
    (void)redis_str(value, &len);
    return redis_type_of(value) == REDIS_STR && len == 0 ? absent : redis_int(value);
}

void lock_holder_read(struct lock_holder *ret, const struct redis_value *value, size_t from) {
    size_t len;
    const char *owner = redis_str(redis_at(value, from + 1), &len);
    *ret = (struct lock_holder){.metadata = text_new(0)};
    ret->expires_in_ms = redis_int(redis_at(value, from));
    ret->held = ret->expires_in_ms != NOBODY;
    ret->held_for_ms = number_or(redis_at(value, from + 2), -1);
    ret->fence = number_or(redis_at(value, from + 3), 0);
    ret->ours = ret->held_for_ms >= 0;
    (void)text_format(ret->owner, sizeof ret->owner, "%s", owner);
    const char *metadata = redis_str(redis_at(value, from + 4), &len);
    text_add(&ret->metadata, metadata, len);
}

void place_note_holding(struct place *place, const struct redis_value *value, size_t index) {
    if (place->since_ms == 0) place->since_ms = redis_int(redis_at(value, 0));
    if (redis_int(redis_at(value, index)) > 0) place->holds = true;
}

enum lock_mode mode_read(const struct redis_value *value) {
    bool is_shared = strcmp(redis_str(value, NULL), lock_mode_name(LOCK_MODE_SHARED)) == 0;
    return is_shared ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE;
}

/* -- what a queue knows */

void queue_note_free(struct queue *queue) {
    lock_holder_done(&queue->holder);
    queue->holder = (struct lock_holder){.held_for_ms = -1, .expires_in_ms = -1};
    queue->seen_ms = clock_mono_ms();
}

void queue_note_holder(struct queue *queue, const struct redis_value *value, size_t from) {
    lock_holder_done(&queue->holder);
    lock_holder_read(&queue->holder, value, from);
    queue->seen_ms = clock_mono_ms();
}

/* The next head's view until it asks itself. */
void queue_note_own(struct queue *queue, const struct place *place, const struct grant *grant) {
    queue_note_free(queue);
    struct lock_holder *holder = &queue->holder;
    holder->held = holder->ours = true;
    for (size_t i = 0; i < place->count; i++)
        if (strcmp(place->names[i], queue->name) == 0) holder->fence = grant->fences[i];
    if (grant->is_new) holder->held_for_ms = 0;
    holder->expires_in_ms = grant->left_ms;
    (void)text_format(holder->owner, sizeof holder->owner, "%s", place->owner);
    holder->metadata = text_new(0);
    text_add_str(&holder->metadata, place->metadata);
}
