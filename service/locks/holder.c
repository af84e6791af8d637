/* What a queue knows of who holds its name: as last told, and when. Those who are refused are shown it. */
#include "locks/internal.h"

#include "base/clock.h"

#include <string.h>

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
