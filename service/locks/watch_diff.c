#include "locks/watch_diff.h"

#include <string.h>

const char *lock_event_name(enum lock_event event) {
    static const char *const names[] = {"state",  "granted", "released", "expired",
                                        "forced", "lost",    "queue",    "unknown"};
    return names[event];
}

/* Strangers cannot be told apart: one that holds is the one that held. */
static bool is_same(const struct seen *seen, const struct lock_holder *holder, const char *id) {
    return seen->ours == holder->ours && seen->fence == holder->fence && strcmp(seen->id, id) == 0;
}

static bool is_there(const struct seen *seen, const struct look *look) {
    for (size_t i = 0; i < look->status.holder_count; i++)
        if (is_same(seen, &look->status.holders[i], look->ids[i])) return true;
    return false;
}

static bool was_there(const struct seen *before, size_t count, const struct look *look, size_t index) {
    for (size_t i = 0; i < count; i++)
        if (is_same(&before[i], &look->status.holders[index], look->ids[index])) return true;
    return false;
}

/* Of whom nothing is kept: when it was gone says how it went. */
static enum lock_event by_time(const struct seen *seen, int64_t now_ms) {
    return seen->ends_ms >= 0 && now_ms >= seen->ends_ms ? LOCK_EVENT_EXPIRED : LOCK_EVENT_RELEASED;
}

/* False: it is still there, though not among those told of. */
static bool gone_how(const struct seen *seen, const char *fate, int64_t now_ms, enum lock_event *ret) {
    static const struct {
        const char *fate;
        enum lock_event event;
    } known[] = {{"released", LOCK_EVENT_RELEASED}, {"expired", LOCK_EVENT_EXPIRED}, {"forced", LOCK_EVENT_FORCED}};
    *ret = LOCK_EVENT_LOST;
    if (seen->id[0] == '\0' || fate == NULL) *ret = by_time(seen, now_ms);
    if (seen->id[0] == '\0' || fate == NULL) return true;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].fate, fate) == 0) *ret = known[i].event;
    return strcmp(fate, "held") != 0;
}

size_t watch_diff(const struct seen *before, size_t count, size_t waiters_before, const struct look *look,
                  struct change *out) {
    size_t changes = 0;
    for (size_t i = 0; i < count; i++) {
        enum lock_event event;
        if (!is_there(&before[i], look) && gone_how(&before[i], look->fates[i], look->now_ms, &event))
            out[changes++] = (struct change){event, i};
    }
    for (size_t i = 0; i < look->status.holder_count; i++)
        if (!was_there(before, count, look, i)) out[changes++] = (struct change){LOCK_EVENT_GRANTED, i};
    if (changes == 0 && look->status.waiters != waiters_before) out[changes++] = (struct change){LOCK_EVENT_QUEUE, 0};
    return changes;
}

size_t watch_remember(const struct look *look, struct seen *out) {
    for (size_t i = 0; i < look->status.holder_count; i++) {
        const struct lock_holder *holder = &look->status.holders[i];
        struct seen *seen = &out[i];
        *seen = (struct seen){.ours = holder->ours, .fence = holder->fence, .ends_ms = -1};
        if (holder->expires_in_ms >= 0) seen->ends_ms = look->now_ms + holder->expires_in_ms;
        (void)text_copy(seen->id, sizeof seen->id, look->ids[i]);
        (void)text_copy(seen->owner, sizeof seen->owner, holder->owner);
    }
    return look->status.holder_count;
}
